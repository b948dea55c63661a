import type { File } from '../../core/platform/index.ts'
import { type IndexGeometry, ITEM_BYTES, itemPosition } from '../store/index.ts'

/** About a quarter of a mebibyte. */
const ITEMS_IN_BLOCK = 13_107

/** Reads the items of an index file, one block after the other. */
export class ItemReader {
  readonly block: Buffer = Buffer.alloc(ITEMS_IN_BLOCK * ITEM_BYTES)
  readonly #file: File
  readonly #geometry: IndexGeometry
  #from = 0
  #to = 0

  constructor(file: File, geometry: IndexGeometry) {
    this.#file = file
    this.#geometry = geometry
  }

  /** Whether the block holds the item and, unless it is the last of the file, the next one. */
  holds(item: number): boolean {
    const last = Math.min(item + 1, this.#geometry.itemCount - 1)
    return item >= this.#from && last < this.#to
  }

  /** Reads on when the block does not hold the item. */
  async load(item: number): Promise<void> {
    if (this.holds(item)) return
    const count = Math.min(ITEMS_IN_BLOCK, this.#geometry.itemCount - item)
    const bytes = this.block.subarray(0, count * ITEM_BYTES)
    const got = await this.#file.read(bytes, itemPosition(this.#geometry, item))
    bytes.fill(0, got)
    this.#from = item
    this.#to = item + count
  }

  /** Behind the last item that the block holds. */
  get to(): number {
    return this.#to
  }

  /** Where in the block an item lies that it holds. */
  at(item: number): number {
    return (item - this.#from) * ITEM_BYTES
  }

  isZero(item: number): boolean {
    const at = this.at(item)
    for (let index = 0; index < ITEM_BYTES; index++) if (this.block[at + index] !== 0) return false
    return true
  }
}
