import {
  appendProperty,
  PROPERTY,
  recordBodyEnd,
  recordBodyStart,
  recordBornHostBytes,
  recordBornTimeMs,
  recordFlag,
  recordProperties,
  recordReconsumeTimes,
  recordSysFlag,
  removeProperties,
  TIMER_BULK_QUEUE,
  TIMER_CANCEL_QUEUE,
  TIMER_MOVE_QUEUE,
  TIMER_TOPIC,
  type RecordDraft,
} from '../../../model/message/index.ts'
import { type BulkOrder, encodeBulkOrder } from '../../../model/schedule/index.ts'
import type { TimerRef } from '../../timer/index.ts'
import { type Origin, timerNote } from '../timer-note.ts'
import { type OwnHandle, refText } from './own-handle.ts'

const NOTHING = Buffer.alloc(0)
const TOPIC = Buffer.from(TIMER_TOPIC)
/** What a move says anew. */
const MOVED_PROPERTIES: readonly string[] = [
  PROPERTY.TIMER_OUT_MS,
  PROPERTY.ORRERY_REPLACES,
  PROPERTY.ORRERY_FIRST,
]

/**
 * The log record by which a message is cancelled: without a body, in a queue of its own of the
 * timers' topic. `ORRERY_CANCELS` says which; topic and unique key are for people.
 */
export function cancelRecord(handle: OwnHandle, at: TimerRef, origin: Origin): RecordDraft {
  let properties = appendProperty('', PROPERTY.ORRERY_CANCELS, refText(at))
  properties = appendProperty(properties, PROPERTY.REAL_TOPIC, handle.topic)
  properties = appendProperty(properties, PROPERTY.UNIQ_KEY, handle.uniqueKey)
  return timerNote(TIMER_CANCEL_QUEUE, { properties, body: NOTHING }, origin)
}

/**
 * The log record of a change by filter: the order as its body, in a queue of its own. Which messages
 * are meant is decided by its place in the log.
 */
export function bulkRecord(order: BulkOrder, origin: Origin): RecordDraft {
  const body = Buffer.from(encodeBulkOrder(order))
  return timerNote(TIMER_BULK_QUEUE, { properties: '', body }, origin)
}

/**
 * The log record by which a message is moved: it is accepted anew, whole, with another deliver
 * time, and the record of the message at `at` is what it replaces. One record, so that a crash
 * leaves one of the two.
 */
export function moveRecord(
  handle: OwnHandle,
  moved: { readonly at: TimerRef; readonly record: Buffer; readonly deliverTimeMs: number },
  storeHost: Buffer,
): RecordDraft {
  const { record } = moved
  let properties = removeProperties(recordProperties(record, 0), MOVED_PROPERTIES)
  properties = appendProperty(properties, PROPERTY.TIMER_OUT_MS, String(moved.deliverTimeMs))
  properties = appendProperty(properties, PROPERTY.ORRERY_REPLACES, refText(moved.at))
  properties = appendProperty(properties, PROPERTY.ORRERY_FIRST, refText(handle))
  return {
    topic: TOPIC,
    queueId: TIMER_MOVE_QUEUE,
    flag: recordFlag(record, 0),
    sysFlag: recordSysFlag(record, 0),
    bornTimeMs: recordBornTimeMs(record, 0),
    bornHost: recordBornHostBytes(record, 0),
    storeHost,
    reconsumeTimes: recordReconsumeTimes(record, 0),
    preparedTransactionOffset: 0,
    body: record,
    bodyStart: recordBodyStart(record, 0),
    bodyEnd: recordBodyEnd(record, 0),
    properties,
  }
}
