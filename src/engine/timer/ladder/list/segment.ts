import type { ListPosition } from './list-order.ts'

/** What a segment is planned by. */
export interface SegmentSource {
  readonly dueMinMs: number
  readonly dueMaxMs: number
  readonly untakenBytes: number
}

/** The end of what one step of a list looks through, from a position on. */
export interface Segment {
  readonly position: ListPosition
  /** Not included. */
  readonly toMs: number
}

/**
 * The piece of time that comes next, from `position` on and before `toMs`: as much as has at most
 * `bytesMax` in the sources that reach into it, in order of deliver times. Where what is due at
 * one time has more, the order is that of timer ids, up to where it has not any more.
 */
export function nextSegment(
  sources: readonly SegmentSource[],
  at: { readonly position: ListPosition; readonly toMs: number },
  bytesMax: number,
): Segment {
  const { position, toMs } = at
  if (position.kind === 'id') return { position, toMs: position.toMs }
  const { from } = position
  const startMs = from.deliverTimeMs
  const reaching = sources.filter(source => {
    return source.untakenBytes > 0 && source.dueMaxMs >= startMs && source.dueMinMs < toMs
  })
  const begun = reaching.filter(source => source.dueMinMs <= startMs)
  let bytes = sum(begun)
  if (bytes > bytesMax) {
    const endMs = endOfCrowd(reaching, { startMs, toMs }, bytesMax)
    return { position: { kind: 'id', from, toMs: endMs, afterTimerId: -1 }, toMs: endMs }
  }
  const later = reaching.filter(source => source.dueMinMs > startMs)
  for (const source of later.toSorted((a, b) => a.dueMinMs - b.dueMinMs)) {
    bytes += source.untakenBytes
    if (bytes > bytesMax) return { position, toMs: source.dueMinMs }
  }
  return { position, toMs }
}

/** The first time at which the sources that reach there have no more than `bytesMax`. */
function endOfCrowd(
  sources: readonly SegmentSource[],
  range: { readonly startMs: number; readonly toMs: number },
  bytesMax: number,
): number {
  const ends = sources.map(source => source.dueMaxMs + 1).filter(end => end > range.startMs)
  for (const endMs of ends.toSorted((a, b) => a - b)) {
    if (endMs >= range.toMs) break
    const there = sources.filter(source => source.dueMinMs <= endMs && source.dueMaxMs >= endMs)
    if (sum(there) <= bytesMax) return endMs
  }
  return range.toMs
}

function sum(sources: readonly SegmentSource[]): number {
  return sources.reduce((bytes, source) => bytes + source.untakenBytes, 0)
}
