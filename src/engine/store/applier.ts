import type { Platform } from '../../core/platform/index.ts'
import type { CommitLog } from './commit-log.ts'
import type { ConsumeQueue } from './consume-queue.ts'
import { PendingApplies } from './pending-applies.ts'
import { type AppliedRecord, emptyAppliedRecord, type RecordApplier } from './topic-applier.ts'

/** Records applied before other work gets its turn: well under 2 ms. */
const SLICE_RECORDS = 1024

/**
 * What happens between flush and answer: each flushed record becomes visible in its queue and goes
 * to the timers, in log order. Then those who wait for it hear of it.
 */
export class Applier {
  readonly #platform: Platform
  /** Told of every record; more may join before the first one comes. */
  readonly #recordAppliers: readonly RecordApplier[]
  readonly #pending = new PendingApplies()
  #record: AppliedRecord | undefined
  readonly #arrived: ConsumeQueue[] = []
  readonly #arrivalListeners = new Set<(queue: ConsumeQueue) => void>()
  readonly #appliedListeners = new Set<() => void>()
  #log: CommitLog | undefined
  #appliedOffset = 0
  #isRunning = false

  constructor(platform: Platform, recordAppliers: readonly RecordApplier[]) {
    this.#platform = platform
    this.#recordAppliers = recordAppliers
  }

  /** Everything below is durable, visible and known to the timers. */
  get appliedOffset(): number {
    return this.#appliedOffset
  }

  /** Recovery has applied everything below `offset`; from here on `log` feeds it. */
  begin(log: CommitLog, offset: number): void {
    this.#log = log
    this.#appliedOffset = offset
  }

  /** The record is in the log and takes the queue's next offset. */
  push(queue: ConsumeQueue, tagsCode: number, commitLogOffset: number, sizeBytes: number): void {
    this.#pending.push(queue, tagsCode, commitLogOffset, sizeBytes)
  }

  onApplied(listener: () => void): () => void {
    this.#appliedListeners.add(listener)
    return () => this.#appliedListeners.delete(listener)
  }

  onArrival(listener: (queue: ConsumeQueue) => void): () => void {
    this.#arrivalListeners.add(listener)
    return () => this.#arrivalListeners.delete(listener)
  }

  /** Applies what is flushed, in slices. Does nothing while it is at work already. */
  run(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    this.#slice()
  }

  #slice(): void {
    const log = this.#log
    if (log === undefined) return
    const end = log.flushedOffset
    let rest = SLICE_RECORDS
    while (this.#pending.count > 0 && this.#pending.firstCommitLogOffset < end && rest > 0) {
      this.#applyFirst(log)
      rest--
    }
    const isPartial = this.#pending.count > 0 && this.#pending.firstCommitLogOffset < end
    this.#appliedOffset = isPartial ? this.#pending.firstCommitLogOffset : end
    log.release(this.#appliedOffset)
    this.#isRunning = isPartial
    this.#announce()
    if (isPartial) this.#platform.timers.soon(() => this.#slice())
  }

  #applyFirst(log: CommitLog): void {
    const pending = this.#pending
    const queue = pending.firstQueue
    const offset = pending.firstCommitLogOffset
    const size = pending.firstSize
    const tagsCode = pending.firstTagsCode
    queue.appendUnit(offset, size, tagsCode)
    if (!queue.hasArrivals) {
      queue.hasArrivals = true
      this.#arrived.push(queue)
    }
    if (queue.applier !== undefined || this.#recordAppliers.length > 0) {
      this.#record ??= emptyAppliedRecord(queue)
      const record = this.#record
      record.queue = queue
      record.commitLogOffset = offset
      record.sizeBytes = size
      record.tagsCode = tagsCode
      record.queueOffset = pending.firstQueueOffset
      record.source = log.memory
      record.position = log.memoryPosition(offset)
      queue.applier?.apply(record)
      for (const applier of this.#recordAppliers) applier.apply(record)
    }
    pending.shift()
  }

  #announce(): void {
    for (const queue of this.#arrived) {
      queue.hasArrivals = false
      for (const listener of this.#arrivalListeners) listener(queue)
    }
    this.#arrived.length = 0
    this.announceApplied()
  }

  /** Lets the listeners of `onApplied` look, though nothing may have changed. */
  announceApplied(): void {
    for (const listener of this.#appliedListeners) listener()
  }
}
