import { LANE_COUNT } from './lane.ts'
import { NONE, type WindowEntries } from './window-entries.ts'

/** What is overdue has one lane for all topics. */
const OVERDUE = LANE_COUNT
/** Bytes that a topic gets in one turn. */
const QUANTUM_BYTES = 64 * 1024

/** What is due of one topic, in the order of delivery. Never empty. */
class Lane {
  readonly number: number
  head: number
  tail: number
  /** What its turns have given it and it has not used. */
  creditBytes = 0
  /** It has been given its quantum for the turn that is under way. */
  hasTurn = false
  readonly #late = new LateEntries()
  /** Those that came when there were some already, until these are taken. */
  readonly #later = new LateEntries()
  /** The lane that has its turn after this one: a ring. */
  following: Lane = this

  constructor(number: number, slot: number) {
    this.number = number
    this.head = slot
    this.tail = slot
  }

  /** Nothing in it is due before this; may be too early while some came in late. */
  earliestMs(headDueMs: number): number {
    return Math.min(headDueMs, this.#late.earliestMs, this.#later.earliestMs)
  }

  /** The new tail is due before the one in front of it. */
  addLate(slot: number, dueMs: number): void {
    const late = this.#late.lastSlot === NONE ? this.#late : this.#later
    late.earliestMs = Math.min(late.earliestMs, dueMs)
    late.lastSlot = slot
  }

  /** It is not in the lane any more, and neither is what was in front of it. */
  taken(slot: number): void {
    const late = this.#late
    if (slot !== late.lastSlot) return
    const later = this.#later
    late.earliestMs = later.earliestMs
    late.lastSlot = later.lastSlot
    later.earliestMs = Infinity
    later.lastSlot = NONE
  }
}

/** Some entries of a lane that are due before the ones in front of them, since they came later. */
class LateEntries {
  earliestMs = Infinity
  lastSlot = NONE
}

export interface OverdueBound {
  /** What is due at or before this is overdue. */
  readonly untilMs: number
}

export interface Taken {
  readonly count: number
  /** Of these, so many were overdue. */
  readonly overdueCount: number
}

export interface TakeLimits {
  readonly countMax: number
  /** Reached by the last one, which may be larger. */
  readonly bytesMax: number
  /** Most overdue messages. */
  readonly overdueCountMax: number
  /** Not by turns: always from the lane whose first message is due earliest. */
  readonly isEarliestFirst: boolean
}

/**
 * Messages of the window that are due, chained by topic, and whose turn it is: deficit round robin,
 * so that a topic with many of them holds up the others by one quantum for each topic, whatever
 * their sizes.
 */
export class TopicLanes {
  readonly #entries: WindowEntries
  readonly #overdue: OverdueBound
  readonly #lanes = new Map<number, Lane>()
  /** Had its turn last: the one that follows is next. */
  #last: Lane | undefined

  /** What is overdue when it comes in keeps one order. */
  constructor(entries: WindowEntries, overdue: OverdueBound) {
    this.#entries = entries
    this.#overdue = overdue
  }

  get isEmpty(): boolean {
    return this.#last === undefined
  }

  /** Something is due that is not overdue. */
  get hasLive(): boolean {
    return this.#lanes.size > (this.hasOverdue ? 1 : 0)
  }

  get hasOverdue(): boolean {
    return this.#lanes.has(OVERDUE)
  }

  /** Puts an entry that is in no chain behind all others of its topic. */
  append(slot: number): void {
    const entries = this.#entries
    entries.setNext(slot, NONE)
    const dueMs = entries.deliverTimeMs(slot)
    const number = dueMs <= this.#overdue.untilMs ? OVERDUE : entries.lane(slot)
    const lane = this.#lanes.get(number)
    if (lane === undefined) {
      this.#begin(number, slot)
      return
    }
    if (dueMs < entries.deliverTimeMs(lane.tail)) lane.addLate(slot, dueMs)
    entries.setNext(lane.tail, slot)
    lane.tail = slot
  }

  /** Hands over what has its turn now and releases it. `claim` gets each slot. */
  take(limits: TakeLimits, claim: (slot: number) => void): Taken {
    let count = 0
    let bytes = 0
    let overdueCount = 0
    while (this.#last !== undefined && count < limits.countMax && bytes < limits.bytesMax) {
      if (limits.isEarliestFirst && !this.#last.following.hasTurn) this.#turnToEarliest()
      const lane = this.#last.following
      if (lane.number === OVERDUE && overdueCount === limits.overdueCountMax) {
        if (this.#lanes.size === 1) break
        lane.hasTurn = false
        this.#last = lane
        continue
      }
      if (!lane.hasTurn) {
        lane.hasTurn = true
        lane.creditBytes += QUANTUM_BYTES
      }
      const sizeBytes = this.#sizeOf(lane.head)
      if (sizeBytes > lane.creditBytes) {
        lane.hasTurn = false
        this.#last = lane
        continue
      }
      lane.creditBytes -= sizeBytes
      bytes += sizeBytes
      count++
      if (lane.number === OVERDUE) overdueCount++
      this.#shift(lane, claim)
    }
    return { count, overdueCount }
  }

  /** Nothing here is due before this: mostly the earliest deliver time. Infinity when empty. */
  earliestDueMs(): number {
    let earliest = Infinity
    for (const lane of this.#lanes.values()) {
      const headDueMs = this.#entries.deliverTimeMs(lane.head)
      earliest = Math.min(earliest, lane.earliestMs(headDueMs))
    }
    return earliest
  }

  /** Takes out all, lane by lane in their order. */
  drain(take: (slot: number) => void): void {
    const heads = Array.from(this.#lanes.values(), lane => lane.head)
    this.#lanes.clear()
    this.#last = undefined
    for (const head of heads) {
      for (let slot = head; slot !== NONE;) {
        const next = this.#entries.next(slot)
        take(slot)
        slot = next
      }
    }
  }

  /** The first turn of a topic comes after all others that have something due. */
  #begin(number: number, slot: number): void {
    const lane = new Lane(number, slot)
    const last = this.#last
    if (last !== undefined) {
      lane.following = last.following
      last.following = lane
    }
    this.#last = lane
    this.#lanes.set(number, lane)
  }

  #shift(lane: Lane, claim: (slot: number) => void): void {
    const slot = lane.head
    lane.head = this.#entries.next(slot)
    lane.taken(slot)
    claim(slot)
    this.#entries.release(slot)
    if (lane.head !== NONE) return
    this.#lanes.delete(lane.number)
    const last = this.#last
    if (last === lane || last === undefined) this.#last = undefined
    else last.following = lane.following
  }

  #turnToEarliest(): void {
    let before = this.#last
    let earliestMs = Infinity
    let candidate = before
    for (let count = this.#lanes.size; count > 0 && candidate !== undefined; count--) {
      const dueMs = this.#entries.deliverTimeMs(candidate.following.head)
      if (dueMs < earliestMs) {
        earliestMs = dueMs
        before = candidate
      }
      candidate = candidate.following
    }
    this.#last = before
  }

  #sizeOf(slot: number): number {
    return this.#entries.isRemoved(slot) ? 0 : this.#entries.sizeBytes(slot)
  }
}
