import { grown } from '../grown.ts'
import { SlotIndex } from '../ladder/slot-index.ts'

/** Where a parked message lies. */
export interface ParkedPlace {
  readonly timerId: number
  readonly deliverTimeMs: number
  readonly chunkNumber: number
  /** Of the timer record in its chunk. */
  readonly position: number
  /** Of the accept record, without the header of the chunk. */
  readonly recordBytes: number
}

/** No slot. */
export const NONE = -1

const CAPACITY_FIRST = 1_024

/**
 * Places of all messages that their topics refuse, in columns of typed arrays, found by timer id.
 * Each slot has a neighbour before and behind it in the list of its queue. About 50 bytes each.
 */
export class ParkedTable {
  #slotCount = 0
  #firstFree = NONE
  #timerIds = new Float64Array(CAPACITY_FIRST)
  #deliverTimesMs = new Float64Array(CAPACITY_FIRST)
  #chunkNumbers = new Uint32Array(CAPACITY_FIRST)
  #positions = new Uint32Array(CAPACITY_FIRST)
  #recordBytes = new Uint32Array(CAPACITY_FIRST)
  #before = new Int32Array(CAPACITY_FIRST)
  #behind = new Int32Array(CAPACITY_FIRST)
  readonly #index = new SlotIndex(slot => this.#timerIds[slot] ?? 0)

  /** Returns the slot; its neighbours are for the caller to set. */
  add(place: ParkedPlace): number {
    const slot = this.#takeSlot()
    this.#timerIds[slot] = place.timerId
    this.#deliverTimesMs[slot] = place.deliverTimeMs
    this.#chunkNumbers[slot] = place.chunkNumber
    this.#positions[slot] = place.position
    this.#recordBytes[slot] = place.recordBytes
    this.#index.add(place.timerId, slot)
    return slot
  }

  /** The slot of a timer, or `NONE`. */
  find(timerId: number): number {
    return this.#index.find(timerId)
  }

  /** To be called for a slot that is in no list any more. */
  remove(slot: number): void {
    this.#index.remove(this.timerId(slot), slot)
    this.#behind[slot] = this.#firstFree
    this.#firstFree = slot
  }

  at(slot: number): ParkedPlace {
    return {
      timerId: this.timerId(slot),
      deliverTimeMs: this.deliverTimeMs(slot),
      chunkNumber: this.#chunkNumbers[slot] ?? 0,
      position: this.#positions[slot] ?? 0,
      recordBytes: this.#recordBytes[slot] ?? 0,
    }
  }

  timerId(slot: number): number {
    return this.#timerIds[slot] ?? 0
  }

  deliverTimeMs(slot: number): number {
    return this.#deliverTimesMs[slot] ?? 0
  }

  before(slot: number): number {
    return this.#before[slot] ?? NONE
  }

  behind(slot: number): number {
    return this.#behind[slot] ?? NONE
  }

  /** Makes them neighbours; either may be `NONE`. */
  join(before: number, behind: number): void {
    if (before !== NONE) this.#behind[before] = behind
    if (behind !== NONE) this.#before[behind] = before
  }

  #takeSlot(): number {
    const free = this.#firstFree
    if (free !== NONE) {
      this.#firstFree = this.behind(free)
      return free
    }
    if (this.#slotCount === this.#timerIds.length) this.#grow()
    return this.#slotCount++
  }

  #grow(): void {
    const capacity = this.#slotCount * 2
    this.#timerIds = grown(this.#timerIds, new Float64Array(capacity))
    this.#deliverTimesMs = grown(this.#deliverTimesMs, new Float64Array(capacity))
    this.#chunkNumbers = grown(this.#chunkNumbers, new Uint32Array(capacity))
    this.#positions = grown(this.#positions, new Uint32Array(capacity))
    this.#recordBytes = grown(this.#recordBytes, new Uint32Array(capacity))
    this.#before = grown(this.#before, new Int32Array(capacity))
    this.#behind = grown(this.#behind, new Int32Array(capacity))
  }
}
