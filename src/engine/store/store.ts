import { assert, BrokerError, operatingError } from '../../core/base/index.ts'
import type { DirectoryLock, Platform } from '../../core/platform/index.ts'
import type { RecordDraft } from '../../model/message/index.ts'
import {
  hasAbortFile,
  removeAbortFile,
  writeAbortFile,
  writeApacheCheckpoint,
} from './apache-files.ts'
import { AppliedWaiters } from './applied-waiters.ts'
import { Applier } from './applier.ts'
import { Checkpointer } from './checkpointer.ts'
import { CommitLog } from './commit-log.ts'
import type { ConsumeQueue } from './consume-queue.ts'
import { type DataFolder, openDataFolder } from './data-folder.ts'
import { isForeignFolder } from './foreign-folder.ts'
import { checkLogPresence } from './log-presence.ts'
import type { Manifest, ManifestFile } from './manifest.ts'
import { offsetByTime, storeTimeOf } from './offset-by-time.ts'
import { type QueueRead, type QueueReadRequest, readQueue } from './queue-reader.ts'
import { QueueTable } from './queue-table.ts'
import { readRecord } from './record-reader.ts'
import { checkSegmentLength, offsetKnownToQueues, recover, type RecoveryParts } from './recovery.ts'
import { RepeatedWork } from './repeated-work.ts'
import { Retention, type RetentionFence, type TrimListener } from './retention.ts'
import type { SegmentFiles } from './segment-files.ts'
import { SpaceWatch } from './space-watch.ts'
import type { StoreOptions } from './store-options.ts'
import type { CheckpointParticipant, RecordApplier, TopicApplier } from './topic-applier.ts'

const TAIL_LOOK_MS = 100
/**
 * Of a stop, from `prepareStop` on: what queues have not written by then is built again at the next
 * start. A process that is told to end has 5 s.
 */
const STOP_QUEUES_MS = 2_500
const NO_TIME =
  'stopped without a last checkpoint, since too many queues had something to write; ' +
  'the log has it all, and the next start builds them from there'

/**
 * What is on disk: the commit log, the consume queues built from it, and the manifest that says
 * how far everything is durable.
 *
 * Life: `open`, then the timer stores `join`, then `recover`, `start`, and at the end `stop`.
 */
export class Store {
  readonly #platform: Platform
  readonly #options: StoreOptions
  readonly #lock: DirectoryLock
  readonly #segments: SegmentFiles
  readonly #queues: QueueTable
  readonly #manifestFile: ManifestFile
  readonly #manifest: Manifest | undefined
  readonly #appliers = new Map<string, TopicApplier>()
  readonly #recordAppliers: RecordApplier[] = []
  readonly #trimListeners: TrimListener[] = []
  readonly #participants: CheckpointParticipant[] = []
  readonly #fences: RetentionFence[] = []
  readonly #congestion: (() => boolean)[] = []
  readonly #applier: Applier
  readonly #failedListeners = new Set<(error: BrokerError) => void>()
  readonly #waiters = new AppliedWaiters()
  readonly #space: SpaceWatch
  /** Writes long queue tails out between checkpoints, so that memory stays bounded. */
  readonly #tailWriting: RepeatedWork
  #log: CommitLog | undefined
  #checkpointer: Checkpointer | undefined
  #retention: Retention | undefined
  #lastQueueOffset = 0
  /** Of the newest manifest on disk. */
  #generation: number
  #isForeign = false
  #isStopping = false
  #stoppingSinceUptimeMs = 0
  #isStopped = false

  private constructor(options: StoreOptions, platform: Platform, folder: DataFolder) {
    this.#platform = platform
    this.#options = options
    this.#lock = folder.lock
    this.#segments = folder.segments
    this.#manifestFile = folder.manifestFile
    this.#manifest = folder.manifest
    this.#generation = folder.manifest?.generation ?? 0
    const { directory, diskFreeBytesMin } = options
    this.#queues = new QueueTable(platform.files, `${directory}/consumequeue`, this.#appliers)
    this.#applier = new Applier(platform, this.#recordAppliers)
    this.#applier.onApplied(() => this.#waiters.settle(this.appliedOffset))
    this.#space = new SpaceWatch(platform, directory, diskFreeBytesMin)
    this.#tailWriting = new RepeatedWork(platform, TAIL_LOOK_MS, () =>
      this.#queues.writeLongTails(platform.log),
    )
  }

  /**
   * Takes the folder's lock and reads what the last checkpoint says.
   *
   * @throws BrokerError `STORE_LOCKED`, `STORE_DAMAGED`, `STORE_FAILED`
   */
  static async open(options: StoreOptions, platform: Platform): Promise<Store> {
    return new Store(options, platform, await openDataFolder(options, platform))
  }

  /** What the newest manifest holds for a participant; `undefined` in a new store. */
  section(name: string): unknown {
    return this.#manifest?.sections[name]
  }

  /** Before `recover`: a part whose state belongs to the checkpoint and, if given, a topic's records, or all. */
  join(parts: {
    participant: CheckpointParticipant
    topic?: { readonly name: string; readonly applier: TopicApplier }
    records?: RecordApplier
    fence?: RetentionFence
    onTrimmed?: TrimListener
    isCongested?: () => boolean
  }): void {
    assert(this.#log === undefined, 'parts join before recovery')
    this.#participants.push(parts.participant)
    if (parts.topic !== undefined) this.#appliers.set(parts.topic.name, parts.topic.applier)
    if (parts.records !== undefined) this.#recordAppliers.push(parts.records)
    if (parts.onTrimmed !== undefined) this.#trimListeners.push(parts.onTrimmed)
    if (parts.fence !== undefined) this.#fences.push(parts.fence)
    if (parts.isCongested !== undefined) this.#congestion.push(parts.isCongested)
  }

  /** Whether there is a commit log. */
  get hasMessages(): boolean {
    return !this.#segments.isEmpty
  }

  /** True when Apache had the folder open since our last stop: its own files win. */
  get isForeign(): boolean {
    return this.#isForeign
  }

  /** Whether the last stop was clean, and ours. */
  get isClean(): boolean {
    return this.#manifest?.cleanStop !== undefined && !this.#isForeign
  }

  /**
   * Whether another broker wrote to the folder since the last clean stop. To be asked before the
   * timer stores read their files; `recover` finds the end of the log.
   */
  async findForeign(): Promise<boolean> {
    this.#isForeign = await isForeignFolder({
      files: this.#platform.files,
      directory: this.#options.directory,
      manifest: this.#manifest,
      segments: this.#segments,
    })
    return this.#isForeign
  }

  /**
   * Brings everything to the end of the log. `published` hears of each timer whose published
   * record is found behind the last checkpoint.
   */
  async recover(published: (timerId: number) => void): Promise<void> {
    const { files } = this.#platform
    const { directory } = this.#options
    const manifest = this.#manifest
    const parts: RecoveryParts = {
      platform: this.#platform,
      options: this.#options,
      segments: this.#segments,
      queues: this.#queues,
      participants: this.#participants,
      recordAppliers: this.#recordAppliers,
      isClean: this.isClean,
      totals: manifest?.queues,
      published,
    }
    await checkSegmentLength(parts)
    const applied = manifest?.appliedOffset ?? 0
    await checkLogPresence({ files, segments: this.#segments, log: this.#platform.log }, applied)
    await this.#segments.completeLengths()
    await this.#segments.syncNames()
    await this.#queues.discover()
    const isAborted = await hasAbortFile(files, directory)
    const queues = this.#isForeign
      ? await offsetKnownToQueues(parts, isAborted)
      : Math.max(applied, this.#segments.firstOffset)
    // Without a manifest the participants are empty: what is new to the queues is new to them.
    const known = { queues, participants: manifest === undefined ? queues : applied }
    if (!isAborted) await writeAbortFile(files, directory)
    await this.#forgetCleanStop()
    const result = await recover(parts, known)
    const { fromOffset } = result
    this.#begin(result.endOffset, fromOffset)
    this.#platform.log.info('recovered', {
      fromOffset,
      endOffset: result.endOffset,
      torn: result.isTorn,
      damagedRanges: result.damaged.length,
      foreign: this.#isForeign,
    })
  }

  /** From here on what comes behind the end of the log is ours: a crash must not look foreign. */
  async #forgetCleanStop(): Promise<void> {
    const manifest = this.#manifest
    if (manifest?.cleanStop === undefined || this.#isForeign) return
    this.#generation++
    await this.#manifestFile.write({
      ...manifest,
      generation: this.#generation,
      cleanStop: undefined,
    })
  }

  /**
   * Begins checkpoints, retention and the watch over disk space. Rejects when a participant needs a
   * checkpoint and there can be none; to be abandoned then.
   */
  async start(): Promise<void> {
    await this.#space.look()
    await this.#required(this.#checkpointer).start()
    this.#required(this.#retention).start()
    this.#space.start()
    this.#tailWriting.start()
  }

  /** The end is near: whoever waits for a full disk to have room again gives up from now on. */
  prepareStop(): void {
    if (!this.#isStopping) this.#stoppingSinceUptimeMs = this.#platform.clock.uptimeMs()
    this.#isStopping = true
    if (this.#log?.isFull === true) this.#waiters.rejectAll(this.#fullError())
  }

  /**
   * Flushes, takes a last checkpoint and leaves the folder as a clean stop does. Where the disk
   * does not let it, what was answered is in the log, and the next start recovers from there.
   */
  async stop(): Promise<void> {
    if (this.#isStopped) return
    this.#isStopped = true
    this.prepareStop()
    const log = this.#required(this.#log)
    log.refuse()
    try {
      await this.#stopParts()
      await this.#untilApplied(log)
      await this.#required(this.#checkpointer).run(true)
      await writeApacheCheckpoint(this.#platform.files, this.#options.directory, {
        storeTimeMs: this.#platform.clock.timeMs(),
        endOffset: log.endOffset,
      })
      await removeAbortFile(this.#platform.files, this.#options.directory)
    } catch (error) {
      const { log: lines } = this.#platform
      if (operatingError(error).code === 'SHUTTING_DOWN') lines.warn(NO_TIME)
      else lines.error('stopped without a last checkpoint; the log has it all', error)
    } finally {
      await this.#giveBack()
    }
  }

  /** Gives the folder back without a checkpoint, after a failure or before `recover`. */
  async abandon(): Promise<void> {
    if (this.#isStopped) return
    this.#isStopped = true
    this.#isStopping = true
    this.#log?.refuse()
    this.#waiters.rejectAll(this.failure ?? new BrokerError('SHUTTING_DOWN'))
    await this.#stopParts()
    await this.#giveBack()
  }

  async #stopParts(): Promise<void> {
    await this.#space.stop()
    await this.#tailWriting.stop()
    await this.#retention?.stop()
    await this.#checkpointer?.stop(this.#stoppingSinceUptimeMs + STOP_QUEUES_MS)
  }

  async #giveBack(): Promise<void> {
    await this.#log?.halt()
    this.#waiters.rejectAll(this.failure ?? new BrokerError('SHUTTING_DOWN'))
    await this.#segments.closeHandles()
    for (const queue of this.#queues.all()) await queue.closeHandles()
    await this.#lock.release()
  }

  get endOffset(): number {
    return this.#required(this.#log).endOffset
  }

  /** Everything below is flushed, applied and visible. */
  get appliedOffset(): number {
    return this.#applier.appliedOffset
  }

  /** R: everything below is in the files of the last checkpoint. */
  get checkpointOffset(): number {
    return this.#required(this.#checkpointer).checkpointOffset
  }

  get minLogOffset(): number {
    return this.#segments.firstOffset
  }

  /** Queue offset that the latest `append` gave. */
  get lastQueueOffset(): number {
    return this.#lastQueueOffset
  }

  /** Bytes that `append` can take in at the moment; beyond it is `STORE_BUSY`. */
  get roomBytes(): number {
    return this.#required(this.#log).roomBytes
  }

  /** So much is under way that whoever reads from sockets should stop for a moment. */
  get congested(): boolean {
    return (
      this.endOffset - this.appliedOffset > this.#options.unappliedBytesMax ||
      this.#congestion.some(isCongested => isCongested())
    )
  }

  /** Something that made the store `congested` is over: those who wait look again. */
  announceRelief(): void {
    this.#applier.announceApplied()
  }

  get failure(): BrokerError | undefined {
    return this.#log?.failure
  }

  /** The queue, made when it is new. */
  queue(topic: string, queueId: number): ConsumeQueue {
    return this.#queues.get(topic, queueId)
  }

  findQueue(topic: string, queueId: number): ConsumeQueue | undefined {
    return this.#queues.find(topic, queueId)
  }

  queuesOf(topic: string): readonly ConsumeQueue[] {
    return this.#queues.queuesOf(topic)
  }

  /**
   * Encodes a new message straight into the log's buffer and returns its commit log offset. It is
   * durable and visible once `appliedOffset` is greater.
   *
   * @throws BrokerError `STORE_FULL`, `STORE_BUSY`, `STORE_FAILED`, `SHUTTING_DOWN`,
   *   `MESSAGE_TOO_LARGE`, `PROPERTIES_TOO_LARGE`
   */
  append(draft: RecordDraft, queue: ConsumeQueue, tagsCode: number, storeTimeMs: number): number {
    this.#required(this.#log).checkNewSize(draft)
    return this.appendAgain(draft, queue, tagsCode, storeTimeMs)
  }

  /** As `append`, for what was accepted before: also when the limit is lower by now. */
  appendAgain(draft: RecordDraft, queue: ConsumeQueue, tagsCode: number, atMs: number): number {
    if (this.#space.isLow) throw this.#fullError()
    return this.appendDue(draft, queue, tagsCode, atMs)
  }

  /** As `appendAgain`, also while space is low: delivering what is due is what makes room. */
  appendDue(
    draft: RecordDraft,
    queue: ConsumeQueue,
    tagsCode: number,
    storeTimeMs: number,
  ): number {
    const log = this.#required(this.#log)
    const queueOffset = queue.nextOffset
    const offset = log.append(draft, queueOffset, storeTimeMs)
    this.#applier.push(queue, tagsCode, offset, log.endOffset - offset)
    queue.nextOffset = queueOffset + 1
    this.#lastQueueOffset = queueOffset
    return offset
  }

  /** Called after each cycle of applying. Returns the way to stop that. */
  onApplied(listener: () => void): () => void {
    return this.#applier.onApplied(listener)
  }

  /** Called once per cycle for each queue with new visible messages, before `onApplied`. */
  onArrival(listener: (queue: ConsumeQueue) => void): () => void {
    return this.#applier.onArrival(listener)
  }

  /** Called when the disk failed: nothing is accepted any more and the process should end. */
  onFailed(listener: (error: BrokerError) => void): () => void {
    this.#failedListeners.add(listener)
    return () => this.#failedListeners.delete(listener)
  }

  /**
   * Resolves when the record at `commitLogOffset` is durable and visible. Rejects with
   * `STORE_FAILED` when nobody knows whether it will be, and while the store stops with
   * `STORE_FULL` or `SHUTTING_DOWN` when it will not be.
   */
  whenApplied(commitLogOffset: number): Promise<void> {
    if (this.appliedOffset > commitLogOffset) return Promise.resolve()
    if (this.failure !== undefined) return Promise.reject(this.failure)
    return this.#waiters.wait(commitLogOffset)
  }

  /** Consecutive messages; at once when they are in memory. */
  readQueue(queue: ConsumeQueue, request: QueueReadRequest): QueueRead | Promise<QueueRead> {
    return readQueue(this.#required(this.#log), queue, request)
  }

  /** The log, for the timers, which read due records from it. */
  get log(): CommitLog {
    return this.#required(this.#log)
  }

  /** A copy of the record at `commitLogOffset`, or `undefined` when none begins there. */
  async readRecord(commitLogOffset: number): Promise<Buffer | undefined> {
    if (commitLogOffset < this.minLogOffset || commitLogOffset >= this.appliedOffset) {
      return undefined
    }
    return readRecord(this.#required(this.#log), commitLogOffset)
  }

  storeTimeOf(queue: ConsumeQueue, queueOffset: number): Promise<number> {
    return storeTimeOf(this.#required(this.#log), queue, queueOffset)
  }

  offsetByTime(queue: ConsumeQueue, timeMs: number, boundary: 'lower' | 'upper'): Promise<number> {
    return offsetByTime(this.#required(this.#log), queue, { timeMs, boundary })
  }

  #begin(endOffset: number, checkpointOffset: number): void {
    const log = new CommitLog({
      platform: this.#platform,
      options: this.#options,
      segments: this.#segments,
      endOffset,
      onFlushed: () => this.#applier.run(),
      onFull: error => {
        if (this.#isStopping) this.#waiters.rejectAll(error)
      },
      onFailed: error => this.#failed(error),
    })
    this.#log = log
    this.#applier.begin(log, endOffset)
    const retention = new Retention({
      platform: this.#platform,
      retentionMs: this.#options.retentionMs,
      segments: this.#segments,
      queues: this.#queues,
      fences: [() => this.checkpointOffset, ...this.#fences],
      trimListeners: this.#trimListeners,
    })
    this.#retention = retention
    this.#checkpointer = new Checkpointer({
      platform: this.#platform,
      options: this.#options,
      manifestFile: this.#manifestFile,
      log,
      queues: this.#queues,
      participants: this.#participants,
      appliedOffset: () => this.appliedOffset,
      logMinOffset: () => retention.trimmedTo,
      onFailed: error => log.fail(error),
      generation: this.#generation,
      checkpointOffset,
    })
  }

  /** Waits until all that was appended is applied, or the disk fails. */
  async #untilApplied(log: CommitLog): Promise<void> {
    if (this.appliedOffset >= log.endOffset) return
    await this.whenApplied(log.endOffset - 1)
  }

  #failed(error: BrokerError): void {
    this.#platform.log.error('the disk failed; nothing is accepted any more', error)
    this.#waiters.rejectAll(error)
    for (const listener of this.#failedListeners) listener(error)
  }

  #fullError(): BrokerError {
    return new BrokerError('STORE_FULL', { directory: this.#options.directory })
  }

  #required<Part>(part: Part | undefined): Part {
    assert(part !== undefined, 'the store must be recovered first')
    return part
  }
}
