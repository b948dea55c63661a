import { assert, BrokerError } from '../../core/base/index.ts'
import {
  type DirectoryLock,
  makeDurableDirectory,
  type Platform,
  type Timer,
} from '../../core/platform/index.ts'
import { checkRecord, recordSize, type RecordDraft } from '../../model/message/index.ts'
import {
  exportsCrc,
  hasAbortFile,
  removeAbortFile,
  writeAbortFile,
  writeApacheCheckpoint,
} from './apache-files.ts'
import { Applier } from './applier.ts'
import { Checkpointer } from './checkpointer.ts'
import { CommitLog } from './commit-log.ts'
import type { ConsumeQueue } from './consume-queue.ts'
import { type Manifest, ManifestFile } from './manifest.ts'
import { offsetByTime, storeTimeOf } from './offset-by-time.ts'
import { type QueueRead, type QueueReadRequest, readQueue } from './queue-reader.ts'
import { QueueTable } from './queue-table.ts'
import { checkSegmentLength, offsetKnownToQueues, recover, type RecoveryParts } from './recovery.ts'
import { Retention, type RetentionFence } from './retention.ts'
import { SegmentFiles } from './segment-files.ts'
import type { StoreOptions } from './store-options.ts'
import type { CheckpointParticipant, TopicApplier } from './topic-applier.ts'

const SPACE_LOOK_MS = 1_000
const TAIL_LOOK_MS = 100

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
  readonly #participants: CheckpointParticipant[] = []
  readonly #fences: RetentionFence[] = []
  readonly #congestion: (() => boolean)[] = []
  readonly #applier: Applier
  readonly #failedListeners = new Set<(error: BrokerError) => void>()
  readonly #waiting: Waiting[] = []
  #log: CommitLog | undefined
  #checkpointer: Checkpointer | undefined
  #retention: Retention | undefined
  readonly #timers = new Map<'space' | 'tails', Timer>()
  #lastQueueOffset = 0
  #isLow = false
  #isForeign = false
  #isStopped = false

  private constructor(parts: {
    platform: Platform
    options: StoreOptions
    lock: DirectoryLock
    segments: SegmentFiles
    manifestFile: ManifestFile
    manifest: Manifest | undefined
  }) {
    this.#platform = parts.platform
    this.#options = parts.options
    this.#lock = parts.lock
    this.#segments = parts.segments
    this.#manifestFile = parts.manifestFile
    this.#manifest = parts.manifest
    this.#queues = new QueueTable(
      parts.platform.files,
      `${parts.options.directory}/consumequeue`,
      this.#appliers,
    )
    this.#applier = new Applier(parts.platform)
    this.#applier.onApplied(() => this.#settleWaiting())
  }

  /**
   * Takes the folder's lock and reads what the last checkpoint says.
   *
   * @throws BrokerError `STORE_LOCKED`, `STORE_DAMAGED`, `STORE_FAILED`
   */
  static async open(options: StoreOptions, platform: Platform): Promise<Store> {
    const { files } = platform
    await makeDurableDirectory(files, options.directory)
    const lock = await files.lock(options.directory)
    try {
      for (const name of ['commitlog', 'consumequeue', 'config', 'orrery']) {
        await files.makeDirectory(`${options.directory}/${name}`)
      }
      await files.syncDirectory(options.directory)
      const segments = new SegmentFiles(files, `${options.directory}/commitlog`, {
        segmentBytes: options.segmentBytes,
        root: options.directory,
      })
      await segments.load()
      const manifestFile = new ManifestFile(files, `${options.directory}/orrery`)
      const manifest = await manifestFile.read()
      return new Store({ platform, options, lock, segments, manifestFile, manifest })
    } catch (error) {
      await lock.release()
      throw error
    }
  }

  /** What the newest manifest holds for a participant; `undefined` in a new store. */
  section(name: string): unknown {
    return this.#manifest?.sections[name]
  }

  /** Before `recover`: a part whose state belongs to the checkpoint and, if given, a topic's records. */
  join(parts: {
    participant: CheckpointParticipant
    topic?: { readonly name: string; readonly applier: TopicApplier }
    fence?: RetentionFence
    isCongested?: () => boolean
  }): void {
    assert(this.#log === undefined, 'parts join before recovery')
    this.#participants.push(parts.participant)
    if (parts.topic !== undefined) this.#appliers.set(parts.topic.name, parts.topic.applier)
    if (parts.fence !== undefined) this.#fences.push(parts.fence)
    if (parts.isCongested !== undefined) this.#congestion.push(parts.isCongested)
  }

  /** True when Apache had the folder open since our last stop: its own files win. */
  get isForeign(): boolean {
    return this.#isForeign
  }

  /**
   * Whether another broker wrote to the folder since the last clean stop. To be asked before the
   * timer stores read their files; `recover` finds the end of the log.
   */
  async findForeign(): Promise<boolean> {
    const cleanStop = this.#manifest?.cleanStop
    if (this.#manifest === undefined) this.#isForeign = !this.#segments.isEmpty
    else if (cleanStop !== undefined) {
      const crc = await exportsCrc(this.#platform.files, this.#options.directory)
      const head = Buffer.alloc(8)
      const got = await this.#segments.read(head, cleanStop.endOffset)
      const hasMore = got === head.length && recordSize(head, 0) !== 0
      this.#isForeign = crc !== cleanStop.exportsCrc || hasMore
    }
    return this.#isForeign
  }

  /**
   * Brings everything to the end of the log. `published` hears of each timer whose published
   * record is found behind the last checkpoint.
   */
  async recover(published: (timerId: number) => void): Promise<void> {
    const { files } = this.#platform
    const parts: RecoveryParts = {
      platform: this.#platform,
      options: this.#options,
      segments: this.#segments,
      queues: this.#queues,
      participants: this.#participants,
      published,
    }
    await checkSegmentLength(parts)
    await this.#segments.completeLengths()
    await this.#queues.discover()
    const isAborted = await hasAbortFile(files, this.#options.directory)
    const fromOffset = this.#isForeign
      ? await offsetKnownToQueues(parts, isAborted)
      : Math.max(this.#manifest?.appliedOffset ?? 0, this.#segments.firstOffset)
    await writeAbortFile(files, this.#options.directory)
    const result = await recover(parts, fromOffset)
    this.#begin(result.endOffset, fromOffset)
    this.#platform.log.info('recovered', {
      fromOffset,
      endOffset: result.endOffset,
      torn: result.isTorn,
      damagedRanges: result.damaged.length,
      foreign: this.#isForeign,
    })
  }

  /** Begins checkpoints, retention and the watch over disk space. */
  start(): void {
    this.#required(this.#checkpointer).start()
    this.#required(this.#retention).start()
    this.#watchSpace()
    this.#watchTails()
  }

  /** Flushes, takes a last checkpoint and leaves the folder as a clean stop does. */
  async stop(): Promise<void> {
    if (this.#isStopped) return
    this.#isStopped = true
    for (const timer of this.#timers.values()) timer.cancel()
    const log = this.#required(this.#log)
    log.refuse()
    try {
      await this.#retention?.stop()
      await this.#checkpointer?.stop()
      if (log.failure !== undefined) return
      await this.#untilApplied(log)
      await this.#required(this.#checkpointer).run(true)
      await writeApacheCheckpoint(this.#platform.files, this.#options.directory, {
        storeTimeMs: this.#platform.clock.timeMs(),
        endOffset: log.endOffset,
      })
      await removeAbortFile(this.#platform.files, this.#options.directory)
    } finally {
      await this.#segments.closeHandles()
      await this.#lock.release()
    }
  }

  /** Gives the folder back without any write, after a failure or before `recover`. */
  async abandon(): Promise<void> {
    this.#isStopped = true
    for (const timer of this.#timers.values()) timer.cancel()
    this.#log?.refuse()
    await this.#retention?.stop()
    await this.#checkpointer?.stop()
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
    if (this.#isLow) throw new BrokerError('STORE_FULL', { directory: this.#options.directory })
    return this.appendDue(draft, queue, tagsCode, storeTimeMs)
  }

  /** As `append`, also while space is low: delivering what is due is what makes room. */
  appendDue(
    draft: RecordDraft,
    queue: ConsumeQueue,
    tagsCode: number,
    storeTimeMs: number,
  ): number {
    const log = this.#required(this.#log)
    const queueOffset = queue.nextOffset
    const offset = log.append(draft, queueOffset, storeTimeMs)
    this.#pending.queue = queue
    this.#pending.tagsCode = tagsCode
    this.#pending.queueOffset = queueOffset
    this.#applier.push(this.#pending, offset, log.endOffset - offset)
    queue.nextOffset = queueOffset + 1
    this.#lastQueueOffset = queueOffset
    return offset
  }

  readonly #pending = { queue: undefined as never as ConsumeQueue, tagsCode: 0, queueOffset: 0 }

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

  /** Resolves when the record at `commitLogOffset` is durable and visible. */
  whenApplied(commitLogOffset: number): Promise<void> {
    if (this.appliedOffset > commitLogOffset) return Promise.resolve()
    if (this.failure !== undefined) return Promise.reject(this.failure)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ commitLogOffset, resolve, reject })
    })
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
    const log = this.#required(this.#log)
    const head = Buffer.alloc(8)
    if ((await log.read(head, commitLogOffset)) < head.length) return undefined
    const size = recordSize(head, 0)
    if (size <= 0 || size > this.#options.recordBytesMax) return undefined
    const record = Buffer.alloc(size)
    const got = await log.read(record, commitLogOffset)
    return checkRecord(record, 0, got).kind === 'record' ? record : undefined
  }

  storeTimeOf(queue: ConsumeQueue, queueOffset: number): Promise<number> {
    return storeTimeOf(this.#required(this.#log), queue, queueOffset)
  }

  offsetByTime(queue: ConsumeQueue, timeMs: number, boundary: 'lower' | 'upper'): Promise<number> {
    return offsetByTime(this.#required(this.#log), queue, { timeMs, boundary })
  }

  /** Forgets the topic's queues; its records stay in the log until retention takes them. */
  async removeTopic(topic: string): Promise<void> {
    for (const queue of this.#queues.remove(topic)) await queue.removeFiles()
  }

  #begin(endOffset: number, checkpointOffset: number): void {
    const failed = (error: BrokerError): void => this.#failed(error)
    const log = new CommitLog({
      platform: this.#platform,
      options: this.#options,
      segments: this.#segments,
      endOffset,
      onFlushed: () => this.#applier.run(),
      onFailed: failed,
    })
    this.#log = log
    this.#applier.begin(log, endOffset)
    this.#checkpointer = new Checkpointer({
      platform: this.#platform,
      options: this.#options,
      manifestFile: this.#manifestFile,
      log,
      queues: this.#queues,
      participants: this.#participants,
      appliedOffset: () => this.appliedOffset,
      onFailed: failed,
      generation: this.#manifest?.generation ?? 0,
      checkpointOffset,
    })
    const checkpointer = this.#checkpointer
    this.#retention = new Retention({
      platform: this.#platform,
      retentionMs: this.#options.retentionMs,
      segments: this.#segments,
      queues: this.#queues,
      fences: [() => checkpointer.checkpointOffset, ...this.#fences],
    })
  }

  /** Waits until all that was appended is applied, or the disk fails. */
  async #untilApplied(log: CommitLog): Promise<void> {
    if (this.appliedOffset >= log.endOffset) return
    await this.whenApplied(log.endOffset - 1)
  }

  #settleWaiting(): void {
    if (this.#waiting.length === 0) return
    const applied = this.appliedOffset
    const rest = this.#waiting.filter(waiting => waiting.commitLogOffset >= applied)
    const done = this.#waiting.filter(waiting => waiting.commitLogOffset < applied)
    this.#waiting.splice(0, this.#waiting.length, ...rest)
    for (const waiting of done) waiting.resolve()
  }

  #failed(error: BrokerError): void {
    this.#platform.log.error('the disk failed; nothing is accepted any more', error)
    this.#log?.refuse()
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error)
    for (const listener of this.#failedListeners) listener(error)
  }

  #watchSpace(): void {
    const look = async (): Promise<void> => {
      try {
        const { freeBytes } = await this.#platform.files.space(this.#options.directory)
        const isLow = freeBytes < this.#options.diskFreeBytesMin
        if (isLow !== this.#isLow) {
          this.#platform.log.warn(isLow ? 'disk space is low' : 'disk space is back', { freeBytes })
        }
        this.#isLow = isLow
      } catch (error) {
        this.#platform.log.warn('disk space is not known', { reason: String(error) })
      }
      if (!this.#isStopped) this.#later('space', SPACE_LOOK_MS, () => void look())
    }
    void look()
  }

  /** Writes long queue tails out between checkpoints, so that memory stays bounded. */
  #watchTails(): void {
    const look = async (): Promise<void> => {
      try {
        for (const queue of this.#queues.all()) if (queue.isTailLong) await queue.writeTail()
      } catch (error) {
        this.#platform.log.warn('queue units could not be written yet', { reason: String(error) })
      }
      if (!this.#isStopped) this.#later('tails', TAIL_LOOK_MS, () => void look())
    }
    void look()
  }

  #later(watch: 'space' | 'tails', delayMs: number, callback: () => void): void {
    this.#timers.set(watch, this.#platform.timers.after(delayMs, callback))
  }

  #required<Part>(part: Part | undefined): Part {
    assert(part !== undefined, 'the store must be recovered first')
    return part
  }
}

interface Waiting {
  readonly commitLogOffset: number
  readonly resolve: () => void
  readonly reject: (error: BrokerError) => void
}
