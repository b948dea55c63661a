/**
 * Counts what is marked as removed in a part of a chunk, while that is read from its beginning to
 * its end and others make marks. For marks that no log record names: after a crash they may be in
 * the file, and not in the counts of the manifest.
 */
export class RemovalRecount {
  /** Up to here it was read. */
  #end: number
  readonly #from: number
  readonly #to: number
  #knownCount: number
  #seenCount = 0
  #seenBytes = 0

  /** `knownCount` count as marked at positions from `from` on, below `to`. */
  constructor(from: number, to: number, knownCount: number) {
    this.#from = from
    this.#to = to
    this.#end = from
    this.#knownCount = knownCount
  }

  /** A message was read that is marked now, or not; its accept record has `recordBytes`. */
  read(position: number, recordBytes: number, isMarked: boolean): void {
    this.#end = position + 1
    if (!isMarked) return
    this.#seenCount++
    this.#seenBytes += recordBytes
  }

  /** A message is marked, and counted. */
  marked(position: number, recordBytes: number): void {
    if (position < this.#from || position >= this.#to) return
    this.#knownCount++
    if (position >= this.#end) return
    this.#seenCount++
    this.#seenBytes += recordBytes
  }

  /** Marked, and not counted; the bytes are their share of all that is marked. */
  get missing(): { readonly count: number; readonly recordBytes: number } {
    const count = Math.max(0, this.#seenCount - this.#knownCount)
    const share = count === 0 ? 0 : count / this.#seenCount
    return { count, recordBytes: Math.round(share * this.#seenBytes) }
  }
}
