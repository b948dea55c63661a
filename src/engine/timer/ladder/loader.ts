import { operatingError } from '../../../core/base/index.ts'
import type { Platform, Timer } from '../../../core/platform/index.ts'
import type { Chunk } from '../chunk.ts'
import { type ChunkVisitor, readChunk } from '../chunk-reader.ts'
import {
  TIMER_HEADER_BYTES,
  timerDeliverTimeMs,
  timerIdOf,
  timerRecordStart,
} from '../timer-record.ts'
import type { Removed } from './removed.ts'
import type { FiredAhead } from './fired-ahead.ts'
import { mainLane } from './heavy-lanes.ts'
import { LANE_UNKNOWN, laneOf } from './lane.ts'
import type { LoadedBlocks } from './loaded-blocks.ts'
import type { Overdue } from './overdue.ts'
import type { Partition } from './partition.ts'
import type { PartitionTable } from './partition-table.ts'
import { rungs } from './rungs.ts'
import { Splitter } from './splitter.ts'
import type { Window } from './window.ts'

const LOOK_MS = 250
/** Pause between two steps while there is more to do. */
const STEP_PAUSE_MS = 1
/** Pause while there is no room in the window for what should be loaded. */
const ROOM_PAUSE_MS = 10
/** Pause after a partition could not be read; others go on. */
const FAILED_PAUSE_MS = 1_000
/** A partition is taken into memory, or split, this long before it begins. */
const LEAD_MS = 10_000
/** Splitting is assumed to move at least this much a millisecond, and to be needed on each rung. */
const SPLIT_BYTES_PER_MS = 50_000
const READ_BYTES = 1024 * 1024
/** Part of the budget that only messages due within a second may use. */
const RESERVE = 0.25
/** Part of the budget that what is overdue may fill. */
const OVERDUE_SHARE = 0.5
/** A chunk of up to this part of the load budget is small: see `#loadSmall`. */
const SMALL = 1 / 8
/** Chunks that are looked into in one step. */
const PEEK_COUNT_MAX = 32
const NEAR_MS = 1_000
/** How long new messages for a loaded partition are gathered: less than the near time. */
const GATHER_MS = 3_000
/** What is due sooner is not gathered. */
const HURRY_MS = 1_500
/** A chunk that is mostly removed is not rewritten when its partition begins sooner than this. */
const REWRITE_AHEAD_MS = 600_000

/**
 * Brings partitions into the window shortly before their time: what fits its rung's budget is
 * loaded, what does not is split first. In the order of their times, in bounded steps, and never
 * more than the budget at once: the rest waits until some has fired. When nothing else is to be
 * done, large chunks of which most was cancelled or moved are rewritten, so that the disk has their
 * room long before their time.
 */
export class Loader {
  readonly #platform: Platform
  readonly #table: PartitionTable
  readonly #window: Window
  readonly #blocks: LoadedBlocks
  readonly #removed: Removed
  readonly #overdue: Overdue
  readonly #bodyBytesMax: number
  readonly #loadBytesMax: number
  readonly #firedMs: () => number
  readonly #ahead: FiredAhead
  readonly #onLoaded: () => void
  readonly #relieve: () => Promise<void>
  readonly #splitter: Splitter
  readonly #begunAtUptimeMs = new WeakMap<Partition, number>()
  readonly #failedAtUptimeMs = new WeakMap<Partition, number>()
  /** The topic that a chunk is mostly of, where that is known. */
  readonly #mainLanes = new WeakMap<Chunk, number>()
  #timer: Timer | undefined
  #working: Promise<void> | undefined
  #isStopped = false
  #isPaused = false
  #lostCount = 0

  constructor(parts: {
    platform: Platform
    table: PartitionTable
    window: Window
    blocks: LoadedBlocks
    removed: Removed
    overdue: Overdue
    bodyBytesMax: number
    loadBytesMax: number
    /** The fire position: what is due up to there has fired. */
    firedMs: () => number
    ahead: FiredAhead
    onLoaded: () => void
    /** Writes staged bytes out when there are many. */
    relieve: () => Promise<void>
  }) {
    this.#platform = parts.platform
    this.#table = parts.table
    this.#window = parts.window
    this.#blocks = parts.blocks
    this.#removed = parts.removed
    this.#overdue = parts.overdue
    this.#bodyBytesMax = parts.bodyBytesMax
    this.#loadBytesMax = parts.loadBytesMax
    this.#firedMs = parts.firedMs
    this.#ahead = parts.ahead
    this.#onLoaded = parts.onLoaded
    this.#relieve = parts.relieve
    this.#splitter = new Splitter({
      ...parts,
      log: parts.platform.log,
      mainLanes: this.#mainLanes,
    })
  }

  /** Messages that were passed over because they are damaged. */
  get lostCount(): number {
    return this.#lostCount
  }

  start(): void {
    this.#schedule(0)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    await this.#working
  }

  /** For a snapshot: no step is under way when it resolves, and none begins before `resume`. */
  async pause(): Promise<void> {
    this.#isPaused = true
    await this.#working
  }

  resume(): void {
    this.#isPaused = false
    if (this.#timer !== undefined && !this.#isStopped) this.#schedule(0)
  }

  #schedule(delayMs: number): void {
    this.#timer?.cancel()
    this.#timer = this.#platform.timers.after(delayMs, () => {
      this.#working = this.#look()
    })
  }

  async #look(): Promise<void> {
    let pauseMs = LOOK_MS
    try {
      if (!this.#isPaused) pauseMs = await this.#step()
    } catch (error) {
      const reason = operatingError(error)
      this.#platform.log.error('waiting messages could not be loaded; it is tried again', reason)
    }
    if (!this.#isStopped) this.#schedule(pauseMs)
  }

  /** One bounded piece of work for the earliest partition that needs it; returns the pause after it. */
  async #step(): Promise<number> {
    this.#overdue.look()
    const nowMs = this.#platform.clock.timeMs()
    this.#handDown(nowMs)
    const candidates = this.#candidates(nowMs)
    if (await this.#loadSmall(candidates, nowMs)) return STEP_PAUSE_MS
    // What is due later must not take the room that another waits for, unless that is overdue:
    // it may take its time. Splits need no room.
    let isRoomAwaited = false
    let isOverdueAwaited = false
    for (const partition of candidates) {
      const chunk = partition.nextChunk
      if (chunk === undefined) continue
      if (this.#mustSplit(partition, chunk)) {
        await this.#relieve()
        await this.#guarded(partition, () => this.#split(partition, chunk))
        return STEP_PAUSE_MS
      }
      const isOverdue = this.#isOverdue(chunk)
      if (isRoomAwaited || (isOverdue && isOverdueAwaited)) continue
      if (!this.#isTimeFor(partition, chunk, nowMs)) continue
      if (this.#hasRoom(chunk, nowMs)) {
        await this.#guarded(partition, () => this.#load(partition, chunk))
        return STEP_PAUSE_MS
      }
      if (isOverdue) isOverdueAwaited = true
      else isRoomAwaited = true
    }
    const isRewriting = await this.#rewrite(nowMs)
    const isMore = isRoomAwaited || isOverdueAwaited || isRewriting
    return isMore ? ROOM_PAUSE_MS : LOOK_MS
  }

  /**
   * Loads the earliest small chunk that is due soon and is not of a topic that fills the window
   * already: the few messages of others must not wait until a herd is split and loaded. They have
   * a room of their own. False when there was none.
   */
  async #loadSmall(candidates: readonly Partition[], nowMs: number): Promise<boolean> {
    if (this.#window.isCrammed || this.#ahead.isFull) return false
    if (this.#blocks.bytes >= this.#smallLimit()) return false
    let peekCount = 0
    for (const partition of candidates) {
      for (const chunk of partition.chunks) {
        if (!this.#isSmall(chunk) || !isSoon(chunk, nowMs) || this.#isOverdue(chunk)) continue
        if (!this.#mainLanes.has(chunk)) {
          if (peekCount++ === PEEK_COUNT_MAX) return true
          await this.#guarded(partition, async () => {
            this.#mainLanes.set(chunk, await mainLane(chunk))
          })
        }
        if (this.#window.entries.isHeavy(this.#mainLanes.get(chunk) ?? LANE_UNKNOWN)) continue
        await this.#guarded(partition, () => this.#load(partition, chunk))
        return true
      }
    }
    return false
  }

  #isOverdue(chunk: Chunk): boolean {
    return chunk.dueMinMs <= this.#overdue.untilMs
  }

  #isSmall(chunk: Chunk): boolean {
    return chunk.untakenBytes > 0 && chunk.sizeBytes <= this.#loadBytesMax * SMALL
  }

  /**
   * Hands down all that can be, from coarse to fine, before anything is loaded or split: it takes
   * no time, and a millisecond has all of its chunks then, of which the oldest is loaded first.
   */
  #handDown(nowMs: number): void {
    for (const partition of this.#table.all()) {
      if (!beginsSoon(partition, nowMs)) continue
      const { nextChunk } = partition
      if (nextChunk === undefined || !this.#mustSplit(partition, nextChunk)) continue
      for (const chunk of partition.chunks) this.#table.handDown(partition, chunk)
    }
  }

  /** Partitions that something is to be done for, from the next due on. */
  #candidates(nowMs: number): Partition[] {
    const candidates: Partition[] = []
    for (const partition of this.#table.all()) {
      if (beginsSoon(partition, nowMs) && !this.#hasJustFailed(partition))
        candidates.push(partition)
    }
    // By what is in them: a coarse one begins early and may hold what is due late. Of what is due at
    // the same time, the one that was accepted first: it may still be on its way down.
    return candidates.toSorted((a, b) => {
      return a.nextDueMs - b.nextDueMs || a.nextTimerId - b.nextTimerId
    })
  }

  #hasJustFailed(partition: Partition): boolean {
    const failedAtMs = this.#failedAtUptimeMs.get(partition) ?? -Infinity
    return this.#platform.clock.uptimeMs() - failedAtMs < FAILED_PAUSE_MS
  }

  async #guarded(partition: Partition, work: () => Promise<void>): Promise<void> {
    const observed = this.#removed.pending.observe()
    try {
      await work()
    } catch (error) {
      this.#failedAtUptimeMs.set(partition, this.#platform.clock.uptimeMs())
      throw error
    } finally {
      observed()
    }
  }

  /**
   * New messages for a partition that is loaded already are due in a few seconds at the earliest:
   * they are gathered, since each load closes a file.
   */
  #isTimeFor(partition: Partition, chunk: Chunk, nowMs: number): boolean {
    if (chunk.isLoading || chunk.dueMinMs <= nowMs + HURRY_MS) return true
    const begunAtMs = this.#begunAtUptimeMs.get(partition) ?? -Infinity
    return this.#platform.clock.uptimeMs() - begunAtMs >= GATHER_MS
  }

  /** `chunk` is its next one. */
  #mustSplit(partition: Partition, chunk: Chunk): boolean {
    if (chunk.isLoading) return false
    if (partition.isSplit) return true
    const bytesMax = partition.rung.loadShare * this.#loadBytesMax
    // One that is streamed may have thousands of parts in memory, which are not looked at each time.
    if (bytesMax === Infinity) return false
    return partition.untakenBytes + partition.blockBytes > bytesMax
  }

  #hasRoom(chunk: Chunk, nowMs: number): boolean {
    if (this.#window.isFull) return false
    if (this.#isOverdue(chunk)) {
      return !this.#window.isHalfFull && this.#blocks.bytes < this.#bodyBytesMax * OVERDUE_SHARE
    }
    const isNear = chunk.dueMinMs <= nowMs + NEAR_MS
    return this.#blocks.bytes < (isNear ? this.#nearLimit() : this.#farLimit())
  }

  #farLimit(): number {
    return this.#bodyBytesMax * (1 - RESERVE)
  }

  /** A load passes the limit by up to a block: with a small budget that is more than the reserve. */
  #nearLimit(): number {
    const smallBytes = 2 * SMALL * this.#loadBytesMax
    return Math.max(this.#bodyBytesMax - READ_BYTES - smallBytes, this.#farLimit() + 2 * READ_BYTES)
  }

  #smallLimit(): number {
    return this.#nearLimit() + READ_BYTES + SMALL * this.#loadBytesMax
  }

  async #split(partition: Partition, chunk: Chunk): Promise<void> {
    this.#lostCount += await this.#splitter.split(partition, chunk, this.#firedMs())
  }

  /** Does one step on a chunk that is mostly removed and far from due; false when there is none. */
  async #rewrite(nowMs: number): Promise<boolean> {
    for (const partition of this.#table.all()) {
      if (partition.startMs <= nowMs + REWRITE_AHEAD_MS || this.#hasJustFailed(partition)) continue
      const chunk = partition.chunks.find(({ isMostlyRemoved, sizeBytes }) => {
        return isMostlyRemoved && sizeBytes >= this.#loadBytesMax
      })
      if (chunk === undefined) continue
      await this.#guarded(partition, async () => {
        await this.#relieve()
        this.#lostCount += await this.#splitter.rewrite(partition, chunk, this.#firedMs())
      })
      return true
    }
    return false
  }

  /** Takes in the next part of a chunk. */
  async #load(partition: Partition, chunk: Chunk): Promise<void> {
    partition.seal(chunk)
    this.#begunAtUptimeMs.set(partition, this.#platform.clock.uptimeMs())
    const firedMs = this.#firedMs()
    const part = chunk.beginPart()
    const start = chunk.takenBytes
    let block = 0
    let count = 0
    let removedCount = 0
    const visitor: ChunkVisitor = {
      record: (source, at, size) => {
        count++
        const recordBytes = size - TIMER_HEADER_BYTES
        const place = { chunk, position: start + at, recordBytes }
        if (this.#removed.meet(source, at, place) !== undefined) {
          removedCount++
          return
        }
        const deliverTimeMs = timerDeliverTimeMs(source, at)
        if (deliverTimeMs <= firedMs) return
        if (part.liveCount++ === 0) block = this.#blocks.add(part, source)
        this.#window.add({
          deliverTimeMs,
          timerId: timerIdOf(source, at),
          sizeBytes: recordBytes,
          block,
          position: timerRecordStart(at),
          lane: laneOf(source, timerRecordStart(at)),
        })
      },
      end: position => {
        this.#lostCount += chunk.endPart(part, position, count, removedCount)
      },
    }
    const range = { position: start, bytesMax: READ_BYTES }
    await readChunk(chunk, range, { log: this.#platform.log, visitor })
    if (block !== 0) this.#onLoaded()
  }
}

/** It begins to be due soon, and will not be in the window for long. */
function isSoon(chunk: Chunk, nowMs: number): boolean {
  return chunk.dueMinMs <= nowMs + NEAR_MS && chunk.dueMaxMs <= nowMs + LEAD_MS
}

/** It has something to load or to split, and it is time for that. */
function beginsSoon({ rung, startMs, untakenBytes }: Partition, nowMs: number): boolean {
  if (untakenBytes === 0) return false
  const finerCount = rungs.length - 1 - rung.index
  const leadMs = Math.max(LEAD_MS, (finerCount * untakenBytes) / SPLIT_BYTES_PER_MS)
  return startMs <= nowMs + leadMs
}
