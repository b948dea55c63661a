import { othersTurn, type Platform } from '../../../core/platform/index.ts'
import type { AppliedRecord, Store } from '../../store/index.ts'
import type { Chunk, LoadedPart } from '../chunk.ts'
import type { ParkedStore } from '../parked/parked-store.ts'
import type { PendingRemovals } from '../pending-removals.ts'
import { LANE_UNKNOWN, laneOf } from './lane.ts'
import type { LoadedBlocks } from './loaded-blocks.ts'
import { NearArrivals } from './near-arrivals.ts'
import type { ChunkOrigin } from './partition.ts'
import type { PartitionTable } from './partition-table.ts'
import { IN_LOG, LOG_BLOCK, PARKED_BLOCK, type Window } from './window.ts'

/** What is due within this time goes straight to the window. */
export const NEAR_MS = 5_000
/** Messages copied before other work gets its turn. */
const STEP_COUNT = 256

/**
 * Where an accepted message goes when it is applied: near ones to the window, as a reference to
 * the log; all others, whole, to the partition that covers their deliver time.
 */
export class Materializer {
  readonly #platform: Platform
  readonly #store: Store
  readonly #table: PartitionTable
  readonly #window: Window
  readonly #blocks: LoadedBlocks
  readonly #parked: ParkedStore
  readonly #removals: PendingRemovals
  /** Chunks of near arrivals: all of each is one part, and in the window from the start. */
  readonly #direct = new WeakMap<Chunk, { readonly part: LoadedPart; block: number }>()
  /** Part of the log that is surely in memory: near arrivals older than it are copied. */
  readonly #memoryBytes: number
  readonly #near = new NearArrivals()
  #enqueuedCount = 0
  /** The fire position: messages due at or before it are tracked by id. */
  #firedMs: number

  constructor(parts: {
    platform: Platform
    store: Store
    table: PartitionTable
    window: Window
    blocks: LoadedBlocks
    parked: ParkedStore
    removals: PendingRemovals
    memoryBytes: number
    firedMs: number
  }) {
    this.#platform = parts.platform
    this.#store = parts.store
    this.#table = parts.table
    this.#window = parts.window
    this.#blocks = parts.blocks
    this.#parked = parts.parked
    this.#removals = parts.removals
    this.#memoryBytes = parts.memoryBytes
    this.#firedMs = parts.firedMs
  }

  get firedMs(): number {
    return this.#firedMs
  }

  get enqueuedCount(): number {
    return this.#enqueuedCount
  }

  /** The fire position never moves back. */
  moveFired(firedMs: number): void {
    this.#firedMs = Math.max(this.#firedMs, firedMs)
  }

  /** Takes in a message; returns its deliver time when it went to the window, else undefined. */
  apply(record: AppliedRecord, deliverTimeMs: number): number | undefined {
    this.#enqueuedCount++
    const timerId = record.commitLogOffset
    const nowMs = this.#platform.clock.timeMs()
    // A late one has no partition that would still be read, so it must fit, whatever the budget.
    const isLate = deliverTimeMs <= this.#firedMs
    const isNear = deliverTimeMs < nowMs + NEAR_MS
    const lane = isLate || isNear ? laneOf(record.source, record.position) : LANE_UNKNOWN
    if (!isLate && !(isNear && this.#window.hasRoomFor(lane))) {
      this.#file({ timerId, deliverTimeMs, recordBytes: record.sizeBytes }, record, 'arrival')
      return undefined
    }
    const slot = this.#window.add({
      deliverTimeMs,
      timerId,
      sizeBytes: record.sizeBytes,
      block: LOG_BLOCK,
      position: IN_LOG,
      lane,
    })
    this.#near.push(timerId, slot)
    return deliverTimeMs
  }

  /**
   * Takes in a message that recovery finds in the log again. Its bytes are in the scan's block
   * only, so they are copied at once; the loader brings what is near to the window.
   */
  applyAgain(record: AppliedRecord, deliverTimeMs: number): void {
    this.#enqueuedCount++
    const message = {
      timerId: record.commitLogOffset,
      deliverTimeMs,
      recordBytes: record.sizeBytes,
    }
    if (message.deliverTimeMs > this.#firedMs) {
      this.#file(message, record, 'arrival')
      return
    }
    this.#keepLate(message, record)
    this.#window.add({
      deliverTimeMs: message.deliverTimeMs,
      timerId: message.timerId,
      sizeBytes: message.recordBytes,
      block: PARKED_BLOCK,
      position: 0,
      lane: laneOf(record.source, record.position),
    })
  }

  /** Copies near arrivals that are about to leave the log's memory, while that is cheap. */
  keepUp(): void {
    const border = this.#store.endOffset - this.#memoryBytes
    while (this.#near.firstTimerId < border) {
      if (!this.#settleFirstFromMemory()) return
    }
  }

  /**
   * Copies what is near now, in steps, while other work goes on: little is left for `settle`.
   */
  async settleMost(): Promise<void> {
    let rest = this.#near.count
    while (rest > 0) {
      const steps = Math.min(rest, STEP_COUNT)
      for (let step = 0; step < steps; step++) if (!this.#settleFirstFromMemory()) return
      rest = Math.min(rest - steps, this.#near.count)
      await othersTurn(this.#platform.timers)
    }
  }

  /**
   * For a snapshot, while nothing fires: every near arrival is in a partition, parked, or has
   * fired when it resolves.
   */
  async settle(): Promise<void> {
    while (this.#near.count > 0) {
      if (!this.#settleFirstFromMemory()) await this.#settleFirstFromDisk()
    }
  }

  /**
   * Keeps a message that is in the window, or was claimed, and that only the log has: copies it to
   * its partition, or to the parked store when it is late. Returns its block.
   */
  keep(message: WaitingMessage, at: { source: Buffer; position: number }): number {
    if (message.deliverTimeMs <= this.#firedMs) {
      this.#keepLate(message, at)
      return LOG_BLOCK
    }
    const { chunk } = this.#file(message, at, 'direct')
    const direct = this.#direct.get(chunk) ?? { part: chunk.beginPart(), block: LOG_BLOCK }
    this.#direct.set(chunk, direct)
    // It is in the window already, so the loader must not take it in again.
    chunk.extendPart(direct.part)
    if (!this.#blocks.has(direct.block)) direct.block = this.#blocks.add(direct.part, undefined)
    return direct.block
  }

  /** The bytes of a message that the log has, from disk. */
  async readLog(message: WaitingMessage): Promise<Buffer> {
    const source = Buffer.allocUnsafe(message.recordBytes)
    const got = await this.#store.log.read(source, message.timerId)
    return source.subarray(0, got)
  }

  /** False when the log's memory has it no more. */
  #settleFirstFromMemory(): boolean {
    const message = this.#firstNear()
    if (message !== undefined) {
      const { log } = this.#store
      if (!log.isInMemory(message.timerId)) return false
      const at = { source: log.memory, position: log.memoryPosition(message.timerId) }
      this.#window.entries.moveToBlock(this.#near.firstSlot, this.keep(message, at))
    }
    this.#near.shift()
    return true
  }

  async #settleFirstFromDisk(): Promise<void> {
    const message = this.#firstNear()
    if (message === undefined) return
    const source = await this.readLog(message)
    // While it was read it may have been removed, and passed over.
    if (this.#firstNear()?.timerId !== message.timerId) return
    this.#window.entries.moveToBlock(
      this.#near.firstSlot,
      this.keep(message, { source, position: 0 }),
    )
    this.#near.shift()
  }

  /** Undefined when the oldest was claimed, perhaps kept and put back, or removed, or is none. */
  #firstNear(): WaitingMessage | undefined {
    const timerId = this.#near.firstTimerId
    const slot = this.#near.firstSlot
    if (timerId === Infinity || !this.#window.entries.holds(slot, timerId)) return undefined
    if (this.#window.entries.block(slot) !== LOG_BLOCK || this.#window.entries.isRemoved(slot))
      return undefined
    return {
      timerId,
      deliverTimeMs: this.#window.entries.deliverTimeMs(slot),
      recordBytes: this.#window.entries.sizeBytes(slot),
    }
  }

  #file(
    message: WaitingMessage,
    at: { readonly source: Buffer; readonly position: number },
    origin: ChunkOrigin,
  ): { readonly chunk: Chunk; readonly position: number } {
    const nowMs = this.#platform.clock.timeMs()
    const chunk = this.#table.chunkFor(this.#table.forNew(message.deliverTimeMs, nowMs), origin)
    const position = chunk.append(message, at.source, at.position, message.recordBytes)
    const { recordBytes } = message
    this.#removals.moved(message.timerId, { kind: 'chunk', chunk, position, recordBytes })
    return { chunk, position }
  }

  #keepLate(message: WaitingMessage, at: { source: Buffer; position: number }): void {
    this.#parked.keepLate({ ...message, source: at.source, position: at.position })
    this.#removals.moved(message.timerId, { kind: 'parked' })
  }
}

export interface WaitingMessage {
  readonly timerId: number
  readonly deliverTimeMs: number
  readonly recordBytes: number
}
