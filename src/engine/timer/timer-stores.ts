import type { Platform } from '../../core/platform/index.ts'
import { SCHEDULE_TOPIC, TIMER_TOPIC } from '../../model/message/index.ts'
import type { BulkOrder } from '../../model/schedule/index.ts'
import { type CheckpointParticipant, delayOffsetPath, type Store } from '../store/index.ts'
import { BulkChanges, type BulkJob } from './bulk-changes.ts'
import type { DueSink } from './due-sink.ts'
import { KEY_SOURCE, KeyIndex } from './keys/key-index.ts'
import { LadderStore } from './ladder/ladder-store.ts'
import { LevelStore } from './levels/level-store.ts'
import type { TimerRef } from './ladder/chunk-search.ts'
import type { TimerState } from './ladder/finder.ts'
import type { ListPosition } from './ladder/list/list-order.ts'
import type { Tally } from './ladder/list/tally.ts'
import type { ListStep, WaitingQuery } from './ladder/list/waiting-list.ts'
import { MOVED_SOURCE, openMovedIndex } from './moved-index.ts'
import { ParkedStore } from './parked/parked-store.ts'
import { type NewRemoval, PendingRemovals } from './pending-removals.ts'
import { Publisher } from './publisher.ts'
import { RecoveredRemovals } from './recovered-removals.ts'
import type { RefIndex, RefLookup } from './refs/ref-index.ts'
import { RefRebuild, type WaitingSteps } from './refs/ref-rebuild.ts'
import { FiredIds } from './fired-ids.ts'

/** Entries of an index in memory that ask for a checkpoint: 65 bytes each, or 130 for an own key. */
const STAGED_LONG = 65_536

export interface TimerOptions {
  /** The data folder. */
  readonly directory: string
  /** Delay of each level, in milliseconds; the first is level 1. */
  readonly levelsMs: readonly number[]
  readonly windowCountMax: number
  readonly windowBytesMax: number
  /** Largest partition that is loaded whole; larger ones are split first. */
  readonly loadBytesMax: number
  /** Overdue messages that are delivered in a second at most; 0: no bound. */
  readonly overdueRateMax: number
  readonly stagingBytesMax: number
  /** Part of the commit log that is surely in memory. */
  readonly logMemoryBytes: number
  /** What one step of a list reads, about; what is due at one time and larger is listed by id. */
  readonly listStepBytes: number
}

export interface TimerStatistics {
  /** Messages accepted and not delivered yet. */
  readonly waitingCount: number
  /** Of these, in delay levels. */
  readonly levelCount: number
  /** Of these, due and refused by their topic so far. */
  readonly parkedCount: number
  readonly enqueuedCount: number
  readonly deliveredCount: number
  /** Could not be delivered, because the disk has damaged or lost them. */
  readonly lostCount: number
  /** Messages in the window that fires next, and the bytes of those that were loaded for it. */
  readonly windowCount: number
  readonly loadedBytes: number
  /** Memory for what waits to be written to partitions. */
  readonly stagedBytes: number
}

/**
 * The timer stores of one broker. Life: `create` before the store recovers, then `start`, and at
 * the end `stop`, before the store stops.
 */
export class TimerStores {
  readonly #levels: LevelStore
  readonly #ladder: LadderStore
  readonly #parked: ParkedStore
  readonly #publisher: Publisher
  readonly #fired: FiredIds
  readonly #moved: RefIndex<number>
  readonly #bulk: BulkChanges
  readonly #keys: KeyIndex
  readonly #rebuilds: readonly (RefRebuild<number> | RefRebuild<string>)[]

  private constructor(parts: {
    platform: Platform
    levels: LevelStore
    ladder: LadderStore
    parked: ParkedStore
    publisher: Publisher
    fired: FiredIds
    moved: RefIndex<number>
    bulk: BulkChanges
    keys: KeyIndex
  }) {
    this.#levels = parts.levels
    this.#ladder = parts.ladder
    this.#parked = parts.parked
    this.#publisher = parts.publisher
    this.#fired = parts.fired
    this.#moved = parts.moved
    this.#bulk = parts.bulk
    this.#keys = parts.keys
    const list: WaitingSteps = (query, after, countMax) => this.list(query, after, countMax)
    const { platform, moved, keys } = parts
    this.#rebuilds = [
      new RefRebuild({ platform, index: moved, source: MOVED_SOURCE, list }),
      new RefRebuild({ platform, index: keys.refs, source: KEY_SOURCE, list }),
    ]
  }

  /** Reads what the last checkpoint says of the timers, and joins the store. */
  static async create(
    platform: Platform,
    options: TimerOptions,
    parts: { store: Store; sink: DueSink },
  ): Promise<TimerStores> {
    const { store } = parts
    const publisher = new Publisher(store, parts.sink)
    const fired = new FiredIds(store.section('fired'))
    const recovered = new RecoveredRemovals(store.section('removed'))
    const removals = new PendingRemovals()
    const bulk = new BulkChanges(store.section('bulk'))
    const indexed = {
      platform,
      stagedCountLong: STAGED_LONG,
      firedMs: () => ladder.firedMs,
      isParked: (timerId: number) => parked.find(timerId) !== undefined,
    }
    const directory = `${options.directory}/orrery`
    const moved = await openMovedIndex(
      { ...indexed, directory: `${directory}/moved` },
      store.section('movedIndex'),
    )
    const keys = await KeyIndex.open(
      { ...indexed, directory: `${directory}/keys` },
      store.section('keys'),
    )
    const parked = new ParkedStore({
      platform,
      directory: `${options.directory}/orrery/parked`,
      publisher,
      fired,
      recovered,
      removals,
      bulk,
    })
    const levels = new LevelStore({
      platform,
      store,
      publisher,
      parked,
      fired,
      levelsMs: options.levelsMs,
      delayOffsetPath: delayOffsetPath(options.directory),
    })
    const ladder = new LadderStore({
      platform,
      options: { ...options, directory: `${options.directory}/orrery/ladder` },
      store,
      publisher,
      parked,
      fired,
      removals,
      recovered,
      bulk,
      places: {
        moved: (firstTimerId, ref) => moved.set(firstTimerId, ref),
        keyed: (topic, key, ref) => keys.apply(topic, key, ref),
      },
      section: store.section('ladder'),
    })
    await levels.load(store.section('levels'))
    const late = await parked.load(store.section('parked'), platform.clock.timeMs())
    await ladder.load(store.section('ladder'), late)
    join(store, [fired, recovered, bulk], { moved, keys, levels, parked, ladder })
    const stores = { levels, ladder, parked, publisher, fired, moved, bulk, keys }
    return new TimerStores({ platform, ...stores })
  }

  /** For recovery: the published record of this timer is in the log. */
  notePublished(timerId: number): void {
    this.#fired.add(timerId)
  }

  /** After recovery. */
  start(): void {
    this.#levels.start()
    this.#ladder.start()
    this.#parked.start()
    for (const rebuild of this.#rebuilds) rebuild.start()
  }

  /** Delivers nothing more; what waits stays for the next start. */
  async stop(): Promise<void> {
    for (const rebuild of this.#rebuilds) rebuild.stop()
    await this.#levels.stop()
    await this.#parked.stop()
    await this.#ladder.stop()
  }

  /** Lets go of files; to be called when the store has stopped. */
  async close(): Promise<void> {
    await this.#moved.close()
    await this.#keys.refs.close()
  }

  /** Looks for a message of the ladder; see `Finder.find`. */
  find<Result>(ref: TimerRef, decide: (state: TimerState) => Result): Promise<Result> {
    return this.#ladder.find(ref, decide)
  }

  /** Lists messages of the ladder that wait; see `WaitingList.step`. */
  list(query: WaitingQuery, after: ListPosition | undefined, countMax: number): Promise<ListStep> {
    return this.#ladder.list(query, after, countMax)
  }

  /** Counts messages of the ladder that wait; see `Survey.count`. */
  count(query: WaitingQuery, tally: Tally): Promise<void> {
    return this.#ladder.count(query, tally)
  }

  /** Where a message is that was moved; undefined when it never was. Errors: see `RefIndex.find`. */
  async movedTo(firstTimerId: number): Promise<TimerRef | undefined> {
    return (await this.#moved.find(firstTimerId)).ref
  }

  /** The latest message of the topic with this own key; see `KeyIndex.find`. */
  findKey(digest: string): Promise<RefLookup> {
    return this.#keys.find(digest)
  }

  /** See `KeyIndex.isCurrent`. */
  isKeyCurrent(digest: string, lookup: RefLookup): boolean {
    return this.#keys.isCurrent(digest, lookup)
  }

  /** See `KeyIndex.pendingOffset`. */
  pendingKeyOffset(digest: string): number | undefined {
    return this.#keys.pendingOffset(digest)
  }

  /** It is decided, and appended to the log at `timerId`, that a message has this own key. */
  beginKey(digest: string, timerId: number): void {
    this.#keys.begin(digest, timerId)
  }

  /** To be called in the step in which `find` has said that the message waits there. */
  beginRemoval(removal: NewRemoval): void {
    this.#ladder.beginRemoval(removal)
  }

  /** Changes by filter that are not carried out yet, also those of an earlier start. */
  get bulkJobs(): readonly BulkJob[] {
    return this.#bulk.active
  }

  /** A change by filter is decided: its record was appended at `offset`. */
  beginBulk(offset: number, order: BulkOrder): BulkJob {
    return this.#bulk.begin(offset, order)
  }

  /** Resolves when a cancel by filter is carried out. */
  whenSwept(job: BulkJob): Promise<void> {
    return this.#ladder.whenSwept(job)
  }

  statistics(): TimerStatistics {
    const levelCount = this.#levels.waitingCount
    const parkedCount = this.#parked.refusedCount
    return {
      waitingCount: levelCount + this.#ladder.waitingCount + parkedCount,
      levelCount,
      parkedCount,
      enqueuedCount: this.#ladder.enqueuedCount,
      windowCount: this.#ladder.windowCount,
      loadedBytes: this.#ladder.loadedBytes,
      stagedBytes: this.#ladder.stagedBytes,
      deliveredCount: this.#publisher.deliveredCount,
      lostCount: this.#levels.lostCount + this.#ladder.lostCount + this.#parked.lostCount,
    }
  }
}

/** Everything that a checkpoint of the timers has, in its order. */
function join(
  store: Store,
  participants: readonly CheckpointParticipant[],
  timers: {
    readonly moved: RefIndex<number>
    readonly keys: KeyIndex
    readonly levels: LevelStore
    readonly parked: ParkedStore
    readonly ladder: LadderStore
  },
): void {
  const { moved, keys, levels, parked, ladder } = timers
  for (const participant of participants) store.join({ participant })
  for (const index of [moved, keys.refs]) {
    store.join({ participant: index, isCongested: () => index.isCongested })
  }
  store.join({
    participant: levels,
    topic: { name: SCHEDULE_TOPIC, applier: levels },
    fence: () => levels.oldestWaitingOffset(),
  })
  // After the levels, which may park; the ladder last, since its pause should be shortest.
  store.join({ participant: parked, isCongested: () => parked.isCongested })
  store.join({
    participant: ladder,
    topic: { name: TIMER_TOPIC, applier: ladder },
    fence: () => ladder.oldestInLog(),
    isCongested: () => ladder.isCongested,
  })
}
