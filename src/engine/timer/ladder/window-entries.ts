import { grown } from '../grown.ts'
import type { Removal } from '../timer-record.ts'
import { LANE_COUNT } from './lane.ts'
import { SlotIndex } from './slot-index.ts'

/** In place of a slot: the end of a chain, or nothing. */
export const NONE = -1
/** In place of a size. */
const CANCELLED = 0
const MOVED = 0xffff_ffff
const CAPACITY_FIRST = 4096
/** A lane with more than this part of the window's bytes is heavy. */
const HEAVY_SHARE = 1 / 16

export interface WindowEntry {
  readonly deliverTimeMs: number
  readonly timerId: number
  /** Of the accept record. */
  readonly sizeBytes: number
  readonly block: number
  readonly position: number
  /** See `laneOf`. */
  readonly lane: number
}

/**
 * The messages of the window, in columns instead of objects: about 50 bytes each. Each has a slot,
 * and is in one chain of slots at a time, which others keep.
 */
export class WindowEntries {
  #capacity = CAPACITY_FIRST
  #dues = new Float64Array(CAPACITY_FIRST)
  #ids = new Float64Array(CAPACITY_FIRST)
  #sizes = new Uint32Array(CAPACITY_FIRST)
  #blocks = new Uint32Array(CAPACITY_FIRST)
  #positions = new Uint32Array(CAPACITY_FIRST)
  #lanes = new Uint16Array(CAPACITY_FIRST)
  #nexts = new Int32Array(CAPACITY_FIRST)
  #free = NONE
  #used = 0
  #count = 0
  #removedCount = 0
  /** Bytes of the records that are in the window, by lane, and of all. Removed ones are none. */
  readonly #laneBytes = new Float64Array(LANE_COUNT)
  #sumBytes = 0
  readonly #byId = new SlotIndex(slot => this.#ids[slot] ?? NONE)

  get count(): number {
    return this.#count
  }

  /** Of these, how many are only there until their time comes and they are passed over. */
  get removedCount(): number {
    return this.#removedCount
  }

  /** Whether much of what is in the window is of one lane, by the size of the messages. */
  isHeavy(lane: number): boolean {
    return (this.#laneBytes[lane] ?? 0) > this.#sumBytes * HEAVY_SHARE
  }

  /** Takes in an entry and returns its slot. It is in no chain. */
  add(entry: WindowEntry): number {
    const slot = this.#slot()
    this.#dues[slot] = entry.deliverTimeMs
    this.#ids[slot] = entry.timerId
    this.#sizes[slot] = entry.sizeBytes
    this.#blocks[slot] = entry.block
    this.#positions[slot] = entry.position
    this.#lanes[slot] = entry.lane
    this.#nexts[slot] = NONE
    this.#count++
    this.#countBytes(slot, 1)
    this.#byId.add(entry.timerId, slot)
    return slot
  }

  /** The slot is free after the call. */
  release(slot: number): void {
    if (this.isRemoved(slot)) this.#removedCount--
    else this.#countBytes(slot, -1)
    this.#byId.remove(this.#ids[slot] ?? NONE, slot)
    this.#ids[slot] = NONE
    this.#nexts[slot] = this.#free
    this.#free = slot
    this.#count--
  }

  /** The slot that holds a timer, or -1. */
  find(timerId: number): number {
    return this.#byId.find(timerId)
  }

  /** The entry stays, since links lead through it, and is passed over when it is due. */
  remove(slot: number, removal: Removal): void {
    if (this.isRemoved(slot)) return
    this.#countBytes(slot, -1)
    this.#sizes[slot] = removal === 'cancelled' ? CANCELLED : MOVED
    this.#removedCount++
  }

  isRemoved(slot: number): boolean {
    const size = this.#sizes[slot]
    return size === CANCELLED || size === MOVED
  }

  isCancelled(slot: number): boolean {
    return this.#sizes[slot] === CANCELLED
  }

  /** Whether the slot still holds this timer. */
  holds(slot: number, timerId: number): boolean {
    return this.#ids[slot] === timerId
  }

  deliverTimeMs(slot: number): number {
    return this.#dues[slot] ?? 0
  }

  timerId(slot: number): number {
    return this.#ids[slot] ?? 0
  }

  sizeBytes(slot: number): number {
    return this.#sizes[slot] ?? 0
  }

  /** Number of the block it belongs to, `LOG_BLOCK` or `PARKED_BLOCK`. */
  block(slot: number): number {
    return this.#blocks[slot] ?? 0
  }

  /** A copy of the message is in a chunk now. */
  moveToBlock(slot: number, block: number): void {
    this.#blocks[slot] = block
  }

  position(slot: number): number {
    return this.#positions[slot] ?? 0
  }

  lane(slot: number): number {
    return this.#lanes[slot] ?? 0
  }

  /** The next in the chain of this slot, or `NONE`. */
  next(slot: number): number {
    return this.#nexts[slot] ?? NONE
  }

  setNext(slot: number, next: number): void {
    this.#nexts[slot] = next
  }

  /** Shows the slots in use from number `from` on, of `countMax` numbers; returns where to go on. */
  visit(from: number, countMax: number, see: (slot: number) => void): number {
    const end = Math.min(this.#used, from + countMax)
    for (let slot = from; slot < end; slot++) if (this.#ids[slot] !== NONE) see(slot)
    return end
  }

  /** One more than the greatest slot number that was ever in use. */
  get slotCount(): number {
    return this.#used
  }

  /** Least timer id among the entries with this position that are not removed, or Infinity. */
  oldestAt(position: number): number {
    let oldest = Infinity
    for (let slot = 0; slot < this.#used; slot++) {
      const id = this.#ids[slot] ?? NONE
      if (id === NONE || id >= oldest || this.#positions[slot] !== position) continue
      if (!this.isRemoved(slot)) oldest = id
    }
    return oldest
  }

  #countBytes(slot: number, sign: 1 | -1): void {
    const bytes = sign * this.sizeBytes(slot)
    const lane = this.lane(slot)
    this.#laneBytes[lane] = (this.#laneBytes[lane] ?? 0) + bytes
    this.#sumBytes += bytes
  }

  #slot(): number {
    if (this.#free !== NONE) {
      const slot = this.#free
      this.#free = this.#nexts[slot] ?? NONE
      return slot
    }
    if (this.#used === this.#capacity) this.#grow()
    return this.#used++
  }

  #grow(): void {
    const capacity = this.#capacity * 2
    this.#dues = grown(this.#dues, new Float64Array(capacity))
    this.#ids = grown(this.#ids, new Float64Array(capacity))
    this.#sizes = grown(this.#sizes, new Uint32Array(capacity))
    this.#blocks = grown(this.#blocks, new Uint32Array(capacity))
    this.#positions = grown(this.#positions, new Uint32Array(capacity))
    this.#lanes = grown(this.#lanes, new Uint16Array(capacity))
    this.#nexts = grown(this.#nexts, new Int32Array(capacity))
    this.#capacity = capacity
  }
}
