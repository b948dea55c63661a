import { BrokerError } from '../../../core/base/index.ts'
import {
  encodeRecallHandle,
  findProperty,
  hasProperty,
  PROPERTY,
} from '../../../model/message/index.ts'
import type { SchedulePort } from '../../../model/schedule/index.ts'

/** Whether a message asks to cancel another one. The hot path of sending asks. */
export function isDeletionMark(properties: string): boolean {
  // Hardly any has the name, and to look for that alone is quick.
  const name = PROPERTY.TIMER_DEL_UNIQKEY
  return properties.includes(name) && hasProperty(properties, name)
}

/**
 * Cancels what a message with the property TIMER_DEL_UNIQKEY asks for, as clients of RocketMQ 5 do
 * without recall handles: the waiting message of its topic with this unique key (perhaps behind
 * `topic+`) and the deliver time in TIMER_DELIVER_MS. The message itself is not stored.
 *
 * Errors: MESSAGE_INVALID without a deliver time, NOT_WAITING, those of `SchedulePort.cancel`.
 */
export async function cancelByMark(
  send: { readonly topic: string; readonly properties: string },
  brokerName: string,
  scheduled: SchedulePort,
): Promise<void> {
  const { topic, properties } = send
  const marked = findProperty(properties, PROPERTY.TIMER_DEL_UNIQKEY) ?? ''
  const uniqueKey = marked.startsWith(`${topic}+`) ? marked.slice(topic.length + 1) : marked
  const time = findProperty(properties, PROPERTY.TIMER_DELIVER_MS) ?? ''
  if (uniqueKey === '' || uniqueKey.includes(' ') || !/^\d{1,15}$/.test(time)) {
    const problem = 'TIMER_DEL_UNIQKEY needs a unique key, and the deliver time in TIMER_DELIVER_MS'
    throw new BrokerError('MESSAGE_INVALID', { problem })
  }
  const handle = { topic, brokerName, deliverTimeMs: Number(time), uniqueKey }
  const outcome = await scheduled.cancel({ id: encodeRecallHandle(handle) })
  if (outcome !== 'cancelled') throw new BrokerError('NOT_WAITING', { outcome })
}
