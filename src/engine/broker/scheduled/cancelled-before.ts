import {
  hasProperty,
  PROPERTY,
  recordProperties,
  TIMER_CANCEL_QUEUE,
  TIMER_KEY_QUEUE,
  TIMER_TOPIC,
} from '../../../model/message/index.ts'
import type { ScheduledStore } from './scheduled-parts.ts'

/** Of the newest records in a queue, and at once; each takes 20 bytes. */
const LOOKED_AT_MAX = 1_000_000
const READ_COUNT = 10_000

/**
 * Whether the log has a record that cancels or replaces the message, for what left no other trace:
 * looked for from the newest on, and back to where the message was accepted.
 */
export async function wasCancelled(
  store: Pick<ScheduledStore, 'queue'>,
  message: {
    readonly timerId: number
    /** Its accept record. */
    readonly record: Buffer
  },
): Promise<boolean> {
  const { timerId, record } = message
  if (await isNamedIn(store, TIMER_CANCEL_QUEUE, timerId)) return true
  // Only such a message can have been replaced.
  const hasKey = hasProperty(recordProperties(record, 0), PROPERTY.ORRERY_KEY)
  return hasKey && isNamedIn(store, TIMER_KEY_QUEUE, timerId)
}

async function isNamedIn(
  store: Pick<ScheduledStore, 'queue'>,
  queueId: number,
  timerId: number,
): Promise<boolean> {
  const queue = store.queue(TIMER_TOPIC, queueId)
  const last = Math.max(queue.minOffset, queue.maxOffset - LOOKED_AT_MAX)
  for (let end = queue.maxOffset; end > last;) {
    const from = Math.max(last, end - READ_COUNT)
    const units = await queue.readUnits(from, end - from)
    for (let index = units.count - 1; index >= 0; index--) {
      if (units.commitLogOffset(index) < timerId) return false
      if (units.tagsCode(index) === timerId) return true
    }
    end = from
  }
  return false
}
