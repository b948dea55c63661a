import { recordStoreTimeMs } from '../../model/message/index.ts'
import type { CommitLog } from './commit-log.ts'
import type { ConsumeQueue } from './consume-queue.ts'

/** Enough of a record to read its store time, with hosts of either length. */
const HEAD_BYTES = 128

/** Store time of a message of the queue, or -1 when it is not there. */
export async function storeTimeOf(
  log: CommitLog,
  queue: ConsumeQueue,
  queueOffset: number,
): Promise<number> {
  if (queueOffset < queue.minOffset || queueOffset >= queue.maxOffset) return -1
  const units = await queue.readUnits(queueOffset, 1)
  const head = Buffer.alloc(HEAD_BYTES)
  const got = await log.read(head, units.commitLogOffset(0))
  return got < 91 ? -1 : recordStoreTimeMs(head, 0)
}

/**
 * `lower`: the first message stored at `timeMs` or later (the queue's end when all are older).
 * `upper`: the last one stored at `timeMs` or before (0 when all are younger).
 */
export async function offsetByTime(
  log: CommitLog,
  queue: ConsumeQueue,
  search: { timeMs: number; boundary: 'lower' | 'upper' },
): Promise<number> {
  const isBefore =
    search.boundary === 'lower'
      ? (timeMs: number): boolean => timeMs < search.timeMs
      : (timeMs: number): boolean => timeMs <= search.timeMs
  let low = queue.minOffset
  let high = queue.maxOffset
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (isBefore(await storeTimeOf(log, queue, middle))) low = middle + 1
    else high = middle
  }
  if (search.boundary === 'lower') return low
  return low === queue.minOffset ? 0 : low - 1
}
