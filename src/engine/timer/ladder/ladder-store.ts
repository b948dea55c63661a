import { operatingError } from '../../../core/base/index.ts'
import type { Platform } from '../../../core/platform/index.ts'
import {
  findProperty,
  PROPERTY,
  recordProperties,
  recordQueueId,
  TIMER_ACCEPT_QUEUE,
  TIMER_BULK_QUEUE,
  TIMER_CANCEL_QUEUE,
  TIMER_DROP_QUEUE,
  TIMER_MOVE_QUEUE,
} from '../../../model/message/index.ts'
import type {
  AppliedRecord,
  CheckpointParticipant,
  Store,
  TopicApplier,
} from '../../store/index.ts'
import type { BulkChanges, BulkJob } from '../bulk-changes.ts'
import type { Chunk } from '../chunk.ts'
import { PagePool } from '../page-pool.ts'
import type { ParkedPlace } from '../parked/parked-table.ts'
import type { ParkedStore } from '../parked/parked-store.ts'
import type { NewRemoval, PendingRemovals, WaitingPlace } from '../pending-removals.ts'
import type { Publisher } from '../publisher.ts'
import type { RecoveredRemovals } from '../recovered-removals.ts'
import type { FiredIds } from '../fired-ids.ts'
import type { Removal } from '../timer-record.ts'
import { refOf, timerTagsCode } from '../timer-tags-code.ts'
import { Removed } from './removed.ts'
import { ChunkSearch, type TimerRef } from './chunk-search.ts'
import type { Claim } from './claim.ts'
import { FiredAhead } from './fired-ahead.ts'
import type { Keep } from './delivery.ts'
import { Finder, type TimerState } from './finder.ts'
import { Firing } from './firing.ts'
import { LANE_UNKNOWN } from './lane.ts'
import { type LadderSection, ladderSectionOf } from './ladder-section.ts'
import { LoadedBlocks } from './loaded-blocks.ts'
import { ChunkRanges } from './list/chunk-ranges.ts'
import type { ListPosition } from './list/list-order.ts'
import { Survey } from './list/survey.ts'
import { Sweep } from './list/sweep.ts'
import type { Tally } from './list/tally.ts'
import { type ListStep, WaitingList, type WaitingQuery } from './list/waiting-list.ts'
import { WaitingWalk } from './list/waiting-walk.ts'
import { WaitingMessages } from './list/waiting-messages.ts'
import { Loader } from './loader.ts'
import { Materializer, type WaitingMessage } from './materializer.ts'
import { Overdue } from './overdue.ts'
import { PartitionTable } from './partition-table.ts'
import { StagedWriter } from './staged-writer.ts'
import { PARKED_BLOCK, Window } from './window.ts'

export interface LadderOptions {
  /** Folder of the partitions. */
  readonly directory: string
  /** Most messages in the window. */
  readonly windowCountMax: number
  /** Most bytes of loaded messages. */
  readonly windowBytesMax: number
  /**
   * Budget for loading partitions whole: each rung takes its share of it (`loadShare`), from 1/48
   * for 30 days to all of it for 20 ms; 1 ms has no limit. What is larger is split.
   */
  readonly loadBytesMax: number
  /** Overdue messages that are delivered in a second at most; 0: no bound. */
  readonly overdueRateMax: number
  /** Staged bytes that make the broker stop reading from sockets. */
  readonly stagingBytesMax: number
  /** Part of the commit log that is surely in memory. */
  readonly logMemoryBytes: number
  /** What one step of a list reads, about; what is due at one time and larger is listed by id. */
  readonly listStepBytes: number
}

/** Who is told where messages are, in the order of the log. */
export interface MessagePlaces {
  /** A message, known by its first timer id, is at `ref` from now on. */
  moved(firstTimerId: number, ref: TimerRef): void
  /** The latest message of the topic with this own key is at `ref` from now on. */
  keyed(topic: string, key: string, ref: TimerRef): void
}

interface LadderParts {
  readonly platform: Platform
  readonly options: LadderOptions
  readonly store: Store
  readonly publisher: Publisher
  readonly parked: ParkedStore
  readonly fired: FiredIds
  readonly removals: PendingRemovals
  readonly recovered: RecoveredRemovals
  readonly bulk: BulkChanges
  readonly places: MessagePlaces
  readonly section: unknown
}

/**
 * The ladder: any deliver time, from a millisecond to years. Messages wait whole in partitions by
 * due time, coarse for far times and fine for near ones, and come to memory shortly before they
 * are due: memory and start time do not depend on how many wait.
 */
export class LadderStore implements CheckpointParticipant, TopicApplier {
  readonly name = 'ladder'
  readonly #platform: Platform
  readonly #options: LadderOptions
  readonly #store: Store
  readonly #pool = new PagePool()
  readonly #table: PartitionTable
  readonly #window: Window
  readonly #blocks = new LoadedBlocks()
  readonly #ahead = new FiredAhead()
  readonly #overdue: Overdue
  readonly #firing: Firing
  readonly #loader: Loader
  readonly #materializer: Materializer
  readonly #writer: StagedWriter
  readonly #parked: ParkedStore
  readonly #removals: PendingRemovals
  readonly #recovered: RecoveredRemovals
  readonly #places: MessagePlaces
  readonly #finder: Finder
  readonly #list: WaitingList
  readonly #survey: Survey
  readonly #sweep: Sweep
  readonly #bulk: BulkChanges
  /** Chunks that the latest snapshot names. */
  #named: readonly Chunk[] = []
  #isStarted = false
  #isStopped = false
  #carryingOut: Promise<void> | undefined

  constructor(parts: LadderParts) {
    const { platform, options, store, parked, removals, recovered } = parts
    this.#platform = platform
    this.#options = options
    this.#store = store
    this.#parked = parked
    this.#removals = removals
    this.#recovered = recovered
    this.#bulk = parts.bulk
    this.#places = parts.places
    this.#table = new PartitionTable(platform, this.#pool, options.directory)
    const overdue = new Overdue(platform.clock, options.overdueRateMax)
    this.#overdue = overdue
    const nowMs = platform.clock.timeMs()
    this.#window = new Window(nowMs, options.windowCountMax, overdue)
    this.#writer = new StagedWriter(platform, this.#table, this.#pool)
    const inMemory = { table: this.#table, window: this.#window, blocks: this.#blocks }
    const isLeft = (deliverTimeMs: number, timerId: number): boolean =>
      deliverTimeMs <= this.#materializer.firedMs || this.#ahead.has(timerId)
    this.#materializer = new Materializer({
      ...parts,
      ...inMemory,
      memoryBytes: options.logMemoryBytes,
      firedMs: ladderSectionOf(parts.section).firedMs,
    })
    const keep: Keep = (claim, at) => this.#materializer.keep(waitingMessage(claim), at)
    const forDelivery = { ...parts, ...inMemory, ahead: this.#ahead, overdue, keep }
    this.#firing = new Firing(forDelivery, () => this.#firePosition())
    this.#loader = new Loader({
      platform,
      ...inMemory,
      overdue,
      removed: new Removed({ pending: removals, recovered, ahead: this.#ahead, isLeft }),
      bodyBytesMax: options.windowBytesMax,
      loadBytesMax: options.loadBytesMax,
      firedMs: () => this.#materializer.firedMs,
      ahead: this.#ahead,
      onLoaded: () => this.#firing.wakeBy(this.#window.nextDueMs()),
      relieve: () => this.#writer.keepBelow(options.stagingBytesMax / 2),
    })
    const search = new ChunkSearch(platform.log)
    this.#finder = new Finder({ ...parts, ...inMemory, firing: this.#firing, isLeft, search })
    const messages = new WaitingMessages({ ...parts, ...inMemory, ahead: this.#ahead, isLeft })
    const { log, timers } = platform
    const ranges = new ChunkRanges({ timers, log, messages, removals })
    const finding = { ...inMemory, finder: this.#finder, messages, ranges, parked }
    this.#list = new WaitingList({ ...finding, search, stepBytes: options.listStepBytes })
    const walk = new WaitingWalk({ ...finding, timers, store })
    this.#survey = new Survey({ ...finding, walk })
    this.#sweep = new Sweep({
      ...finding,
      timers,
      log,
      bulk: this.#bulk,
      walk,
      firing: this.#firing,
      remove: (ref, place) => this.#removeCovered(ref, place),
    })
  }

  /** Messages that wait, parked ones not counted. */
  get waitingCount(): number {
    let count = this.#window.count - this.#window.entries.removedCount + this.#firing.claims.count
    for (const partition of this.#table.all()) count += partition.untakenCount
    return count - this.#recovered.count
  }

  /** F: everything due up to here has been delivered, or is parked. */
  get firedMs(): number {
    return this.#materializer.firedMs
  }

  get windowCount(): number {
    return this.#window.count
  }

  get loadedBytes(): number {
    return this.#blocks.bytes
  }

  get stagedBytes(): number {
    return this.#pool.stagedBytes + this.#pool.changedBytes
  }

  get enqueuedCount(): number {
    return this.#materializer.enqueuedCount
  }

  /** Messages that could not be delivered because their bytes are damaged. */
  get lostCount(): number {
    return this.#firing.lostCount + this.#loader.lostCount
  }

  /** More is staged than should be: whoever reads from sockets should stop for a moment. */
  get isCongested(): boolean {
    return this.stagedBytes > this.#options.stagingBytesMax
  }

  /** Opens what the manifest names. `late` are messages of the parked store that wait for their time. */
  async load(section: unknown, late: readonly ParkedPlace[]): Promise<void> {
    const known = ladderSectionOf(section)
    await this.#table.makeDirectories()
    await this.#table.load(known.partitions, known.nextChunkNumber)
    // Without a manifest nobody knows what may go.
    if (section !== undefined) await this.#table.removeUnnamed()
    this.#ahead.load(known.firedAhead)
    for (const place of late) {
      this.#window.add({
        deliverTimeMs: place.deliverTimeMs,
        timerId: place.timerId,
        sizeBytes: place.recordBytes,
        block: PARKED_BLOCK,
        position: 0,
        lane: LANE_UNKNOWN,
      })
    }
  }

  /** After recovery: begins to load and fire. */
  start(): void {
    this.#isStarted = true
    this.#overdue.begin()
    this.#store.onApplied(() => this.#keepUp())
    this.#loader.start()
    this.#firing.start()
    this.#carryingOut = this.#carryOut().then(() => this.#sweep.start())
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#carryingOut
    await this.#sweep.stop()
    await this.#loader.stop()
    await this.#firing.stop()
    await this.#writer.idle()
  }

  /** See `Finder.find`. */
  find<Result>(ref: TimerRef, decide: (state: TimerState) => Result): Promise<Result> {
    return this.#finder.find(ref, decide)
  }

  /** See `WaitingList.step`. */
  list(query: WaitingQuery, after: ListPosition | undefined, countMax: number): Promise<ListStep> {
    return this.#list.step(this.#bulk.standing(query), after, countMax)
  }

  /** See `Survey.count`. */
  count(query: WaitingQuery, tally: Tally): Promise<void> {
    return this.#survey.count(this.#bulk.standing(query), tally)
  }

  /** Resolves when a cancel by filter is carried out. */
  whenSwept(job: BulkJob): Promise<void> {
    return this.#sweep.whenDone(job)
  }

  /** It is decided, and appended to the log, that a waiting message is cancelled or moved. */
  beginRemoval(removal: NewRemoval): void {
    this.#removals.begin(removal)
  }

  tagsCodeOf(source: Buffer, position: number): number {
    return timerTagsCode(recordProperties(source, position), recordQueueId(source, position))
  }

  apply(record: AppliedRecord): void {
    const { queueId } = record.queue
    if (queueId === TIMER_DROP_QUEUE) return
    if (queueId === TIMER_ACCEPT_QUEUE) {
      this.#applyAccept(record, record.tagsCode)
      return
    }
    const properties = recordProperties(record.source, record.position)
    if (queueId === TIMER_CANCEL_QUEUE) {
      this.#applyRemoval(refOf(findProperty(properties, PROPERTY.ORRERY_CANCELS)), 'cancelled')
      return
    }
    if (queueId === TIMER_BULK_QUEUE) {
      this.#bulk.applied(record.commitLogOffset, record.source, record.position)
      if (this.#isStarted) this.#sweep.start()
      return
    }
    const deliverTimeMs = Number(findProperty(properties, PROPERTY.TIMER_OUT_MS))
    const ref = { timerId: record.commitLogOffset, deliverTimeMs }
    this.#applyAccept(record, deliverTimeMs)
    // It is kept by now: what it takes the place of goes.
    const replaced = findProperty(properties, PROPERTY.ORRERY_REPLACES)
    if (queueId === TIMER_MOVE_QUEUE) {
      this.#applyRemoval(refOf(replaced), 'moved')
      this.#places.moved(refOf(findProperty(properties, PROPERTY.ORRERY_FIRST)).timerId, ref)
    } else if (replaced !== undefined) {
      this.#applyRemoval(refOf(replaced), 'cancelled')
    }
    const key = findProperty(properties, PROPERTY.ORRERY_KEY)
    if (key === undefined) return
    this.#places.keyed(findProperty(properties, PROPERTY.REAL_TOPIC) ?? '', key, ref)
  }

  #applyAccept(record: AppliedRecord, deliverTimeMs: number): void {
    if (!this.#isStarted) {
      this.#materializer.applyAgain(record, deliverTimeMs)
      return
    }
    const dueMs = this.#materializer.apply(record, deliverTimeMs)
    if (dueMs !== undefined) this.#firing.wakeBy(dueMs)
  }

  #applyRemoval(ref: TimerRef, removal: Removal): void {
    const { timerId } = ref
    const pending = this.#removals.find(timerId)
    if (pending === undefined) {
      // Found again by recovery; once started, each was decided here.
      if (!this.#isStarted) this.#recovered.add(ref, removal)
      return
    }
    this.#remove(timerId, removal, pending.place)
    this.#firing.claims.remove(timerId)
    this.#removals.applied(pending)
  }

  #remove(timerId: number, removal: Removal, place: WaitingPlace): void {
    const slot = this.#window.entries.find(timerId)
    if (slot >= 0) this.#window.entries.remove(slot, removal)
    if (place.kind === 'chunk') place.chunk.markRemoved(place, removal)
    else if (place.kind === 'parked') this.#parked.remove(timerId)
  }

  /** A message that a cancel by filter covers; false when somebody else has removed it. */
  #removeCovered(ref: TimerRef, place: WaitingPlace): boolean {
    const { timerId } = ref
    if (this.#removals.find(timerId) !== undefined) return false
    this.#removals.begin({ timerId, removal: 'cancelled', changeOffset: 0, place })
    this.#applyRemoval(ref, 'cancelled')
    return true
  }

  /** Carries out what recovery has found, message by message, while other work goes on. */
  async #carryOut(): Promise<void> {
    try {
      for (const ref of this.#recovered.refs()) {
        if (this.#isStopped) return
        await this.#finder.findRemoved(ref, (place, isMarked) => {
          // Who has met it meanwhile has carried it out.
          const removal = this.#recovered.find(ref.timerId)
          if (removal === undefined || this.#firing.claims.has(ref.timerId)) return
          this.#recovered.take(ref.timerId)
          if (place === undefined) return
          if (isMarked) {
            // After the last checkpoint, whose counts do not know it; and perhaps never synced.
            if (place.kind === 'chunk') place.chunk.markRemoved(place, removal)
            return
          }
          // As if it were new: a read that is under way does not see the mark.
          const { timerId } = ref
          this.#removals.begin({ timerId, removal, changeOffset: 0, place })
          this.#applyRemoval(ref, removal)
        })
      }
    } catch (error) {
      // They stay known, and are carried out where they are met.
      const reason = operatingError(error)
      this.#platform.log.error('what was cancelled before the start is not marked yet', reason)
    }
  }

  async prepare(): Promise<void> {
    await this.#loader.pause()
    await this.#materializer.settleMost()
    await this.#firing.pause()
    const { claims } = this.#firing
    await claims.keepAll(
      claim => this.#materializer.readLog(waitingMessage(claim)),
      (claim, source) => this.#materializer.keep(waitingMessage(claim), { source, position: 0 }),
    )
    await this.#materializer.settle()
  }

  snapshot(): LadderSection {
    this.#dropDone()
    this.#materializer.moveFired(this.#firePosition())
    const { firedMs } = this.#materializer
    const partitions = [...this.#table.all()]
    for (const partition of partitions) {
      const isOver = partition.endMs - 1 <= firedMs || !partition.isSplit
      if (partition.chunks.length === 0 && isOver) this.#table.drop(partition)
    }
    const kept = [...this.#table.all()]
    const section = {
      firedMs,
      firedAhead: this.#ahead.settle(firedMs),
      nextChunkNumber: this.#table.nextChunkNumber,
      partitions: kept.map(partition => partition.section()),
    }
    this.#named = kept.flatMap(partition => partition.chunks)
    for (const chunk of this.#named) chunk.file.freezeChanges()
    this.#table.beginSnapshot()
    this.#loader.resume()
    this.#firing.resume()
    return section
  }

  /** Chunks of which everything has been delivered go; what fired in the others is noted. */
  #dropDone(): void {
    for (const partition of this.#table.all()) {
      for (const chunk of [...partition.chunks]) {
        chunk.settleParts()
        if (chunk.isDone) this.#table.condemnChunk(partition, chunk)
      }
    }
  }

  write(): Promise<void> {
    return this.#writer.writeAndSync(this.#named)
  }

  relieve(): Promise<void> {
    return this.#writer.keepBelow(this.#options.stagingBytesMax / 2)
  }

  async committed(): Promise<void> {
    await this.#writer.removeCondemned()
    // Marks are written by now: whoever waited for that may go on.
    this.#store.announceRelief()
  }

  /** Log offset of the oldest message that only the log has; Infinity when there is none. */
  oldestInLog(): number {
    return Math.min(this.#window.oldestInLog(), this.#firing.claims.oldestInLog())
  }

  /** Everything due up to here is delivered: what waits, is loaded or not loaded is due later. */
  #firePosition(): number {
    let earliest = Math.min(this.#window.earliestDueMs(), this.#firing.claims.dueMs)
    for (const partition of this.#table.all()) {
      earliest = Math.min(earliest, partition.untakenDueMinMs)
    }
    return Math.min(this.#platform.clock.timeMs(), earliest - 1)
  }

  #keepUp(): void {
    this.#materializer.keepUp()
    if (this.#pool.stagedBytes > this.#options.stagingBytesMax / 2) {
      this.#writer.start(this.#options.stagingBytesMax / 4, () => this.#store.announceRelief())
    }
  }
}

function waitingMessage(claim: Readonly<Claim>): WaitingMessage {
  const { timerId, deliverTimeMs, sizeBytes } = claim
  return { timerId, deliverTimeMs, recordBytes: sizeBytes }
}
