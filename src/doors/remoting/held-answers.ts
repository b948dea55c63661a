const COMPACT_COUNT = 64
const NOTHING = Buffer.alloc(0)

/**
 * Answers of one connection that wait until the log has been flushed past a place, in order.
 *
 * Answers that lie next to each other in one buffer and belong to one chunk of requests become
 * one range: nothing is kept per message.
 */
export class HeldAnswers {
  readonly #blocks: Buffer[] = []
  readonly #starts: number[] = []
  readonly #ends: number[] = []
  readonly #offsets: number[] = []
  #first = 0
  #isOpen = false

  get isEmpty(): boolean {
    return this.#first === this.#blocks.length
  }

  /** Holds `block` from `start` to `end` until the record at `commitLogOffset` is applied. */
  add(block: Buffer, start: number, end: number, commitLogOffset: number): void {
    const last = this.#blocks.length - 1
    if (this.#isOpen && this.#blocks[last] === block && this.#ends[last] === start) {
      this.#ends[last] = end
      this.#offsets[last] = commitLogOffset
      return
    }
    this.#blocks.push(block)
    this.#starts.push(start)
    this.#ends.push(end)
    this.#offsets.push(commitLogOffset)
    this.#isOpen = true
  }

  /** The chunk is over: what comes next must not delay what is held already. */
  seal(): void {
    this.#isOpen = false
  }

  /** Takes out all answers to records below `appliedOffset`, as one piece; empty when none. */
  take(appliedOffset: number): Buffer {
    const first = this.#first
    let next = first
    let sizeBytes = 0
    while (next < this.#offsets.length && (this.#offsets[next] ?? 0) < appliedOffset) {
      sizeBytes += (this.#ends[next] ?? 0) - (this.#starts[next] ?? 0)
      next++
    }
    if (next === first) return NOTHING
    const bytes = next === first + 1 ? this.#range(first) : this.#joined(first, next, sizeBytes)
    this.#first = next
    if (next === this.#offsets.length) this.clear()
    else if (next > COMPACT_COUNT) this.#compact()
    return bytes
  }

  clear(): void {
    this.#blocks.length = 0
    this.#starts.length = 0
    this.#ends.length = 0
    this.#offsets.length = 0
    this.#first = 0
    this.#isOpen = false
  }

  /** Under steady load there is always something held: what was taken must go nevertheless. */
  #compact(): void {
    for (const column of [this.#blocks, this.#starts, this.#ends, this.#offsets]) {
      column.splice(0, this.#first)
    }
    this.#first = 0
  }

  #range(index: number): Buffer {
    return (this.#blocks[index] ?? NOTHING).subarray(this.#starts[index], this.#ends[index])
  }

  #joined(first: number, next: number, sizeBytes: number): Buffer {
    const joined = Buffer.allocUnsafeSlow(sizeBytes)
    let position = 0
    for (let index = first; index < next; index++) {
      const block = this.#blocks[index] ?? NOTHING
      position += block.copy(joined, position, this.#starts[index], this.#ends[index])
    }
    return joined
  }
}
