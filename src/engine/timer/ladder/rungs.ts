import { assert } from '../../../core/base/index.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** One width of partitions. All widths count from the UTC epoch, never from local time. */
export interface Rung {
  readonly index: number
  /** Name of its folder. */
  readonly name: string
  readonly widthMs: number
  /** New messages go to a partition that begins at least this far ahead; finer ones take the rest. */
  readonly horizonMs: number
  /** A partition of up to this share of the load budget is loaded whole; a larger one is split. */
  readonly loadShare: number
}

/**
 * From coarse to fine. New messages go down to the minute; seconds and finer come from splitting.
 * A coarse partition stays in memory long once it is loaded, so it must be small for that; of the
 * finer ones, the one that fires and the next one must fit.
 */
export const rungs: readonly Rung[] = [
  rung(0, '30d', 30 * DAY_MS, { horizonMs: 60 * DAY_MS, loadShare: 1 / 48 }),
  rung(1, '1d', DAY_MS, { horizonMs: 2 * DAY_MS, loadShare: 1 / 24 }),
  rung(2, '1h', HOUR_MS, { horizonMs: 2 * HOUR_MS, loadShare: 1 / 6 }),
  rung(3, '1min', MINUTE_MS, { horizonMs: -Infinity, loadShare: 1 / 2 }),
  rung(4, '1s', SECOND_MS, { horizonMs: Infinity, loadShare: 1 / 2 }),
  rung(5, '20ms', 20, { horizonMs: Infinity, loadShare: 1 }),
  // All of it is due at once: it is streamed, whatever its size.
  rung(6, '1ms', 1, { horizonMs: Infinity, loadShare: Infinity }),
]

function rung(
  index: number,
  name: string,
  widthMs: number,
  limits: { horizonMs: number; loadShare: number },
): Rung {
  return { index, name, widthMs, ...limits }
}

export function rungAt(index: number): Rung {
  const found = rungs[index]
  assert(found !== undefined, 'there is no such rung')
  return found
}

export function rungNamed(name: string): Rung | undefined {
  return rungs.find(candidate => candidate.name === name)
}

/** Beginning of the rung's partition that covers a time. */
export function partitionStart(of: Rung, timeMs: number): number {
  return Math.floor(timeMs / of.widthMs) * of.widthMs
}

/** The rung for a new message: the coarsest whose partition begins far enough ahead. */
export function rungForNew(deliverTimeMs: number, nowMs: number): Rung {
  for (const candidate of rungs) {
    if (partitionStart(candidate, deliverTimeMs) >= nowMs + candidate.horizonMs) return candidate
  }
  return rungAt(3)
}
