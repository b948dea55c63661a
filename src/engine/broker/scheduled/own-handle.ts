import { BrokerError } from '../../../core/base/index.ts'
import {
  decodeRecallHandle,
  findProperty,
  PROPERTY,
  recordProperties,
  type RecallHandle,
} from '../../../model/message/index.ts'

import type { TimerRef } from '../../timer/index.ts'

/** A handle of our own making: it names the record with which the message was accepted first. */
export type OwnHandle = RecallHandle & { readonly timerId: number }

/** Errors: MESSAGE_ID_INVALID, NOT_SUPPORTED for the handles that Apache's brokers make. */
export function ownHandleOf(id: string): OwnHandle {
  const handle = decodeRecallHandle(id)
  if (handle === undefined) throw new BrokerError('MESSAGE_ID_INVALID')
  const { timerId } = handle
  if (timerId === undefined) {
    throw new BrokerError('NOT_SUPPORTED', { feature: 'handles of other brokers' })
  }
  return { ...handle, timerId }
}

/**
 * Whether this is the accept record of the message that the handle names, or that of a move of it.
 * Whoever makes up a handle does not get at the message of another.
 */
export function isOf(handle: OwnHandle, record: Buffer): boolean {
  const properties = recordProperties(record, 0)
  const isSame =
    findProperty(properties, PROPERTY.REAL_TOPIC) === handle.topic &&
    findProperty(properties, PROPERTY.UNIQ_KEY) === handle.uniqueKey
  if (!isSame) return false
  const first = findProperty(properties, PROPERTY.ORRERY_FIRST)
  if (first !== undefined) return first === refText(handle)
  return findProperty(properties, PROPERTY.TIMER_OUT_MS) === String(handle.deliverTimeMs)
}

/** As the properties of change records name a message. */
export function refText({ timerId, deliverTimeMs }: TimerRef): string {
  return `${timerId} ${deliverTimeMs}`
}
