import { grown } from './grown.ts'
import type { IndexMemory } from './index-memory.ts'

const CAPACITY_FIRST = 16

/** A part of a chunk, from the beginning of a message to that of another, or the end. */
export interface Stretch {
  readonly from: number
  readonly to: number
  /** The ids in it ascend from this one. */
  readonly firstTimerId: number
}

/** Places whose ids ascend: up to the next run, or all that follow. */
interface Run {
  /** Number of its first place. */
  readonly start: number
  lastTimerId: number
}

/**
 * Where to look for timer ids in a chunk: places, each with the id of the message that begins
 * there; what lies between two is read at once. Ids ascend, except where a chunk that a split wrote
 * goes on with another chunk of its origin; there a new run begins.
 */
export class ChunkIndex {
  readonly #memory: IndexMemory
  #count = 0
  #firstIds = new Float64Array(CAPACITY_FIRST)
  #positions = new Uint32Array(CAPACITY_FIRST)
  readonly #runs: Run[] = []
  #endPosition = 0

  constructor(memory: IndexMemory) {
    this.#memory = memory
  }

  /** Everything before this position is in the index. */
  get endPosition(): number {
    return this.#endPosition
  }

  /** A message lies from `position` to `end`; to be called for all of them, in order. */
  add(timerId: number, position: number, end: number): void {
    let run = this.#runs.at(-1)
    if (run === undefined || timerId < run.lastTimerId) {
      run = { start: this.#count, lastTimerId: timerId }
      this.#runs.push(run)
      this.#addPlace(timerId, position)
    } else if (position - this.#positionAt(this.#count - 1) >= this.#memory.stretchBytes) {
      this.#addPlace(timerId, position)
    }
    run.lastTimerId = timerId
    this.#endPosition = end
  }

  /** Where the message can be, if it is in the chunk at all: one stretch of each run at most. */
  stretchesOf(timerId: number): Stretch[] {
    const stretches: Stretch[] = []
    for (const [number, run] of this.#runs.entries()) {
      if (timerId > run.lastTimerId) continue
      const place = this.#lastPlace(run.start, this.#endOf(number), timerId)
      if (place >= run.start) stretches.push(this.#stretch(place))
    }
    return stretches
  }

  /** Where messages of larger ids are. */
  stretchesBehind(timerId: number): Stretch[] {
    const stretches: Stretch[] = []
    for (const [number, run] of this.#runs.entries()) {
      if (timerId >= run.lastTimerId) continue
      const end = this.#endOf(number)
      const first = Math.max(run.start, this.#lastPlace(run.start, end, timerId))
      for (let place = first; place < end; place++) stretches.push(this.#stretch(place))
    }
    return stretches
  }

  /** The index is not used any more. */
  release(): void {
    this.#memory.countPlaces(-this.#count)
    this.#count = 0
    this.#runs.length = 0
  }

  /** The last place from `start` on, before `end`, whose id is not larger; `start - 1`: none. */
  #lastPlace(start: number, end: number, timerId: number): number {
    let low = start
    let high = end
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#firstIds[middle] ?? 0) <= timerId) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  #endOf(run: number): number {
    return this.#runs[run + 1]?.start ?? this.#count
  }

  #stretch(place: number): Stretch {
    const to = place + 1 === this.#count ? this.#endPosition : this.#positionAt(place + 1)
    return { from: this.#positionAt(place), to, firstTimerId: this.#firstIds[place] ?? 0 }
  }

  #positionAt(place: number): number {
    return this.#positions[place] ?? 0
  }

  #addPlace(timerId: number, position: number): void {
    if (this.#count === this.#firstIds.length) this.#grow()
    this.#firstIds[this.#count] = timerId
    this.#positions[this.#count] = position
    this.#count++
    this.#memory.countPlaces(1)
  }

  #grow(): void {
    const capacity = this.#count * 2
    this.#firstIds = grown(this.#firstIds, new Float64Array(capacity))
    this.#positions = grown(this.#positions, new Uint32Array(capacity))
  }
}
