/** A part of the commit log that holds no whole record, though whole ones follow or should. */
export interface LogRange {
  readonly from: number
  readonly to: number
  /** Nothing was ever written there, as far as can be seen. */
  readonly isZero: boolean
  /** What is wrong, in words. */
  readonly what: string
  /** The unit of a queue names a record in it: so there was one. */
  isNamed: boolean
}

/** Beyond it they are told at once, and the units that name them are told too. */
const RANGES_MAX = 100_000

/** The parts of the log that cannot be read, in order. */
export class LogRanges {
  readonly #ranges: LogRange[] = []

  /** False when there are too many to keep another. */
  add(range: LogRange): boolean {
    if (this.#ranges.length >= RANGES_MAX) return false
    this.#ranges.push(range)
    return true
  }

  all(): readonly LogRange[] {
    return this.#ranges
  }

  /** The one that holds `offset`. */
  at(offset: number): LogRange | undefined {
    let low = 0
    let high = this.#ranges.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#ranges[middle]?.to ?? Infinity) <= offset) low = middle + 1
      else high = middle
    }
    const found = this.#ranges[low]
    return found !== undefined && found.from <= offset ? found : undefined
  }
}
