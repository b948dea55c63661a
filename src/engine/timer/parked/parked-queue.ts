import type { TimerRef } from '../ladder/chunk-search.ts'
import { NONE, type ParkedPlace, type ParkedTable } from './parked-table.ts'

const BACKOFF_FIRST_MS = 1_000
const BACKOFF_MAX_MS = 30_000

/**
 * Parked messages of one topic that refuses them, oldest first: a list through the slots of the
 * table. The first one is tried again after a pause that grows; when it is taken, the others follow
 * at once.
 */
export class ParkedQueue {
  readonly #table: ParkedTable
  #first = NONE
  #last = NONE
  #count = 0
  #backoffMs = BACKOFF_FIRST_MS
  #retryAtUptimeMs: number

  constructor(table: ParkedTable, retryAtUptimeMs: number) {
    this.#table = table
    this.#retryAtUptimeMs = retryAtUptimeMs
  }

  get count(): number {
    return this.#count
  }

  get retryAtUptimeMs(): number {
    return this.#retryAtUptimeMs
  }

  /** Puts a message at the end; returns its slot of the table. */
  push(place: ParkedPlace): number {
    const slot = this.#table.add(place)
    this.#append(slot)
    return slot
  }

  first(): ParkedPlace | undefined {
    return this.#first === NONE ? undefined : this.#table.at(this.#first)
  }

  /** The slot of `first`, or `NONE`. */
  get firstSlot(): number {
    return this.#first
  }

  /** All of them, for those that `accepts` says yes to. */
  visit(accepts: (ref: TimerRef) => boolean, see: (place: ParkedPlace) => void): void {
    for (let slot = this.#first; slot !== NONE; slot = this.#table.behind(slot)) {
      const timerId = this.#table.timerId(slot)
      const deliverTimeMs = this.#table.deliverTimeMs(slot)
      if (accepts({ timerId, deliverTimeMs })) see(this.#table.at(slot))
    }
  }

  /** Takes out a message of this queue, by its slot, and out of the table. */
  remove(slot: number): void {
    this.#unlink(slot)
    this.#table.remove(slot)
  }

  /** The first becomes the last. */
  rotate(): void {
    const slot = this.#first
    if (slot === NONE) return
    this.#unlink(slot)
    this.#append(slot)
  }

  /** The topic refused the first, or it could not be read: a pause, longer each time. */
  backOff(nowUptimeMs: number): void {
    this.#retryAtUptimeMs = nowUptimeMs + this.#backoffMs
    this.#backoffMs = Math.min(BACKOFF_MAX_MS, this.#backoffMs * 2)
  }

  /** One was taken: the next pause is short again. */
  taken(): void {
    this.#backoffMs = BACKOFF_FIRST_MS
  }

  #append(slot: number): void {
    this.#table.join(this.#last, slot)
    this.#table.join(slot, NONE)
    if (this.#first === NONE) this.#first = slot
    this.#last = slot
    this.#count++
  }

  #unlink(slot: number): void {
    const before = this.#table.before(slot)
    const behind = this.#table.behind(slot)
    this.#table.join(before, behind)
    if (this.#first === slot) this.#first = behind
    if (this.#last === slot) this.#last = before
    this.#count--
  }
}
