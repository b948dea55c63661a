/** A place is noted about every so many bytes: what lies between two is read at once. */
const STRETCH_BYTES = 64 * 1024
const CAPACITY_FIRST = 16

/** A part of a chunk, from the beginning of a message to that of another, or the end. */
export interface Stretch {
  readonly from: number
  readonly to: number
  /** The ids in it ascend from this one. */
  readonly firstTimerId: number
}

/**
 * Where to look for timer ids in a chunk: the first and the last id of each stretch. Ids ascend,
 * except where a chunk that a split wrote goes on with another chunk of its origin; there a new
 * stretch begins.
 */
export class ChunkIndex {
  #count = 0
  #firstIds = new Float64Array(CAPACITY_FIRST)
  #lastIds = new Float64Array(CAPACITY_FIRST)
  #positions = new Uint32Array(CAPACITY_FIRST)
  #lastTimerId = -1
  #endPosition = 0

  /** Everything before this position is in the index. */
  get endPosition(): number {
    return this.#endPosition
  }

  /** A message lies from `position` to `end`; to be called for all of them, in order. */
  add(timerId: number, position: number, end: number): void {
    const start = this.#count === 0 ? -Infinity : (this.#positions[this.#count - 1] ?? 0)
    if (timerId < this.#lastTimerId || position - start >= STRETCH_BYTES) {
      if (this.#count === this.#firstIds.length) this.#grow()
      this.#firstIds[this.#count] = timerId
      this.#positions[this.#count] = position
      this.#count++
    }
    this.#lastIds[this.#count - 1] = timerId
    this.#lastTimerId = timerId
    this.#endPosition = end
  }

  /** Where the message can be, if it is in the chunk at all. */
  stretchesOf(timerId: number): Stretch[] {
    return this.#stretches((first, last) => first <= timerId && timerId <= last)
  }

  /** Where messages of larger ids are. */
  stretchesBehind(timerId: number): Stretch[] {
    return this.#stretches((_, last) => last > timerId)
  }

  #stretches(isMeant: (firstTimerId: number, lastTimerId: number) => boolean): Stretch[] {
    const stretches: Stretch[] = []
    for (let index = 0; index < this.#count; index++) {
      const firstTimerId = this.#firstIds[index] ?? 0
      if (!isMeant(firstTimerId, this.#lastIds[index] ?? 0)) continue
      const isLast = index + 1 === this.#count
      const to = isLast ? this.#endPosition : (this.#positions[index + 1] ?? 0)
      stretches.push({ from: this.#positions[index] ?? 0, to, firstTimerId })
    }
    return stretches
  }

  #grow(): void {
    const firstIds = new Float64Array(this.#count * 2)
    const lastIds = new Float64Array(this.#count * 2)
    const positions = new Uint32Array(this.#count * 2)
    firstIds.set(this.#firstIds)
    lastIds.set(this.#lastIds)
    positions.set(this.#positions)
    this.#firstIds = firstIds
    this.#lastIds = lastIds
    this.#positions = positions
  }
}
