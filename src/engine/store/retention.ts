import { operatingError } from '../../core/base/index.ts'
import type { Platform } from '../../core/platform/index.ts'
import { recordSize, recordStoreTimeMs } from '../../model/message/index.ts'
import type { QueueTable } from './queue-table.ts'
import { RepeatedWork } from './repeated-work.ts'
import type { SegmentFiles } from './segment-files.ts'

const LOOK_MS = 10_000
/** Enough of a record to read its store time, with hosts of either length. */
const HEAD_BYTES = 128

/** Says up to which log offset records may go; whoever still needs older ones holds it back. */
export type RetentionFence = () => number | Promise<number>

/** Told of where the log begins after old segments have gone. */
export type TrimListener = (minLogOffset: number) => Promise<void>

/**
 * Removes log segments whose newest message is older than the retention. A fence of each timer
 * store and of the checkpoint keeps what is still needed: nothing that waits is ever removed.
 */
export class Retention {
  readonly #platform: Platform
  readonly #retentionMs: number
  readonly #segments: SegmentFiles
  readonly #queues: QueueTable
  readonly #fences: readonly RetentionFence[]
  readonly #trimListeners: readonly TrimListener[]
  readonly #looking: RepeatedWork
  #trimmedTo: number

  constructor(parts: {
    platform: Platform
    retentionMs: number
    segments: SegmentFiles
    queues: QueueTable
    fences: readonly RetentionFence[]
    trimListeners: readonly TrimListener[]
  }) {
    this.#platform = parts.platform
    this.#retentionMs = parts.retentionMs
    this.#segments = parts.segments
    this.#queues = parts.queues
    this.#fences = parts.fences
    this.#trimListeners = parts.trimListeners
    this.#trimmedTo = parts.segments.firstOffset
    this.#looking = new RepeatedWork(parts.platform, LOOK_MS, () => this.#look())
  }

  /** First log offset that all queues know of; the log may begin later already. */
  get trimmedTo(): number {
    return this.#trimmedTo
  }

  start(): void {
    this.#looking.start()
  }

  stop(): Promise<void> {
    return this.#looking.stop()
  }

  async #look(): Promise<void> {
    try {
      await this.#clean()
    } catch (error) {
      const reason = operatingError(error)
      this.#platform.log.error('old log segments could not be removed', reason)
    }
  }

  async #clean(): Promise<void> {
    const oldestMs = this.#platform.clock.timeMs() - this.#retentionMs
    const fence = Math.min(...(await Promise.all(this.#fences.map(async offset => offset()))))
    for (const base of [...this.#segments.bases].slice(1)) {
      // The first message of the next segment is younger than all of this one.
      if (base > fence || (await this.#storeTimeAt(base)) > oldestMs) break
      await this.#segments.removeBefore(base)
    }
    const first = this.#segments.firstOffset
    if (first === this.#trimmedTo) return
    for (const queue of this.#queues.all()) await queue.trim(first)
    for (const trimmed of this.#trimListeners) await trimmed(first)
    this.#trimmedTo = first
    this.#platform.log.info('removed old log segments', { minOffset: first })
  }

  /** Infinity when there is no record yet. */
  async #storeTimeAt(offset: number): Promise<number> {
    const head = Buffer.alloc(HEAD_BYTES)
    await this.#segments.read(head, offset)
    return recordSize(head, 0) === 0 ? Infinity : recordStoreTimeMs(head, 0)
  }
}
