import {
  encodeRecallHandle,
  findProperty,
  parseProperties,
  PROPERTY,
  recordBodyEnd,
  recordBodySize,
  recordBodyStart,
  recordProperties,
  recordStoreTimeMs,
  recordTopic,
  TIMER_TOPIC,
} from '../../../model/message/index.ts'
import {
  keysOf,
  type ScheduledMessage,
  type ScheduledState,
  type WholeMessage,
} from '../../../model/schedule/index.ts'
import type { TimerRef } from '../../timer/index.ts'
import { publishedProperties } from '../published-properties.ts'
import { handleOfRecord } from './own-handle.ts'

/** A waiting message by its accept record. */
export function scheduledMessage(
  at: TimerRef & { readonly record: Buffer; readonly state: ScheduledState },
  brokerName: string,
): ScheduledMessage {
  const { record, state, deliverTimeMs } = at
  const properties = recordProperties(record, 0)
  const handle = handleOfRecord(at, record, brokerName)
  return {
    id: recordTopic(record, 0) === TIMER_TOPIC ? encodeRecallHandle(handle) : undefined,
    topic: handle.topic,
    deliverTimeMs,
    state,
    acceptTimeMs: recordStoreTimeMs(record, 0),
    uniqueKey: handle.uniqueKey,
    tag: findProperty(properties, PROPERTY.TAGS),
    keys: keysOf(properties),
    bodyBytes: recordBodySize(record, 0),
  }
}

/** The same with properties and body. */
export function wholeMessage(
  at: TimerRef & { readonly record: Buffer; readonly state: ScheduledState },
  brokerName: string,
): WholeMessage {
  const { record, timerId } = at
  return {
    ...scheduledMessage(at, brokerName),
    properties: parseProperties(publishedProperties(recordProperties(record, 0), timerId)),
    body: record.subarray(recordBodyStart(record, 0), recordBodyEnd(record, 0)),
  }
}
