export interface Spread {
  readonly min: number
  readonly median: number
  readonly max: number
}

/** Needs at least one sample. The median of an even count is the mean of the middle two. */
export function spreadOf(samples: readonly number[]): Spread {
  const sorted = samples.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = at(sorted, middle)
  const median = sorted.length % 2 === 1 ? upper : (at(sorted, middle - 1) + upper) / 2
  return { min: at(sorted, 0), median, max: at(sorted, sorted.length - 1) }
}

/** The smallest sample that at least `share` (0 to 1) of all samples do not exceed. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b)
  return at(sorted, Math.max(0, Math.ceil(share * sorted.length) - 1))
}

function at(sorted: readonly number[], index: number): number {
  const value = sorted[index]
  if (value === undefined) throw new Error('no samples were taken')
  return value
}
