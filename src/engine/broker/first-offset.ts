import { recordCommitLogOffset } from '../../model/message/index.ts'
import type { ConsumeQueue, QueueRead, QueueReadRequest } from '../store/index.ts'

/** A queue is young while its first message lies within this much of the newest log, in bytes. */
export const YOUNG_QUEUE_BYTES: number = 4 * 1024 ** 3

/** What is asked of the store. */
export interface QueueSource {
  readonly endOffset: number
  readQueue(queue: ConsumeQueue, request: QueueReadRequest): QueueRead | Promise<QueueRead>
}

/**
 * Where a group without a committed offset starts, if the broker is to say: at 0 in a queue that
 * was never trimmed and is empty or young, so that a new group misses nothing of a new topic.
 * `undefined` in any other queue: the client decides, by its ConsumeFromWhere.
 *
 * Apache asks whether message 0 is still in memory, which depends on the machine; here it is
 * the distance of message 0 from the end of the log.
 */
export async function firstOffset(
  source: QueueSource,
  queue: ConsumeQueue | undefined,
): Promise<number | undefined> {
  if (queue === undefined || queue.maxOffset === 0) return 0
  if (queue.minOffset > 0) return undefined
  const request = { fromOffset: 0, countMax: 1, bytesMax: 1, accepts: undefined }
  const read = await source.readQueue(queue, request)
  if (read.count === 0) return undefined
  const distance = source.endOffset - recordCommitLogOffset(read.bytes, 0)
  return distance <= YOUNG_QUEUE_BYTES ? 0 : undefined
}
