import type { TimerRef } from '../chunk-search.ts'
import { compareIn, type ListOrder } from './list-order.ts'

/** What is kept at most; one item, however large, always is. */
export interface Most {
  readonly count: number
  readonly bytes: number
}

/** Keeps the first of all messages that are offered, in memory for twice as many. */
export class Least<Item extends TimerRef> {
  readonly #order: ListOrder
  readonly #most: Most
  readonly #bytesOf: (item: Item) => number
  #items: Item[] = []
  #bytes = 0
  /** Nothing behind it belongs to the first ones. */
  #last: TimerRef | undefined
  #isTruncated = false

  /** `bytesOf` says what an item takes. */
  constructor(order: ListOrder, most: Most, bytesOf: (item: Item) => number) {
    this.#order = order
    this.#most = most
    this.#bytesOf = bytesOf
  }

  /** Whether it is worth making an item of it. */
  accepts(ref: TimerRef): boolean {
    const isIn = this.#last === undefined || compareIn(this.#order, ref, this.#last) < 0
    if (!isIn) this.#isTruncated = true
    return isIn
  }

  /** What `accepts` has said yes to. */
  add(item: Item): void {
    const { count, bytes } = this.#most
    this.#items.push(item)
    this.#bytes += this.#bytesOf(item)
    if (this.#items.length >= 2 * count || this.#bytes >= 2 * bytes) this.#cut()
  }

  /** The first ones in order; `isWhole` when nothing else was offered. */
  take(): { readonly items: readonly Item[]; readonly isWhole: boolean } {
    this.#cut()
    return { items: this.#items, isWhole: !this.#isTruncated }
  }

  #cut(): void {
    this.#items.sort((a, b) => compareIn(this.#order, a, b))
    let count = 0
    let bytes = 0
    for (const item of this.#items) {
      const withIt = bytes + this.#bytesOf(item)
      if (count === this.#most.count || (count > 0 && withIt > this.#most.bytes)) break
      bytes = withIt
      count++
    }
    this.#bytes = bytes
    if (count === this.#items.length) return
    this.#items.length = count
    this.#last = this.#items.at(-1)
    this.#isTruncated = true
  }
}
