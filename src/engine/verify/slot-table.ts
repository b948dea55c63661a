/** Slots that are looked at together. */
export const SLOTS_IN_PAGE = 1024
/** With more damage than this in one file its links are not judged any more. */
const UNSURE_MAX = 100_000

/** What the slots of an index file hold after each item, as far as the items can be believed. */
export class SlotTable {
  /** Slots that are not 0. */
  usedCount = 0
  readonly #newest: Int32Array
  readonly #usedPages: Uint8Array
  /** Items of which nobody knows the slot for sure. */
  readonly #unsure = new Set<number>()

  constructor(slotCount: number) {
    this.#newest = new Int32Array(slotCount)
    this.#usedPages = new Uint8Array(Math.ceil(slotCount / SLOTS_IN_PAGE))
  }

  get slotCount(): number {
    return this.#newest.length
  }

  newestOf(slot: number): number {
    return this.#newest[slot] ?? 0
  }

  isPageUsed(page: number): boolean {
    return this.#usedPages[page] === 1
  }

  set(slot: number, item: number): void {
    if (this.newestOf(slot) === 0) this.usedCount++
    this.#newest[slot] = item
    this.#usedPages[Math.floor(slot / SLOTS_IN_PAGE)] = 1
  }

  setUnsure(item: number): void {
    if (this.#unsure.size < UNSURE_MAX) this.#unsure.add(item)
  }

  /** Whether a slot, or a link from it, may lead to `item` now. */
  accepts(slot: number, item: number): boolean {
    const newest = this.newestOf(slot)
    if (item === newest || this.#unsure.size >= UNSURE_MAX) return true
    return this.#unsure.has(item) || this.#unsure.has(newest)
  }
}
