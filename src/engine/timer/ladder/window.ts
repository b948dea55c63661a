import { type OverdueBound, type Taken, type TakeLimits, TopicLanes } from './topic-lanes.ts'
import { NONE, WindowEntries, type WindowEntry } from './window-entries.ts'

/** Width of the near part: one bucket a millisecond. A power of two. */
const NEAR_MS = 4096
const NEAR_MASK = NEAR_MS - 1
const BITMAP_WORDS = NEAR_MS / 32
/** Part of the room that only topics with little in the window may use. */
const RESERVE = 1 / 8

/** Nothing but the commit log has the message: see `oldestInLog`. */
export const LOG_BLOCK = 0
/** Position of an entry whose bytes are in the commit log, at its timer id. */
export const IN_LOG = 0xffff_ffff
/** The bytes of an entry are in the parked store, under its timer id. */
export const PARKED_BLOCK = 0xffff_ffff

const NOTHING_OVERDUE: OverdueBound = { untilMs: -Infinity }

/** A chain of entries, oldest first. */
interface Chain {
  head: number
  tail: number
}

/**
 * What fires next, in memory: a timing wheel. The near 4 seconds have one bucket a millisecond;
 * later times lie in blocks of 4,096 ms that are spread over the buckets when their time comes.
 * What is due moves on to a chain for each topic, from which it is taken by turns. Adding is O(1),
 * and so are moving on, taking, and finding one by its id.
 *
 * An entry names where its bytes are: at a position in a loaded block, or in the commit log.
 */
export class Window {
  readonly #countMax: number
  readonly #entries = new WindowEntries()
  readonly #near: Int32Array = new Int32Array(NEAR_MS).fill(NONE)
  readonly #nearTails: Int32Array = new Int32Array(NEAR_MS).fill(NONE)
  readonly #bitmap = new Uint32Array(BITMAP_WORDS)
  readonly #far = new Map<number, Chain>()
  #farMin = Infinity
  /** Messages that are due, by topic. */
  readonly #lanes: TopicLanes
  /** No message in the lanes is due after this. */
  #gatheredMs = -Infinity
  /** Number of the 4,096-ms block that the buckets stand for. */
  #block: number
  /** No entry in a bucket or block is due before this. */
  #cursorMs: number

  constructor(nowMs: number, countMax: number, overdue: OverdueBound = NOTHING_OVERDUE) {
    this.#countMax = countMax
    this.#lanes = new TopicLanes(this.#entries, overdue)
    this.#cursorMs = nowMs
    this.#block = Math.floor(nowMs / NEAR_MS)
  }

  /** See `WindowEntries`. */
  get entries(): Omit<WindowEntries, 'add' | 'release' | 'setNext'> {
    return this.#entries
  }

  get count(): number {
    return this.#entries.count
  }

  /** It takes only messages of topics that have little in it. */
  get isFull(): boolean {
    return this.count >= this.#countMax * (1 - RESERVE)
  }

  /** It takes what is not overdue. */
  get isHalfFull(): boolean {
    return this.count >= this.#countMax / 2
  }

  /** It takes no message, whatever its topic. */
  get isCrammed(): boolean {
    return this.count >= this.#countMax
  }

  /** Whether there is room for a message of this lane: one with little in the window has a reserve. */
  hasRoomFor(lane: number): boolean {
    if (!this.isFull) return true
    return !this.isCrammed && !this.#entries.isHeavy(lane)
  }

  /** Takes in an entry and returns its slot, which stays valid until it is taken. */
  add(entry: WindowEntry): number {
    const slot = this.#entries.add(entry)
    this.#link(slot)
    return slot
  }

  /** Least timer id among the entries that are read from the log; Infinity when there is none. */
  oldestInLog(): number {
    return this.#entries.oldestAt(IN_LOG)
  }

  /** When there is something to take, beside what is overdue; Infinity when there is nothing. */
  nextDueMs(): number {
    return this.#lanes.hasLive ? this.#gatheredMs : this.#nextWaitingMs()
  }

  /** Something waits that is overdue. */
  get hasOverdue(): boolean {
    return this.#lanes.hasOverdue
  }

  /** No entry is due before this: mostly the earliest deliver time. Infinity when empty. */
  earliestDueMs(): number {
    return Math.min(this.#nextWaitingMs(), this.#lanes.earliestDueMs())
  }

  /**
   * Takes out entries due at `nowMs` or before: of each topic by deliver time and id, and the
   * topics by turns. `claim` gets each slot, which is free after the call.
   */
  takeDue(nowMs: number, limits: TakeLimits, claim: (slot: number) => void): Taken {
    if (nowMs < this.#gatheredMs) this.#ungather()
    for (;;) {
      const dueMs = this.#advance(nowMs)
      if (dueMs === undefined) break
      this.#gatherBucket(dueMs & NEAR_MASK)
    }
    this.#gatheredMs = nowMs
    return this.#lanes.take(limits, claim)
  }

  /** The clock went back: what was due waits again. */
  #ungather(): void {
    this.#lanes.drain(slot => this.#link(slot))
  }

  /** Deliver time of the earliest that is in no lane. */
  #nextWaitingMs(): number {
    const near = this.#nextNear(this.#cursorMs & NEAR_MASK)
    if (near !== NONE) return this.#block * NEAR_MS + near
    if (this.#farMin === Infinity) return Infinity
    return this.#minOfChain(this.#far.get(this.#farMin))
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
      const next = this.#entries.next(slot)
      this.#linkNear(slot, this.#entries.deliverTimeMs(slot) & NEAR_MASK)
      slot = next
    }
  }

  /** Puts all of a bucket into the lanes, in the order of timer ids. */
  #gatherBucket(index: number): void {
    if (!this.#isInOrder(index)) this.#sortBucket(index)
    let slot = this.#near[index] ?? NONE
    this.#clearBucket(index)
    while (slot !== NONE) {
      const next = this.#entries.next(slot)
      this.#lanes.append(slot)
      slot = next
    }
  }

  #sortBucket(index: number): void {
    const slots: number[] = []
    for (let slot = this.#near[index] ?? NONE; slot !== NONE; slot = this.#entries.next(slot)) {
      slots.push(slot)
    }
    slots.sort((a, b) => this.#entries.timerId(a) - this.#entries.timerId(b))
    this.#clearBucket(index)
    for (const slot of slots) this.#linkNear(slot, index)
  }

  /** Arrivals mostly are. */
  #isInOrder(index: number): boolean {
    let previousId = -Infinity
    for (let slot = this.#near[index] ?? NONE; slot !== NONE; slot = this.#entries.next(slot)) {
      const id = this.#entries.timerId(slot)
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
  }

  #link(slot: number): void {
    const dueMs = this.#entries.deliverTimeMs(slot)
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
        const next = this.#entries.next(slot)
        this.#linkFar(slot, left)
        slot = next
      }
    }
    const chain = this.#far.get(block)
    if (chain !== undefined) this.#spread(block, chain)
  }

  #linkFar(slot: number, block: number): void {
    this.#entries.setNext(slot, NONE)
    const chain = this.#far.get(block)
    if (chain === undefined) {
      this.#far.set(block, { head: slot, tail: slot })
      if (block < this.#farMin) this.#farMin = block
    } else {
      this.#entries.setNext(chain.tail, slot)
      chain.tail = slot
    }
  }

  #linkNear(slot: number, index: number): void {
    this.#entries.setNext(slot, NONE)
    const tail = this.#nearTails[index] ?? NONE
    if (tail === NONE) this.#near[index] = slot
    else this.#entries.setNext(tail, slot)
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
      min = Math.min(min, this.#entries.deliverTimeMs(slot))
      slot = this.#entries.next(slot)
    }
    return min
  }

  #minKey(): number {
    let min = Infinity
    for (const key of this.#far.keys()) if (key < min) min = key
    return min
  }
}
