import { BrokerError, operatingError } from '../../core/base/index.ts'
import type { Platform, Timer } from '../../core/platform/index.ts'
import type { CommitLog } from './commit-log.ts'
import { exportsCrc } from './apache-files.ts'
import type { ManifestFile } from './manifest.ts'
import type { QueueTable } from './queue-table.ts'
import { totalsOf } from './queue-totals.ts'
import type { StoreOptions } from './store-options.ts'
import type { CheckpointParticipant } from './topic-applier.ts'

/** How often it looks whether enough log has come in for a checkpoint before its time. */
const LOOK_MS = 200

/**
 * Writes checkpoints: everything staged goes to disk, files are synced one at a time (a log sync
 * never waits long behind them), then the manifest, and only then may what it no longer names go.
 */
export class Checkpointer {
  readonly #platform: Platform
  readonly #options: StoreOptions
  readonly #manifestFile: ManifestFile
  readonly #log: CommitLog
  readonly #queues: QueueTable
  readonly #participants: readonly CheckpointParticipant[]
  readonly #appliedOffset: () => number
  readonly #logMinOffset: () => number
  readonly #onFailed: (error: BrokerError) => void
  #generation: number
  #checkpointOffset: number
  #lastAtUptimeMs: number
  #running: Promise<void> | undefined
  #timer: Timer | undefined
  #isStopped = false
  /** Until then, in the clock's uptime, the checkpoint of a clean stop may write queues. */
  #giveUpAtUptimeMs = Infinity

  constructor(parts: {
    platform: Platform
    options: StoreOptions
    manifestFile: ManifestFile
    log: CommitLog
    queues: QueueTable
    participants: readonly CheckpointParticipant[]
    appliedOffset: () => number
    /** First log offset that all queues know of. */
    logMinOffset: () => number
    onFailed: (error: BrokerError) => void
    generation: number
    checkpointOffset: number
  }) {
    this.#platform = parts.platform
    this.#options = parts.options
    this.#manifestFile = parts.manifestFile
    this.#log = parts.log
    this.#queues = parts.queues
    this.#participants = parts.participants
    this.#appliedOffset = parts.appliedOffset
    this.#logMinOffset = parts.logMinOffset
    this.#onFailed = parts.onFailed
    this.#generation = parts.generation
    this.#checkpointOffset = parts.checkpointOffset
    this.#lastAtUptimeMs = parts.platform.clock.uptimeMs()
  }

  /** R of the newest durable manifest: the log below it is not needed for recovery. */
  get checkpointOffset(): number {
    return this.#checkpointOffset
  }

  /**
   * A checkpoint now if a participant needs one before work begins; then whenever it is time.
   * Rejects when the first fails, also for lack of space: without it work must not begin.
   */
  async start(): Promise<void> {
    if (this.#isNeeded()) await this.run(false)
    this.#lookLater()
  }

  /**
   * No further checkpoint by itself; one under way ends soon, or is given up. A last one is given
   * up with `SHUTTING_DOWN` when queues are still to be written at `giveUpAtUptimeMs`.
   */
  async stop(giveUpAtUptimeMs: number): Promise<void> {
    this.#isStopped = true
    this.#giveUpAtUptimeMs = giveUpAtUptimeMs
    this.#timer?.cancel()
    await this.#running?.catch(() => undefined)
  }

  /** Takes a checkpoint now, after one that is under way. */
  async run(isCleanStop: boolean): Promise<void> {
    // Whoever began that one hears of its failure.
    while (this.#running !== undefined) await this.#running.catch(() => undefined)
    this.#running = this.#take(isCleanStop)
    try {
      await this.#running
    } finally {
      this.#running = undefined
      this.#lastAtUptimeMs = this.#platform.clock.uptimeMs()
    }
  }

  async #look(): Promise<void> {
    const isDue =
      this.#platform.clock.uptimeMs() - this.#lastAtUptimeMs >= this.#options.checkpointIntervalMs
    const grown = this.#appliedOffset() - this.#checkpointOffset
    const isLarge = grown >= this.#options.checkpointBytes
    if (isDue || isLarge || this.#isNeeded()) await this.#attempt()
    this.#lookLater()
  }

  #isNeeded(): boolean {
    return this.#participants.some(participant => participant.needsCheckpoint === true)
  }

  #lookLater(): void {
    if (this.#isStopped) return
    this.#timer = this.#platform.timers.after(LOOK_MS, () => void this.#look())
  }

  async #attempt(): Promise<void> {
    if (this.#log.failure !== undefined) return
    try {
      await this.run(false)
    } catch (error) {
      this.#failed(error)
    }
  }

  /** Without room the old checkpoint stays good; after any other failure the disk is not trusted. */
  #failed(error: unknown): void {
    const { code } = operatingError(error)
    if (code === 'SHUTTING_DOWN') return
    if (code === 'STORE_FULL') {
      this.#platform.log.error('a checkpoint found no room on the disk; it is tried again', error)
      return
    }
    this.#onFailed(new BrokerError('STORE_FAILED', { during: 'checkpoint' }, error))
  }

  async #take(isCleanStop: boolean): Promise<void> {
    // A sync that failed must not be tried again: it would say yes to what was lost.
    if (this.#log.failure !== undefined) throw this.#log.failure
    for (const participant of this.#participants) await participant.prepare?.()
    const appliedOffset = this.#appliedOffset()
    const sections: Record<string, unknown> = {}
    for (const participant of this.#participants) {
      sections[participant.name] = participant.snapshot(appliedOffset)
    }
    const queues = totalsOf(this.#queues.all(), this.#logMinOffset())
    // First: what a part writes over in its files may rest on a record of the log.
    await this.#log.sync()
    await this.#writeQueues(isCleanStop)
    for (const participant of this.#participants) await participant.write?.()
    if (this.#log.failure !== undefined) throw this.#log.failure
    const generation = this.#generation + 1
    const cleanStop = isCleanStop
      ? {
          endOffset: this.#log.endOffset,
          exportsCrc: await exportsCrc(this.#platform.files, this.#options.directory),
        }
      : undefined
    await this.#manifestFile.write({ generation, appliedOffset, cleanStop, queues, sections })
    this.#generation = generation
    this.#checkpointOffset = appliedOffset
    for (const participant of this.#participants) await participant.committed?.()
  }

  /** The older checkpoint stays good, and what was written so far need not be written again. */
  #mustGiveUp(isCleanStop: boolean): boolean {
    if (!isCleanStop) return this.#isStopped
    return this.#platform.clock.uptimeMs() > this.#giveUpAtUptimeMs
  }

  /** Each gives its handles back, also those opened by readers: there may be thousands. */
  async #writeQueues(isCleanStop: boolean): Promise<void> {
    for (const queue of this.#queues.all()) {
      if (this.#mustGiveUp(isCleanStop)) throw new BrokerError('SHUTTING_DOWN')
      if (queue.isDurable) {
        await queue.closeHandles()
        continue
      }
      await queue.writeTail()
      await queue.sync()
    }
  }
}
