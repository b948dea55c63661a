import { IndexMemory } from './index-memory.ts'

/** Most staged bytes come and go in pages of this size, which are used again. */
export const PAGE_BYTES: number = 32 * 1024

const FREE_PAGES_MAX = 256

/** Memory that files of waiting messages share: pages for what is to be written, and what is counted. */
export class PagePool {
  /** For the indexes of chunks. */
  readonly indexes: IndexMemory = new IndexMemory()
  readonly #free: Buffer[] = []
  #stagedBytes = 0
  #changedBytes = 0

  /** Bytes handed out and not given back. */
  get stagedBytes(): number {
    return this.#stagedBytes
  }

  /** A page with room for `sizeBytes`; larger than usual when that does not fit. */
  take(sizeBytes: number): Buffer {
    const page =
      sizeBytes > PAGE_BYTES
        ? Buffer.allocUnsafeSlow(sizeBytes)
        : (this.#free.pop() ?? Buffer.allocUnsafeSlow(PAGE_BYTES))
    this.#stagedBytes += page.length
    return page
  }

  /** Memory for bytes that are to be written over, which only a checkpoint does. */
  get changedBytes(): number {
    return this.#changedBytes
  }

  countChanged(bytes: number): void {
    this.#changedBytes += bytes
  }

  give(page: Buffer): void {
    this.#stagedBytes -= page.length
    if (page.length === PAGE_BYTES && this.#free.length < FREE_PAGES_MAX) this.#free.push(page)
  }
}
