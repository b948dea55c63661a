import type { Store } from '../../../store/index.ts'
import type { Chunk } from '../../chunk.ts'
import type { FiredIds } from '../../fired-ids.ts'
import type { ParkedStore } from '../../parked/parked-store.ts'
import type { PendingRemovals } from '../../pending-removals.ts'
import type { RecoveredRemovals } from '../../recovered-removals.ts'
import { timerDeliverTimeMs, timerIdOf, timerMark } from '../../timer-record.ts'
import type { FiredAhead } from '../fired-ahead.ts'
import type { LoadedBlocks } from '../loaded-blocks.ts'
import { IN_LOG, LOG_BLOCK, PARKED_BLOCK, type Window } from '../window.ts'

const NO_TIMER = -1

/** Bytes in memory, until the next turn of the loop. */
export interface BytesAt {
  readonly source: Buffer
  readonly position: number
}

/**
 * Which of the messages that lie in the window, in chunks and in the parked store wait, and which
 * are only left over there; and their accept records.
 */
export class WaitingMessages {
  readonly #store: Store
  readonly #window: Window
  readonly #blocks: LoadedBlocks
  readonly #parked: ParkedStore
  readonly #removals: PendingRemovals
  readonly #recovered: RecoveredRemovals
  readonly #fired: FiredIds
  readonly #ahead: FiredAhead
  readonly #isLeft: (deliverTimeMs: number, timerId: number) => boolean

  constructor(parts: {
    store: Store
    window: Window
    blocks: LoadedBlocks
    parked: ParkedStore
    removals: PendingRemovals
    recovered: RecoveredRemovals
    fired: FiredIds
    ahead: FiredAhead
    /** What a chunk has of such a message is left over: it was done with there. */
    isLeft: (deliverTimeMs: number, timerId: number) => boolean
  }) {
    this.#store = parts.store
    this.#window = parts.window
    this.#blocks = parts.blocks
    this.#parked = parts.parked
    this.#removals = parts.removals
    this.#recovered = parts.recovered
    this.#fired = parts.fired
    this.#ahead = parts.ahead
    this.#isLeft = parts.isLeft
  }

  /**
   * Whether the chunk may count messages that only seem to wait in it: after a crash, for a while;
   * and where it was begun before a start, until the clock has come to where it was.
   */
  mayCountLeftOvers(chunk: Chunk): boolean {
    if (this.#recovered.count + this.#fired.count + this.#ahead.beforeCount > 0) return true
    return this.#isLeft(chunk.dueMinMs, NO_TIMER)
  }

  /** Of a slot of the window. */
  waitsInWindow(slot: number): boolean {
    if (this.#window.entries.isRemoved(slot)) return false
    const timerId = this.#window.entries.timerId(slot)
    if (!this.waits(timerId)) return false
    const block = this.#window.entries.block(slot)
    if (block === LOG_BLOCK || block === PARKED_BLOCK) return true
    return !this.#isLeft(this.#window.entries.deliverTimeMs(slot), timerId)
  }

  /** Of a timer record that was read from a chunk. */
  waitsInChunk(source: Buffer, at: number): boolean {
    if (this.isMarkedInChunk(source, at)) return false
    const timerId = timerIdOf(source, at)
    return this.waits(timerId) && !this.#isLeft(timerDeliverTimeMs(source, at), timerId)
  }

  /** Of a timer record that was read from a chunk: it is marked as removed by now. */
  isMarkedInChunk(source: Buffer, at: number): boolean {
    if (timerMark(source, at) !== 'waits') return true
    // Its mark was made after the read had begun.
    return this.#removals.find(timerIdOf(source, at))?.isApplied === true
  }

  /** Recovery knows what became of it, and who carries that out counts it. */
  isRecovered(timerId: number): boolean {
    return this.#recovered.find(timerId) !== undefined
  }

  /** Of a message in the parked store, or any: false when recovery has found what became of it. */
  waits(timerId: number): boolean {
    return this.#recovered.find(timerId) === undefined && !this.#fired.has(timerId)
  }

  /** The accept record of a slot of the window; undefined when it is not in memory. */
  inMemory(slot: number): BytesAt | undefined {
    const position = this.#window.entries.position(slot)
    if (position === IN_LOG) {
      const { log } = this.#store
      const timerId = this.#window.entries.timerId(slot)
      if (!log.isInMemory(timerId)) return undefined
      return { source: log.memory, position: log.memoryPosition(timerId) }
    }
    const block = this.#window.entries.block(slot)
    if (block === PARKED_BLOCK) return undefined
    return { source: this.#blocks.bytesOf(block), position }
  }

  /** A copy of an accept record that was not in memory; undefined when the message has gone. */
  async fromDisk(timerId: number): Promise<Buffer | undefined> {
    return (await this.#parked.readWaiting(timerId)) ?? (await this.#store.readRecord(timerId))
  }
}
