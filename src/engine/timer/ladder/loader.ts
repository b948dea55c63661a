import type { Platform, Timer } from '../../../core/platform/index.ts'
import type { Chunk } from '../chunk.ts'
import { readChunk } from '../chunk-reader.ts'
import {
  TIMER_HEADER_BYTES,
  timerDeliverTimeMs,
  timerIdOf,
  timerRecordStart,
} from '../timer-record.ts'
import type { LoadedBlocks } from './loaded-blocks.ts'
import type { Partition } from './partition.ts'
import type { PartitionTable } from './partition-table.ts'
import { Splitter } from './splitter.ts'
import type { Window } from './window.ts'

const LOOK_MS = 250
/** Pause between two steps while there is more to do. */
const STEP_PAUSE_MS = 1
/** A partition is taken into memory, or split, this long before it begins. */
const LEAD_MS = 10_000
/** Splitting is assumed to move at least this much a millisecond. */
const SPLIT_BYTES_PER_MS = 50_000
const READ_BYTES = 1024 * 1024
/** Part of the budget that only messages due within a second may use. */
const RESERVE = 0.25
const NEAR_MS = 1_000
/** How long new messages for a loaded partition are gathered: less than the near time. */
const GATHER_MS = 3_000

/**
 * Brings partitions into the window shortly before their time: what fits its rung's budget is
 * loaded, what does not is split first. In the order of their times, in bounded steps, and never
 * more than the budget at once: the rest waits until some has fired.
 */
export class Loader {
  readonly #platform: Platform
  readonly #table: PartitionTable
  readonly #window: Window
  readonly #blocks: LoadedBlocks
  readonly #bodyBytesMax: number
  readonly #loadBytesMax: number
  readonly #firedMs: () => number
  readonly #onLoaded: () => void
  readonly #relieve: () => Promise<void>
  readonly #splitter: Splitter
  readonly #begunAtUptimeMs = new WeakMap<Partition, number>()
  #timer: Timer | undefined
  #working: Promise<void> | undefined
  #isStopped = false
  #isPaused = false

  constructor(parts: {
    platform: Platform
    table: PartitionTable
    window: Window
    blocks: LoadedBlocks
    bodyBytesMax: number
    loadBytesMax: number
    /** The fire position: what is due up to there has fired. */
    firedMs: () => number
    onLoaded: () => void
    /** Writes staged bytes out when there are many. */
    relieve: () => Promise<void>
  }) {
    this.#platform = parts.platform
    this.#table = parts.table
    this.#window = parts.window
    this.#blocks = parts.blocks
    this.#bodyBytesMax = parts.bodyBytesMax
    this.#loadBytesMax = parts.loadBytesMax
    this.#firedMs = parts.firedMs
    this.#onLoaded = parts.onLoaded
    this.#relieve = parts.relieve
    this.#splitter = new Splitter(parts.table, parts.platform.log)
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
  }

  #schedule(delayMs: number): void {
    this.#timer = this.#platform.timers.after(delayMs, () => {
      this.#working = this.#look()
    })
  }

  async #look(): Promise<void> {
    let isMore = false
    try {
      if (!this.#isPaused) isMore = await this.#step()
    } catch (error) {
      this.#platform.log.error('waiting messages could not be loaded; it is tried again', error)
    }
    if (!this.#isStopped) this.#schedule(isMore ? STEP_PAUSE_MS : LOOK_MS)
  }

  /** One bounded piece of work for the earliest partition that needs it; false when none does. */
  async #step(): Promise<boolean> {
    const nowMs = this.#platform.clock.timeMs()
    for (const partition of this.#table.inOrder()) {
      if (partition.startMs > nowMs + this.#leadMs(partition)) break
      const loading = partition.loading
      const waiting = partition.waiting
      if (loading === undefined && waiting === undefined) continue
      if (loading === undefined && waiting !== undefined && this.#mustSplit(partition)) {
        await this.#relieve()
        await this.#splitter.step(partition, waiting, this.#firedMs())
        return true
      }
      const chunk = loading ?? waiting
      if (chunk === undefined || !this.#isTimeFor(partition, chunk)) continue
      if (!this.#hasRoom(partition, nowMs)) return false
      await this.#load(partition, chunk)
      return true
    }
    return false
  }

  /**
   * New messages for a partition that is loaded already are due in a few seconds at the earliest:
   * they are gathered, since each load closes a file.
   */
  #isTimeFor(partition: Partition, chunk: Chunk): boolean {
    if (chunk.isLoading) return true
    const uptimeMs = this.#platform.clock.uptimeMs()
    if (uptimeMs - (this.#begunAtUptimeMs.get(partition) ?? -Infinity) < GATHER_MS) return false
    this.#begunAtUptimeMs.set(partition, uptimeMs)
    return true
  }

  #leadMs(partition: Partition): number {
    return Math.max(LEAD_MS, partition.untakenBytes / SPLIT_BYTES_PER_MS)
  }

  #mustSplit(partition: Partition): boolean {
    if (partition.isSplit) return true
    return partition.untakenBytes > partition.rung.loadShare * this.#loadBytesMax
  }

  #hasRoom(partition: Partition, nowMs: number): boolean {
    if (this.#window.isFull) return false
    const isNear = partition.startMs <= nowMs + NEAR_MS
    const limit = isNear ? this.#bodyBytesMax : this.#bodyBytesMax * (1 - RESERVE)
    return this.#blocks.bytes < limit
  }

  /** Takes in the next part of a chunk. */
  async #load(partition: Partition, chunk: Chunk): Promise<void> {
    partition.seal(chunk)
    const firedMs = this.#firedMs()
    let block = 0
    let count = 0
    const position = await readChunk(
      chunk,
      { position: chunk.takenBytes, bytesMax: READ_BYTES },
      {
        log: this.#platform.log,
        visitor: {
          record: (source, at, size) => {
            count++
            const deliverTimeMs = timerDeliverTimeMs(source, at)
            if (deliverTimeMs <= firedMs) return
            if (block === 0) block = this.#blocks.add(source)
            this.#blocks.retain(block)
            this.#window.add({
              deliverTimeMs,
              timerId: timerIdOf(source, at),
              sizeBytes: size - TIMER_HEADER_BYTES,
              block,
              position: timerRecordStart(at),
            })
          },
        },
      },
    )
    chunk.take(position, count)
    if (block !== 0) this.#onLoaded()
  }
}
