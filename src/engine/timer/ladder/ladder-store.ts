import type { Platform } from '../../../core/platform/index.ts'
import { recordProperties, findProperty, PROPERTY } from '../../../model/message/index.ts'
import type {
  AppliedRecord,
  CheckpointParticipant,
  Store,
  TopicApplier,
} from '../../store/index.ts'
import type { Chunk } from '../chunk.ts'
import type { FiredIds } from '../fired-ids.ts'
import { PagePool } from '../page-pool.ts'
import type { ParkedPlace } from '../parked/parked-queue.ts'
import type { ParkedStore } from '../parked/parked-store.ts'
import type { Publisher } from '../publisher.ts'
import type { Claim } from './claim.ts'
import { Firing } from './firing.ts'
import { type LadderSection, ladderSectionOf } from './ladder-section.ts'
import { LoadedBlocks } from './loaded-blocks.ts'
import { Loader } from './loader.ts'
import { Materializer, type WaitingMessage } from './materializer.ts'
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
  /** Largest partition of a minute or less that is loaded whole. */
  readonly loadBytesMax: number
  /** Staged bytes that make the broker stop reading from sockets. */
  readonly stagingBytesMax: number
  /** Part of the commit log that is surely in memory. */
  readonly logMemoryBytes: number
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
  readonly #firing: Firing
  readonly #loader: Loader
  readonly #materializer: Materializer
  readonly #writer: StagedWriter
  /** Chunks that the latest snapshot names. */
  #named: readonly Chunk[] = []
  #isStarted = false

  constructor(parts: {
    platform: Platform
    options: LadderOptions
    store: Store
    publisher: Publisher
    parked: ParkedStore
    fired: FiredIds
    section: unknown
  }) {
    const { platform, options, store, publisher, parked, fired } = parts
    this.#platform = platform
    this.#options = options
    this.#store = store
    this.#table = new PartitionTable(platform, this.#pool, options.directory)
    this.#window = new Window(platform.clock.timeMs(), options.windowCountMax)
    this.#writer = new StagedWriter(platform, this.#table, this.#pool)
    this.#materializer = new Materializer({
      platform,
      store,
      table: this.#table,
      window: this.#window,
      blocks: this.#blocks,
      parked,
      memoryBytes: options.logMemoryBytes,
      firedMs: ladderSectionOf(parts.section).firedMs,
    })
    this.#firing = new Firing({
      platform,
      store,
      window: this.#window,
      blocks: this.#blocks,
      publisher,
      parked,
      fired,
      keep: (claim, at) => this.#materializer.keep(waitingMessage(claim), at),
    })
    this.#loader = new Loader({
      platform,
      table: this.#table,
      window: this.#window,
      blocks: this.#blocks,
      bodyBytesMax: options.windowBytesMax,
      loadBytesMax: options.loadBytesMax,
      firedMs: () => this.#materializer.firedMs,
      onLoaded: () => this.#firing.wakeBy(this.#window.nextDueMs()),
      relieve: () => this.#writer.keepBelow(options.stagingBytesMax / 2),
    })
  }

  /** Messages that wait, parked ones not counted. */
  get waitingCount(): number {
    let count = this.#window.count + this.#firing.claimedCount
    for (const partition of this.#table.all()) count += partition.untakenCount
    return count
  }

  get windowCount(): number {
    return this.#window.count
  }

  get loadedBytes(): number {
    return this.#blocks.bytes
  }

  get stagedBytes(): number {
    return this.#pool.stagedBytes
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
    return this.#pool.stagedBytes > this.#options.stagingBytesMax
  }

  /** Opens what the manifest names. `late` are messages of the parked store that wait for their time. */
  async load(section: unknown, late: readonly ParkedPlace[]): Promise<void> {
    const known = ladderSectionOf(section)
    await this.#table.makeDirectories()
    await this.#table.load(known.partitions, known.nextChunkNumber)
    this.#firing.loadAhead(known.firedAhead)
    for (const place of late) {
      this.#window.add({
        deliverTimeMs: place.deliverTimeMs,
        timerId: place.timerId,
        sizeBytes: place.recordBytes,
        block: PARKED_BLOCK,
        position: 0,
      })
    }
  }

  /** After recovery: begins to load and fire. */
  start(): void {
    this.#isStarted = true
    this.#store.onApplied(() => this.#keepUp())
    this.#loader.start()
    this.#firing.start()
  }

  async stop(): Promise<void> {
    await this.#loader.stop()
    await this.#firing.stop()
    await this.#writer.idle()
  }

  /** Deliver time of an accept record that is read back from the log. */
  tagsCodeOf(source: Buffer, position: number): number {
    return Number(findProperty(recordProperties(source, position), PROPERTY.TIMER_OUT_MS) ?? 0)
  }

  apply(record: AppliedRecord): void {
    if (!this.#isStarted) {
      this.#materializer.applyAgain(record)
      return
    }
    const dueMs = this.#materializer.apply(record)
    if (dueMs !== undefined) this.#firing.wakeBy(dueMs)
  }

  async prepare(): Promise<void> {
    await this.#loader.pause()
    await this.#materializer.settleMost()
    await this.#firing.pause()
    await this.#firing.keepClaimed(claim => this.#materializer.keepFromLog(waitingMessage(claim)))
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
      firedAhead: this.#firing.settleAhead(firedMs),
      nextChunkNumber: this.#table.nextChunkNumber,
      partitions: kept.map(partition => partition.section()),
    }
    this.#named = kept.flatMap(partition => partition.chunks)
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
  }

  /** Log offset of the oldest message that only the log has; Infinity when there is none. */
  oldestInLog(): number {
    return Math.min(this.#window.oldestInLog(), this.#firing.oldestInLog())
  }

  /** Everything due up to here is delivered: what waits, is loaded or not loaded is due later. */
  #firePosition(): number {
    let earliest = Math.min(this.#window.nextDueMs(), this.#firing.claimedDueMs)
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
