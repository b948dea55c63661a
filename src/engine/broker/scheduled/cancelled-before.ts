import {
  findProperty,
  hasProperty,
  PROPERTY,
  recordCommitLogOffset,
  recordProperties,
  TIMER_BULK_QUEUE,
  TIMER_CANCEL_QUEUE,
  TIMER_KEY_QUEUE,
  TIMER_TOPIC,
} from '../../../model/message/index.ts'
import { bulkOrderAt, covers, refOf, type TimerRef } from '../../timer/index.ts'
import type { AcceptSearch } from './own-handle.ts'
import type { ScheduledStore } from './scheduled-parts.ts'

/** Of the newest records in a queue; each takes 20 bytes to look at, so many at once. */
const LOOKED_AT_MAX = 1_000_000
const READ_COUNT = 10_000
/** Of the newest changes by filter; each is read as a whole. */
const ORDERS_MAX = 10_000

/** What the log says of a message that does not wait. */
export interface LogTrace {
  readonly store: Pick<ScheduledStore, 'queue' | 'readRecord' | 'whenApplied' | 'endOffset'>
  /** Of the log; `undefined` when it is turned off. */
  readonly index: AcceptSearch | undefined
}

interface Message {
  readonly at: TimerRef
  /** Its accept record, or that of a move of it. */
  readonly record: Buffer
}

/**
 * Whether the log has a record that cancels or replaces the message, for what left no other trace:
 * looked for from the newest on, and back to where the message was accepted.
 *
 * Errors: STORE_FAILED, SHUTTING_DOWN, STORE_DAMAGED for a change by filter of an unknown kind.
 */
export async function wasCancelled(trace: LogTrace, message: Message): Promise<boolean> {
  const { store } = trace
  const { timerId } = message.at
  if (await isNamedIn(store, TIMER_CANCEL_QUEUE, timerId)) return true
  // Only such a message can have been replaced.
  const hasKey = hasProperty(recordProperties(message.record, 0), PROPERTY.ORRERY_KEY)
  if (hasKey && (await isNamedIn(store, TIMER_KEY_QUEUE, timerId))) return true
  return (await isCovered(store, message)) && isUndelivered(trace, message.record)
}

/** Whether a cancel by filter means it, unless it had been delivered before. */
async function isCovered(store: LogTrace['store'], { at, record }: Message): Promise<boolean> {
  const queue = store.queue(TIMER_TOPIC, TIMER_BULK_QUEUE)
  const last = Math.max(queue.minOffset, queue.maxOffset - ORDERS_MAX)
  const units = await queue.readUnits(last, queue.maxOffset - last)
  for (let index = units.count - 1; index >= 0; index--) {
    if (units.isPadding(index)) continue
    const offset = units.commitLogOffset(index)
    if (offset < at.timerId) return false
    const change = await store.readRecord(offset)
    if (change === undefined) continue
    const order = bulkOrderAt(offset, change, 0)
    if (order.change.kind === 'cancel' && covers({ order, offset }, at, record, 0)) return true
  }
  return false
}

/**
 * Whether the newest that the log has of its unique key is how it was accepted: then nothing of it
 * was published. False also when that cannot be told, without an index, or of a message that may
 * have become a dead letter by its late policy, which has another topic.
 */
async function isUndelivered({ store, index }: LogTrace, record: Buffer): Promise<boolean> {
  const properties = recordProperties(record, 0)
  const topic = findProperty(properties, PROPERTY.REAL_TOPIC)
  const key = findProperty(properties, PROPERTY.UNIQ_KEY)
  if (index === undefined || topic === undefined || key === undefined) return false
  if (hasProperty(properties, PROPERTY.ORRERY_ON_LATE)) return false
  // What was published before it was looked for may not be in the index yet.
  await store.whenApplied(store.endOffset - 1)
  const times = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }
  const [newest] = await index.search({ topic, key, by: 'uniqueKey', ...times, countMax: 1 })
  if (newest === undefined) return false
  const first = findProperty(properties, PROPERTY.ORRERY_FIRST)
  const acceptOffset = first === undefined ? recordCommitLogOffset(record, 0) : refOf(first).timerId
  return recordCommitLogOffset(newest, 0) === acceptOffset
}

async function isNamedIn(
  store: LogTrace['store'],
  queueId: number,
  timerId: number,
): Promise<boolean> {
  const queue = store.queue(TIMER_TOPIC, queueId)
  const last = Math.max(queue.minOffset, queue.maxOffset - LOOKED_AT_MAX)
  for (let end = queue.maxOffset; end > last;) {
    const from = Math.max(last, end - READ_COUNT)
    const units = await queue.readUnits(from, end - from)
    for (let index = units.count - 1; index >= 0; index--) {
      if (units.isPadding(index)) continue
      if (units.commitLogOffset(index) < timerId) return false
      if (units.tagsCode(index) === timerId) return true
    }
    end = from
  }
  return false
}
