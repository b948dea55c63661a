import type { Removal } from '../timer-record.ts'
import { SlotIndex } from './slot-index.ts'

/** Width of the near part: one bucket a millisecond. A power of two. */
const NEAR_MS = 4096
const NEAR_MASK = NEAR_MS - 1
const BITMAP_WORDS = NEAR_MS / 32
const NONE = -1

/** Nothing but the commit log has the message: see `oldestInLog`. */
export const LOG_BLOCK = 0
/** Position of an entry whose bytes are in the commit log, at its timer id. */
export const IN_LOG = 0xffff_ffff
/** The bytes of an entry are in the parked store, under its timer id. */
export const PARKED_BLOCK = 0xffff_ffff
/** In place of a size. */
const CANCELLED = 0
const MOVED = 0xffff_ffff
const CAPACITY_FIRST = 4096

/** A chain of entries, oldest first. */
interface Chain {
  head: number
  tail: number
}

/**
 * What fires next, in memory: a timing wheel. The near 4 seconds have one bucket a millisecond;
 * later times lie in blocks of 4,096 ms that are spread over the buckets when their time comes.
 * Adding is O(1), and so is finding what is due, or one of them by its id. Columns instead of
 * objects: about 48 bytes an entry.
 *
 * An entry names where its bytes are: at a position in a loaded block, or in the commit log.
 */
export class Window {
  readonly #countMax: number
  #capacity = CAPACITY_FIRST
  #dues = new Float64Array(CAPACITY_FIRST)
  #ids = new Float64Array(CAPACITY_FIRST)
  #sizes = new Uint32Array(CAPACITY_FIRST)
  #blocks = new Uint32Array(CAPACITY_FIRST)
  #positions = new Uint32Array(CAPACITY_FIRST)
  #nexts = new Int32Array(CAPACITY_FIRST)
  #free = NONE
  #used = 0
  #count = 0
  #removedCount = 0
  readonly #byId = new SlotIndex(slot => this.#ids[slot] ?? NONE)
  readonly #near: Int32Array = new Int32Array(NEAR_MS).fill(NONE)
  readonly #nearTails: Int32Array = new Int32Array(NEAR_MS).fill(NONE)
  readonly #bitmap = new Uint32Array(BITMAP_WORDS)
  readonly #far = new Map<number, Chain>()
  #farMin = Infinity
  /** Bucket that is known to be in order; NONE for none. */
  #sortedBucket = NONE
  /** Number of the 4,096-ms block that the buckets stand for. */
  #block: number
  /** No entry is due before this. */
  #cursorMs: number

  constructor(nowMs: number, countMax: number) {
    this.#countMax = countMax
    this.#cursorMs = nowMs
    this.#block = Math.floor(nowMs / NEAR_MS)
  }

  get count(): number {
    return this.#count
  }

  /** Of these, how many are only there until their time comes and they are passed over. */
  get removedCount(): number {
    return this.#removedCount
  }

  get isFull(): boolean {
    return this.#count >= this.#countMax
  }

  /** Takes in an entry and returns its slot, which stays valid until it is taken. */
  add(entry: WindowEntry): number {
    const slot = this.#slot()
    this.#dues[slot] = entry.deliverTimeMs
    this.#ids[slot] = entry.timerId
    this.#sizes[slot] = entry.sizeBytes
    this.#blocks[slot] = entry.block
    this.#positions[slot] = entry.position
    this.#count++
    this.#byId.add(entry.timerId, slot)
    this.#link(slot)
    return slot
  }

  /** The slot that holds a timer, or -1. */
  find(timerId: number): number {
    return this.#byId.find(timerId)
  }

  /** The entry stays, since links lead through it, and is passed over when it is due. */
  remove(slot: number, removal: Removal): void {
    if (this.isRemoved(slot)) return
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

  /** Least timer id among the entries that are read from the log; Infinity when there is none. */
  oldestInLog(): number {
    let oldest = Infinity
    for (let slot = 0; slot < this.#used; slot++) {
      const id = this.#ids[slot] ?? NONE
      if (id !== NONE && !this.isRemoved(slot) && this.#positions[slot] === IN_LOG && id < oldest)
        oldest = id
    }
    return oldest
  }

  /** Deliver time of the earliest entry; Infinity when empty. */
  nextDueMs(): number {
    const near = this.#nextNear(this.#cursorMs & NEAR_MASK)
    if (near !== NONE) return this.#block * NEAR_MS + near
    if (this.#farMin === Infinity) return Infinity
    return this.#minOfChain(this.#far.get(this.#farMin))
  }

  /**
   * Takes out entries due at `nowMs` or before, earliest first, in order of their ids within a
   * millisecond, up to about `countMax`. `claim` gets each slot, which is free after the call.
   */
  takeDue(nowMs: number, countMax: number, claim: (slot: number) => void): number {
    let taken = 0
    while (taken < countMax) {
      const dueMs = this.#advance(nowMs)
      if (dueMs === undefined) break
      taken += this.#takeBucket(dueMs & NEAR_MASK, countMax - taken, claim)
    }
    return taken
  }

  /** Moves the cursor to the next bucket with entries that are due; undefined when none is. */
  #advance(nowMs: number): number | undefined {
    for (;;) {
      const index = this.#nextNear(this.#cursorMs & NEAR_MASK)
      if (index !== NONE) {
        const dueMs = this.#block * NEAR_MS + index
        if (dueMs > nowMs) {
          this.#cursorMs = Math.max(this.#cursorMs, Math.min(nowMs, dueMs))
          return undefined
        }
        this.#cursorMs = dueMs
        return dueMs
      }
      const nowBlock = Math.floor(nowMs / NEAR_MS)
      if (nowBlock <= this.#block) {
        this.#cursorMs = Math.max(this.#cursorMs, nowMs)
        return undefined
      }
      this.#enterBlock(Math.min(nowBlock, this.#farMin))
    }
  }

  /** Makes the buckets stand for another block and spreads its entries over them. */
  #enterBlock(block: number): void {
    this.#block = block
    this.#cursorMs = block * NEAR_MS
    const chain = this.#far.get(block)
    if (chain !== undefined) this.#spread(block, chain)
  }

  #spread(block: number, chain: Chain): void {
    this.#far.delete(block)
    this.#farMin = this.#minKey()
    let slot = chain.head
    while (slot !== NONE) {
      const next = this.#nexts[slot] ?? NONE
      this.#linkNear(slot, (this.#dues[slot] ?? 0) & NEAR_MASK)
      slot = next
    }
  }

  #takeBucket(index: number, countMax: number, claim: (slot: number) => void): number {
    if (this.#sortedBucket !== index) this.#sortBucket(index)
    let count = 0
    let slot = this.#near[index] ?? NONE
    while (slot !== NONE && count < countMax) {
      const next = this.#nexts[slot] ?? NONE
      claim(slot)
      this.#release(slot)
      slot = next
      count++
    }
    this.#near[index] = slot
    if (slot === NONE) this.#clearBucket(index)
    return count
  }

  /** Brings a bucket into the order of timer ids, in which arrivals mostly are already. */
  #sortBucket(index: number): void {
    if (!this.#isInOrder(index)) {
      const slots: number[] = []
      for (let slot = this.#near[index] ?? NONE; slot !== NONE; slot = this.#nexts[slot] ?? NONE) {
        slots.push(slot)
      }
      slots.sort((a, b) => (this.#ids[a] ?? 0) - (this.#ids[b] ?? 0))
      this.#clearBucket(index)
      for (const slot of slots) this.#linkNear(slot, index)
    }
    this.#sortedBucket = index
  }

  #isInOrder(index: number): boolean {
    let previousId = -Infinity
    for (let slot = this.#near[index] ?? NONE; slot !== NONE; slot = this.#nexts[slot] ?? NONE) {
      const id = this.#ids[slot] ?? 0
      if (id < previousId) return false
      previousId = id
    }
    return true
  }

  #clearBucket(index: number): void {
    this.#near[index] = NONE
    this.#nearTails[index] = NONE
    const word = index >>> 5
    this.#bitmap[word] = (this.#bitmap[word] ?? 0) & ~(1 << (index & 31))
    if (this.#sortedBucket === index) this.#sortedBucket = NONE
  }

  #link(slot: number): void {
    const dueMs = this.#dues[slot] ?? 0
    if (dueMs < this.#cursorMs) this.#rewind(dueMs)
    const block = Math.floor(dueMs / NEAR_MS)
    if (block === this.#block) this.#linkNear(slot, dueMs & NEAR_MASK)
    else this.#linkFar(slot, block)
  }

  /** An entry is due before the cursor: late, or the clock went back. It goes first. */
  #rewind(dueMs: number): void {
    this.#cursorMs = dueMs
    const block = Math.floor(dueMs / NEAR_MS)
    if (block === this.#block) return
    const left = this.#block
    this.#block = block
    for (let index = this.#nextNear(0); index !== NONE; index = this.#nextNear(index)) {
      let slot = this.#near[index] ?? NONE
      this.#clearBucket(index)
      while (slot !== NONE) {
        const next = this.#nexts[slot] ?? NONE
        this.#linkFar(slot, left)
        slot = next
      }
    }
    const chain = this.#far.get(block)
    if (chain !== undefined) this.#spread(block, chain)
  }

  #linkFar(slot: number, block: number): void {
    this.#nexts[slot] = NONE
    const chain = this.#far.get(block)
    if (chain === undefined) {
      this.#far.set(block, { head: slot, tail: slot })
      if (block < this.#farMin) this.#farMin = block
    } else {
      this.#nexts[chain.tail] = slot
      chain.tail = slot
    }
  }

  #linkNear(slot: number, index: number): void {
    this.#nexts[slot] = NONE
    const tail = this.#nearTails[index] ?? NONE
    if (tail === NONE) this.#near[index] = slot
    else this.#nexts[tail] = slot
    const isBehind = tail !== NONE && (this.#ids[slot] ?? 0) < (this.#ids[tail] ?? 0)
    if (isBehind && this.#sortedBucket === index) this.#sortedBucket = NONE
    this.#nearTails[index] = slot
    const word = index >>> 5
    this.#bitmap[word] = (this.#bitmap[word] ?? 0) | (1 << (index & 31))
  }

  /** First bucket with entries from `from` on, or NONE. */
  #nextNear(from: number): number {
    let word = from >>> 5
    let bits = (this.#bitmap[word] ?? 0) & (0xffff_ffff << (from & 31))
    for (;;) {
      if (bits !== 0) return word * 32 + (31 - Math.clz32(bits & -bits))
      word++
      if (word === BITMAP_WORDS) return NONE
      bits = this.#bitmap[word] ?? 0
    }
  }

  #minOfChain(chain: Chain | undefined): number {
    let min = Infinity
    let slot = chain?.head ?? NONE
    while (slot !== NONE) {
      min = Math.min(min, this.#dues[slot] ?? Infinity)
      slot = this.#nexts[slot] ?? NONE
    }
    return min
  }

  #minKey(): number {
    let min = Infinity
    for (const key of this.#far.keys()) if (key < min) min = key
    return min
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

  #release(slot: number): void {
    if (this.isRemoved(slot)) this.#removedCount--
    this.#byId.remove(this.#ids[slot] ?? NONE, slot)
    this.#ids[slot] = NONE
    this.#nexts[slot] = this.#free
    this.#free = slot
    this.#count--
  }

  #grow(): void {
    const capacity = this.#capacity * 2
    this.#dues = grown(this.#dues, new Float64Array(capacity))
    this.#ids = grown(this.#ids, new Float64Array(capacity))
    this.#sizes = grown(this.#sizes, new Uint32Array(capacity))
    this.#blocks = grown(this.#blocks, new Uint32Array(capacity))
    this.#positions = grown(this.#positions, new Uint32Array(capacity))
    this.#nexts = grown(this.#nexts, new Int32Array(capacity))
    this.#capacity = capacity
  }
}

export interface WindowEntry {
  readonly deliverTimeMs: number
  readonly timerId: number
  /** Of the accept record. */
  readonly sizeBytes: number
  readonly block: number
  readonly position: number
}

function grown<Column extends Float64Array | Uint32Array | Int32Array>(
  from: Column,
  to: Column,
): Column {
  to.set(from)
  return to
}
