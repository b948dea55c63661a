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
  removeProperties,
  TIMER_TOPIC,
} from '../../../model/message/index.ts'
import {
  keysOf,
  type ScheduledMessage,
  type ScheduledState,
  type WholeMessage,
} from '../../../model/schedule/index.ts'
import type { TimerRef } from '../../timer/index.ts'

/** What only the broker needs; `BrokerDueSink` publishes without them or says them anew. */
const INNER_PROPERTIES: readonly string[] = [
  PROPERTY.REAL_TOPIC,
  PROPERTY.REAL_QID,
  PROPERTY.ORRERY_TIMER_ID,
  PROPERTY.ORRERY_REPLACES,
  PROPERTY.ORRERY_FIRST,
]

/** A waiting message by its accept record. */
export function scheduledMessage(
  at: TimerRef & { readonly record: Buffer; readonly state: ScheduledState },
  brokerName: string,
): ScheduledMessage {
  const { record, state, deliverTimeMs } = at
  const properties = recordProperties(record, 0)
  const topic = findProperty(properties, PROPERTY.REAL_TOPIC) ?? ''
  const uniqueKey = findProperty(properties, PROPERTY.UNIQ_KEY) ?? ''
  // A moved message keeps the id that its sender knows.
  const first = findProperty(properties, PROPERTY.ORRERY_FIRST)?.split(' ').map(Number)
  const [timerId = at.timerId, firstDeliverTimeMs = deliverTimeMs] = first ?? []
  const handle = { topic, brokerName, deliverTimeMs: firstDeliverTimeMs, uniqueKey, timerId }
  return {
    id: recordTopic(record, 0) === TIMER_TOPIC ? encodeRecallHandle(handle) : undefined,
    topic,
    deliverTimeMs,
    state,
    acceptTimeMs: recordStoreTimeMs(record, 0),
    uniqueKey,
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
  const { record } = at
  const properties = removeProperties(recordProperties(record, 0), INNER_PROPERTIES)
  return {
    ...scheduledMessage(at, brokerName),
    properties: parseProperties(properties),
    body: record.subarray(recordBodyStart(record, 0), recordBodyEnd(record, 0)),
  }
}
