import type { TimerRef } from '../chunk-search.ts'
import { compareIn, type ListOrder } from './list-order.ts'

/** Keeps the first `countMax` of all messages that are offered, in memory for twice as many. */
export class Least<Item extends TimerRef> {
  readonly #order: ListOrder
  readonly #countMax: number
  #items: Item[] = []
  /** Nothing behind it belongs to the first ones. */
  #last: TimerRef | undefined
  #isTruncated = false

  constructor(order: ListOrder, countMax: number) {
    this.#order = order
    this.#countMax = countMax
  }

  /** Whether it is worth making an item of it. */
  accepts(ref: TimerRef): boolean {
    const isIn = this.#last === undefined || compareIn(this.#order, ref, this.#last) < 0
    if (!isIn) this.#isTruncated = true
    return isIn
  }

  /** What `accepts` has said yes to. */
  add(item: Item): void {
    this.#items.push(item)
    if (this.#items.length >= 2 * this.#countMax) this.#cut()
  }

  /** The first ones in order; `isWhole` when nothing else was offered. */
  take(): { readonly items: readonly Item[]; readonly isWhole: boolean } {
    this.#cut()
    return { items: this.#items, isWhole: !this.#isTruncated }
  }

  #cut(): void {
    this.#items.sort((a, b) => compareIn(this.#order, a, b))
    if (this.#items.length <= this.#countMax) return
    this.#items.length = this.#countMax
    this.#last = this.#items.at(-1)
    this.#isTruncated = true
  }
}
