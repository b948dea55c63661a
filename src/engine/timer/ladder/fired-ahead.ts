import { type LoadedPart, willBeOver } from '../chunk.ts'
import { grown } from '../grown.ts'

const CAPACITY_FIRST = 1024
/** About 1 MB in the manifest. */
const NAME_COUNT_MAX = 65_536
/** They are counted again after so many more. */
const COUNT_AGAIN = 8_192

export interface FiredMessage {
  readonly deliverTimeMs: number
  readonly timerId: number
}

/**
 * Messages of chunks that are done with although the fire position has not reached their deliver
 * time: another one, due earlier, still waits. A snapshot names them, or they would fire again
 * after a crash. Few, as a rule: what fires is nearly in the order of deliver times, and a part of
 * a chunk that is over as a whole needs no names.
 */
export class FiredAhead {
  #count = 0
  /** At most so many of these would be named by a snapshot now. */
  #nameCount = 0
  /** Where the fire position was at the last look. */
  #firedMs = 0
  /** How many there were when that was last counted. */
  #countedAt = 0
  #deliverTimesMs = new Float64Array(CAPACITY_FIRST)
  #timerIds = new Float64Array(CAPACITY_FIRST)
  #parts: LoadedPart[] = []
  /** Of the manifest that this process began with, until they are met in their chunk. */
  readonly #before = new Set<number>()

  /**
   * Timers that the last snapshot named. Not the same as the fired ids: one of these may be parked
   * and still have to be delivered from there.
   */
  load(timerIds: readonly number[]): void {
    for (const timerId of timerIds) this.#before.add(timerId)
  }

  /** True, once, for a message of a chunk that was done with before the restart. */
  take(timerId: number): boolean {
    return this.#before.size > 0 && this.#before.delete(timerId)
  }

  /** Named by the last snapshot, and not met yet. */
  get beforeCount(): number {
    return this.#before.size
  }

  /** Whether it is one of those that the last snapshot named. */
  has(timerId: number): boolean {
    return this.#before.has(timerId)
  }

  /** There are as many as a manifest should name: what is due earliest goes first now. */
  get isFull(): boolean {
    return this.#nameCount + this.#before.size >= NAME_COUNT_MAX
  }

  /** To be called from time to time: `firedMs` is where the fire position would be now. */
  look(firedMs: number): void {
    this.#firedMs = firedMs
    if (this.isFull && this.#count - this.#countedAt >= COUNT_AGAIN) this.#countNames()
  }

  push(message: FiredMessage, part: LoadedPart): void {
    const { deliverTimeMs, timerId } = message
    if (deliverTimeMs > this.#firedMs) this.#nameCount++
    if (this.#count === this.#timerIds.length) this.#grow()
    this.#deliverTimesMs[this.#count] = deliverTimeMs
    this.#timerIds[this.#count] = timerId
    this.#parts[this.#count] = part
    this.#count++
  }

  /** Forgets those due up to the fire position, or of parts that are over; returns the others. */
  settle(firedMs: number): number[] {
    const timerIds: number[] = [...this.#before]
    let kept = 0
    for (let index = 0; index < this.#count; index++) {
      const deliverTimeMs = this.#deliverTimesMs[index] ?? 0
      const timerId = this.#timerIds[index] ?? 0
      const part = this.#parts[index]
      if (part === undefined || part.isOver || deliverTimeMs <= firedMs) continue
      this.#deliverTimesMs[kept] = deliverTimeMs
      this.#timerIds[kept] = timerId
      this.#parts[kept] = part
      kept++
      timerIds.push(timerId)
    }
    this.#count = kept
    this.#nameCount = kept
    this.#countedAt = kept
    this.#parts.length = kept
    return timerIds
  }

  /**
   * Many were ahead when they fired and are not any more, or their part has no other one left, as
   * in a herd. All are kept: F may be earlier again.
   */
  #countNames(): void {
    let nameCount = 0
    let part: LoadedPart | undefined
    let isNamed = false
    for (let index = 0; index < this.#count; index++) {
      // Those of one part lie together.
      if (this.#parts[index] !== part) {
        part = this.#parts[index]
        isNamed = part !== undefined && !willBeOver(part)
      }
      if (isNamed && (this.#deliverTimesMs[index] ?? 0) > this.#firedMs) nameCount++
    }
    this.#nameCount = nameCount
    this.#countedAt = this.#count
  }

  #grow(): void {
    const capacity = this.#timerIds.length * 2
    this.#deliverTimesMs = grown(this.#deliverTimesMs, new Float64Array(capacity))
    this.#timerIds = grown(this.#timerIds, new Float64Array(capacity))
  }
}
