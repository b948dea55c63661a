import { type IndexGeometry, itemKeyHash } from '../store/index.ts'
import type { ItemReader } from './item-reader.ts'

/** Of so many items behind the end the slot is kept: 20 MB. */
const KEPT_MAX = 5_000_000
const KEPT_FIRST = 1024

/**
 * Items behind those that the manifest, or the header, vouches for: an unclean stop leaves them, or
 * another broker that went on. The next start takes them back or writes over them.
 */
export class IndexTail {
  /** Number behind the last one; `from` when there are none. */
  end: number
  readonly from: number
  readonly #slotCount: number
  #slots = new Int32Array(KEPT_FIRST)

  private constructor(from: number, slotCount: number) {
    this.from = from
    this.end = from
    this.#slotCount = slotCount
  }

  /** Reads on from item `from` up to a block that has none. */
  static async read(
    items: ItemReader,
    parts: { readonly from: number } & IndexGeometry,
  ): Promise<IndexTail> {
    const { from, slotCount, itemCount } = parts
    const tail = new IndexTail(from, slotCount)
    for (let start = from; start < itemCount;) {
      await items.load(start)
      const end = Math.min(itemCount, items.to)
      for (let item = start; item < end; item++) if (!items.isZero(item)) tail.#add(items, item)
      if (tail.end <= start) break
      start = end
    }
    return tail
  }

  get isEmpty(): boolean {
    return this.end === this.from
  }

  /** Whether a slot may lead to `item`, which lies in the tail. */
  leadsTo(item: number, slot: number): boolean {
    if (item < this.from || item >= this.end) return false
    const index = item - this.from
    return index >= KEPT_MAX || this.#slots[index] === slot + 1
  }

  #add(items: ItemReader, item: number): void {
    this.end = item + 1
    const index = item - this.from
    if (index >= KEPT_MAX) return
    if (index >= this.#slots.length) {
      const slots = new Int32Array(Math.min(KEPT_MAX, Math.max(2 * this.#slots.length, index + 1)))
      slots.set(this.#slots)
      this.#slots = slots
    }
    const hash = itemKeyHash(items.block, items.at(item))
    // 0 stands for none.
    this.#slots[index] = hash < 0 ? 0 : (hash % this.#slotCount) + 1
  }
}
