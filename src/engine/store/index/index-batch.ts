import type { IndexGeometry, IndexHeader } from './index-layout.ts'
import {
  ITEM_BYTES,
  itemKeyHash,
  itemOffset,
  itemSeconds,
  writeItemKey,
  writeItemPlace,
  writeItemPrevious,
} from './index-layout.ts'

/** Slots that are read and written together at least: 4 KiB. */
export const SLOTS_PER_PAGE = 1024
/** Memory of one entry: its item, and the link to the next one of its page. */
export const ENTRY_BYTES: number = ITEM_BYTES + 4
const ENTRIES_FIRST = 1024
const NONE = -1

/**
 * Items on their way to one index file, in memory: in the order of the log, and linked in that
 * order by the page of slots that they belong to. Nothing is sorted when they are written.
 */
export class IndexBatch {
  /** Name of the file. */
  readonly fileName: string
  readonly firstItem: number
  /** Store time from which the items count seconds. */
  readonly beginTimeMs: number
  /** Of the file with these items in it; set when nothing more is added. */
  header: IndexHeader | undefined
  /** Whether each item has its link to the one before it in its slot. */
  isLinked = false
  readonly #geometry: IndexGeometry
  readonly #countMax: number
  readonly #heads: Int32Array
  readonly #tails: Int32Array
  #items: Buffer
  #next: Int32Array
  #count = 0

  constructor(parts: {
    geometry: IndexGeometry
    fileName: string
    firstItem: number
    beginTimeMs: number
    countMax: number
  }) {
    this.#geometry = parts.geometry
    this.fileName = parts.fileName
    this.firstItem = parts.firstItem
    this.beginTimeMs = parts.beginTimeMs
    this.#countMax = Math.min(parts.countMax, parts.geometry.itemCount - parts.firstItem)
    const pageCount = Math.ceil(parts.geometry.slotCount / SLOTS_PER_PAGE)
    this.#heads = new Int32Array(pageCount).fill(NONE)
    this.#tails = new Int32Array(pageCount).fill(NONE)
    const capacity = Math.min(ENTRIES_FIRST, this.#countMax)
    this.#items = Buffer.allocUnsafeSlow(capacity * ITEM_BYTES)
    this.#next = new Int32Array(capacity)
  }

  get count(): number {
    return this.#count
  }

  /** Nothing more fits into the batch, or into the file. */
  get isFull(): boolean {
    return this.#count >= this.#countMax
  }

  get memoryBytes(): number {
    return this.#next.length * ENTRY_BYTES + 2 * this.#heads.byteLength
  }

  /** The items as they lie in the file. */
  get itemBytes(): Buffer {
    return this.#items.subarray(0, this.#count * ITEM_BYTES)
  }

  add(keyHash: number, commitLogOffset: number, seconds: number): void {
    const entry = this.#count
    if (entry === this.#next.length) this.#grow()
    writeItemKey(this.#items, entry * ITEM_BYTES, keyHash)
    writeItemPlace(this.#items, entry * ITEM_BYTES, commitLogOffset, seconds)
    this.#next[entry] = NONE
    const page = Math.floor((keyHash % this.#geometry.slotCount) / SLOTS_PER_PAGE)
    const tail = this.#tails[page] ?? NONE
    if (tail === NONE) this.#heads[page] = entry
    else this.#next[tail] = entry
    this.#tails[page] = entry
    this.#count = entry + 1
  }

  /** The first page from `from` on that has entries; -1 for none. */
  nextPage(from: number): number {
    for (let page = from; page < this.#heads.length; page++) {
      if (this.#heads[page] !== NONE) return page
    }
    return NONE
  }

  /** The oldest entry of a page; -1 for none. */
  firstOf(page: number): number {
    return this.#heads[page] ?? NONE
  }

  /** The next younger entry of the same page; -1 for none. */
  after(entry: number): number {
    return this.#next[entry] ?? NONE
  }

  slotOf(entry: number): number {
    return itemKeyHash(this.#items, entry * ITEM_BYTES) % this.#geometry.slotCount
  }

  setPrevious(entry: number, previous: number): void {
    writeItemPrevious(this.#items, entry * ITEM_BYTES, previous)
  }

  /** Places under a key's hash, the newest first. */
  placesOf(keyHash: number): readonly IndexPlace[] {
    const places: IndexPlace[] = []
    const page = Math.floor((keyHash % this.#geometry.slotCount) / SLOTS_PER_PAGE)
    for (let entry = this.firstOf(page); entry !== NONE; entry = this.after(entry)) {
      const position = entry * ITEM_BYTES
      if (itemKeyHash(this.#items, position) !== keyHash) continue
      places.push({
        commitLogOffset: itemOffset(this.#items, position),
        beginTimeMs: this.beginTimeMs,
        seconds: itemSeconds(this.#items, position),
        isFirst: this.firstItem + entry === 1,
      })
    }
    return places.toReversed()
  }

  #grow(): void {
    const capacity = Math.min(this.#countMax, this.#next.length * 2)
    const items = Buffer.allocUnsafeSlow(capacity * ITEM_BYTES)
    this.#items.copy(items)
    this.#items = items
    const next = new Int32Array(capacity)
    next.set(this.#next)
    this.#next = next
  }
}

/** Where a key may be found, as an item says. */
export interface IndexPlace {
  readonly commitLogOffset: number
  readonly beginTimeMs: number
  readonly seconds: number
  /** Apache counts the seconds of a file's first item from the file before. */
  readonly isFirst: boolean
}
