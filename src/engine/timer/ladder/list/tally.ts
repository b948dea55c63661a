import { assert } from '../../../../core/base/index.ts'

/** Counts of messages, for equal steps of time. */
export class Tally {
  readonly counts: Float64Array
  readonly #fromMs: number
  readonly #stepMs: number
  /** A chunk with more than this that reaches over several steps is not read, but spread. */
  readonly readBytesMax: number
  #spreadCount = 0

  /** `stepCount` steps of `stepMs` each, the first from `fromMs` on. */
  constructor(
    steps: { readonly fromMs: number; readonly stepMs: number; readonly stepCount: number },
    readBytesMax: number,
  ) {
    assert(steps.stepMs > 0 && steps.stepCount > 0, 'a tally has steps')
    this.#fromMs = steps.fromMs
    this.#stepMs = steps.stepMs
    this.counts = new Float64Array(steps.stepCount)
    this.readBytesMax = readBytesMax
  }

  get total(): number {
    return this.counts.reduce((sum, count) => sum + count, 0)
  }

  /** How many of `total` are in their step by estimate. */
  get spreadCount(): number {
    return this.#spreadCount
  }

  /** Counts messages due at a time of the tally. */
  add(deliverTimeMs: number, count: number): void {
    const step = this.#stepOf(deliverTimeMs)
    this.counts[step] = (this.counts[step] ?? 0) + count
  }

  isOneStep(dueMinMs: number, dueMaxMs: number): boolean {
    return this.#stepOf(dueMinMs) === this.#stepOf(dueMaxMs)
  }

  /** Counts messages as if they were due evenly from the first to the last of their times. */
  spread(range: { readonly dueMinMs: number; readonly dueMaxMs: number }, count: number): void {
    const widthMs = range.dueMaxMs + 1 - range.dueMinMs
    const last = this.#stepOf(range.dueMaxMs)
    let placed = 0
    for (let step = this.#stepOf(range.dueMinMs); step <= last; step++) {
      const endMs = Math.min(range.dueMaxMs + 1, this.#fromMs + (step + 1) * this.#stepMs)
      // Rounded as a running sum: nothing is lost, and nothing counted twice.
      const until = Math.round((count * (endMs - range.dueMinMs)) / widthMs)
      this.counts[step] = (this.counts[step] ?? 0) + until - placed
      placed = until
    }
    this.#spreadCount += count
  }

  #stepOf(timeMs: number): number {
    const step = Math.floor((timeMs - this.#fromMs) / this.#stepMs)
    return Math.min(this.counts.length - 1, Math.max(0, step))
  }
}
