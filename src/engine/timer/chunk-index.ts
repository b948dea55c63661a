/** A place is noted about every so many bytes: what lies between two is read at once. */
const STRETCH_BYTES = 64 * 1024
const CAPACITY_FIRST = 16

/** Memory for one place, in bytes. */
export const PLACE_BYTES = 12

/** A part of a chunk, from the beginning of a message to that of another, or the end. */
export interface Stretch {
  readonly from: number
  readonly to: number
}

/**
 * Where to look for a timer id in a chunk: the id at the beginning of each stretch. Ids ascend,
 * except where a chunk that a split wrote goes on with another chunk of its origin.
 */
export class ChunkIndex {
  #count = 0
  #timerIds = new Float64Array(CAPACITY_FIRST)
  #positions = new Uint32Array(CAPACITY_FIRST)
  #lastTimerId = -1
  #endPosition = 0

  get bytes(): number {
    return this.#timerIds.length * PLACE_BYTES
  }

  /** Everything before this position is in the index. */
  get endPosition(): number {
    return this.#endPosition
  }

  /** A message lies from `position` to `end`; to be called for all of them, in order. */
  add(timerId: number, position: number, end: number): void {
    const start = this.#count === 0 ? -Infinity : (this.#positions[this.#count - 1] ?? 0)
    if (timerId < this.#lastTimerId || position - start >= STRETCH_BYTES) {
      if (this.#count === this.#timerIds.length) this.#grow()
      this.#timerIds[this.#count] = timerId
      this.#positions[this.#count] = position
      this.#count++
    }
    this.#lastTimerId = timerId
    this.#endPosition = end
  }

  /** Where the message can be, if it is in the chunk at all. */
  stretchesOf(timerId: number): Stretch[] {
    const stretches: Stretch[] = []
    for (let index = 0; index < this.#count; index++) {
      const first = this.#timerIds[index] ?? 0
      if (first > timerId) continue
      const isLast = index + 1 === this.#count
      const next = isLast ? Infinity : (this.#timerIds[index + 1] ?? 0)
      // With a smaller id a new sequence begins: this one may go on to any id.
      if (next <= timerId && next > first) continue
      const to = isLast ? this.#endPosition : (this.#positions[index + 1] ?? 0)
      stretches.push({ from: this.#positions[index] ?? 0, to })
    }
    return stretches
  }

  #grow(): void {
    const timerIds = new Float64Array(this.#count * 2)
    const positions = new Uint32Array(this.#count * 2)
    timerIds.set(this.#timerIds)
    positions.set(this.#positions)
    this.#timerIds = timerIds
    this.#positions = positions
  }
}
