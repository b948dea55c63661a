import type { Platform } from '../../../core/platform/index.ts'
import type { AppliedRecord, Store } from '../../store/index.ts'
import type { Chunk } from '../chunk.ts'
import type { ParkedStore } from '../parked/parked-store.ts'
import { NearArrivals } from './near-arrivals.ts'
import type { ChunkOrigin } from './partition.ts'
import type { PartitionTable } from './partition-table.ts'
import { LOG_BLOCK, PARKED_BLOCK, type Window } from './window.ts'

/** What is due within this time goes straight to the window. */
export const NEAR_MS = 5_000

/**
 * Where an accepted message goes when it is applied: near ones to the window, as a reference to
 * the log; all others, whole, to the partition that covers their deliver time.
 */
export class Materializer {
  readonly #platform: Platform
  readonly #store: Store
  readonly #table: PartitionTable
  readonly #window: Window
  readonly #parked: ParkedStore
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
    parked: ParkedStore
    memoryBytes: number
    firedMs: number
  }) {
    this.#platform = parts.platform
    this.#store = parts.store
    this.#table = parts.table
    this.#window = parts.window
    this.#parked = parts.parked
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
  apply(record: AppliedRecord): number | undefined {
    this.#enqueuedCount++
    const deliverTimeMs = record.tagsCode
    const timerId = record.commitLogOffset
    const nowMs = this.#platform.clock.timeMs()
    // A late one has no partition that would still be read, so it must fit, whatever the budget.
    const isLate = deliverTimeMs <= this.#firedMs
    const isNear = deliverTimeMs < nowMs + NEAR_MS && !this.#window.isFull
    if (!isLate && !isNear) {
      this.#file({ timerId, deliverTimeMs, recordBytes: record.sizeBytes }, record, 'arrival')
      return undefined
    }
    const slot = this.#window.add({
      deliverTimeMs,
      timerId,
      sizeBytes: record.sizeBytes,
      block: LOG_BLOCK,
      position: 0,
    })
    this.#near.push(timerId, slot)
    return deliverTimeMs
  }

  /**
   * Takes in a message that recovery finds in the log again. Its bytes are in the scan's block
   * only, so they are copied at once; the loader brings what is near to the window.
   */
  applyAgain(record: AppliedRecord): void {
    this.#enqueuedCount++
    const message = {
      timerId: record.commitLogOffset,
      deliverTimeMs: record.tagsCode,
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
    })
  }

  /** Copies near arrivals that are about to leave the log's memory, while that is cheap. */
  keepUp(): void {
    const border = this.#store.endOffset - this.#memoryBytes
    while (this.#near.firstTimerId < border) {
      if (!this.#store.log.isInMemory(this.#near.firstTimerId)) return
      this.#settleFirstFromMemory()
    }
  }

  /**
   * For a snapshot, while nothing fires: every near arrival is in a partition, parked, or has
   * fired when it resolves.
   */
  async settle(): Promise<void> {
    while (this.#near.count > 0) {
      if (this.#store.log.isInMemory(this.#near.firstTimerId)) this.#settleFirstFromMemory()
      else await this.#settleFirstFromDisk()
    }
  }

  /** As `settle`, for a message that was claimed and that the log is too busy to take. */
  async keepClaimed(message: WaitingMessage): Promise<void> {
    const source = Buffer.allocUnsafe(message.recordBytes)
    await this.#store.log.read(source, message.timerId)
    this.#keep(message, { source, position: 0 })
  }

  #settleFirstFromMemory(): void {
    const message = this.#takeFirst()
    if (message === undefined) return
    const position = this.#store.log.memoryPosition(message.timerId)
    this.#keep(message, { source: this.#store.log.memory, position })
  }

  async #settleFirstFromDisk(): Promise<void> {
    const message = this.#takeFirst()
    if (message !== undefined) await this.keepClaimed(message)
  }

  /** Undefined when it has fired. */
  #takeFirst(): WaitingMessage | undefined {
    const timerId = this.#near.firstTimerId
    const slot = this.#near.firstSlot
    this.#near.shift()
    if (!this.#window.holds(slot, timerId)) return undefined
    return {
      timerId,
      deliverTimeMs: this.#window.deliverTimeMs(slot),
      recordBytes: this.#window.sizeBytes(slot),
    }
  }

  /** It is in the window already, so the loader must not take it in again. */
  #keep(message: WaitingMessage, at: { source: Buffer; position: number }): void {
    if (message.deliverTimeMs <= this.#firedMs) this.#keepLate(message, at)
    else this.#file(message, at, 'direct').markTaken()
  }

  #file(
    message: WaitingMessage,
    at: { readonly source: Buffer; readonly position: number },
    origin: ChunkOrigin,
  ): Chunk {
    const nowMs = this.#platform.clock.timeMs()
    const chunk = this.#table.chunkFor(this.#table.forNew(message.deliverTimeMs, nowMs), origin)
    chunk.append(message, at.source, at.position, message.recordBytes)
    return chunk
  }

  #keepLate(message: WaitingMessage, at: { source: Buffer; position: number }): void {
    this.#parked.keepLate({ ...message, source: at.source, position: at.position })
  }
}

interface WaitingMessage {
  readonly timerId: number
  readonly deliverTimeMs: number
  readonly recordBytes: number
}
