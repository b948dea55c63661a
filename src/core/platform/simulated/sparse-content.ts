import { assert } from '../../base/index.ts'

export const PAGE_BYTES = 4096

/** The bytes of a file; pages never written take no memory and read as zeros. */
export class SparseContent {
  readonly #pages = new Map<number, Buffer>()
  #sizeBytes = 0

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  get pageCount(): number {
    return this.#pages.size
  }

  /** Indexes of the pages that take memory, in the order in which they were first written. */
  pageIndexes(): readonly number[] {
    return [...this.#pages.keys()]
  }

  /** Fills `target` from `position`, up to the end; returns the number of bytes. */
  read(target: Uint8Array, position: number): number {
    const count = Math.max(0, Math.min(target.length, this.#sizeBytes - position))
    let done = 0
    while (done < count) {
      const inPage = (position + done) % PAGE_BYTES
      const length = Math.min(PAGE_BYTES - inPage, count - done)
      const page = this.#pages.get((position + done - inPage) / PAGE_BYTES)
      if (page === undefined) target.fill(0, done, done + length)
      else target.set(page.subarray(inPage, inPage + length), done)
      done += length
    }
    return count
  }

  write(bytes: Uint8Array, position: number): void {
    let done = 0
    while (done < bytes.length) {
      const inPage = (position + done) % PAGE_BYTES
      const length = Math.min(PAGE_BYTES - inPage, bytes.length - done)
      const page = this.#pageAt((position + done - inPage) / PAGE_BYTES)
      page.set(bytes.subarray(done, done + length), inPage)
      done += length
    }
    if (done > 0) this.#sizeBytes = Math.max(this.#sizeBytes, position + done)
  }

  truncate(sizeBytes: number): void {
    if (sizeBytes < this.#sizeBytes) this.#cut(sizeBytes)
    this.#sizeBytes = sizeBytes
  }

  /** Number of pages that a write of `length` bytes at `position` would add. */
  pagesMissing(position: number, length: number): number {
    if (length === 0) return 0
    let missing = 0
    const last = Math.floor((position + length - 1) / PAGE_BYTES)
    for (let index = Math.floor(position / PAGE_BYTES); index <= last; index++) {
      if (!this.#pages.has(index)) missing++
    }
    return missing
  }

  flipBit(position: number, bit: number): void {
    assert(position < this.#sizeBytes && bit >= 0 && bit < 8, 'there must be such a bit')
    const page = this.#pageAt(Math.floor(position / PAGE_BYTES))
    const inPage = position % PAGE_BYTES
    page[inPage] = (page[inPage] ?? 0) ^ (1 << bit)
  }

  copy(): SparseContent {
    const copied = new SparseContent()
    for (const [index, page] of this.#pages) copied.#pages.set(index, Buffer.from(page))
    copied.#sizeBytes = this.#sizeBytes
    return copied
  }

  #cut(sizeBytes: number): void {
    const border = Math.floor(sizeBytes / PAGE_BYTES)
    for (const index of this.#pages.keys()) {
      if (index > border) this.#pages.delete(index)
    }
    const inPage = sizeBytes % PAGE_BYTES
    if (inPage === 0) this.#pages.delete(border)
    else this.#pages.get(border)?.fill(0, inPage)
  }

  #pageAt(index: number): Buffer {
    let page = this.#pages.get(index)
    if (page === undefined) {
      page = Buffer.alloc(PAGE_BYTES)
      this.#pages.set(index, page)
    }
    return page
  }
}
