import type { Chunk, ChunkPlace } from '../chunk.ts'
import type { PendingRemovals } from '../pending-removals.ts'
import type { RecoveredRemovals } from '../recovered-removals.ts'
import { type Removal, timerDeliverTimeMs, timerIdOf, timerMark } from '../timer-record.ts'
import type { FiredAhead } from './fired-ahead.ts'

/** Whether a message that is met in a chunk was cancelled, or moved to another time. */
export class Removed {
  readonly pending: PendingRemovals
  readonly #recovered: RecoveredRemovals
  readonly #ahead: FiredAhead
  readonly #isLeft: (deliverTimeMs: number, timerId: number) => boolean

  constructor(parts: {
    pending: PendingRemovals
    recovered: RecoveredRemovals
    ahead: FiredAhead
    /** What a chunk has of this message is left over: it was done with here, perhaps parked. */
    isLeft: (deliverTimeMs: number, timerId: number) => boolean
  }) {
    this.pending = parts.pending
    this.#recovered = parts.recovered
    this.#ahead = parts.ahead
    this.#isLeft = parts.isLeft
  }

  /** `source` holds at `at` what was read from the chunk at `place`. Met once, it is marked. */
  meet(
    source: Buffer,
    at: number,
    place: { readonly chunk: Chunk } & ChunkPlace,
  ): Removal | undefined {
    const timerId = timerIdOf(source, at)
    const mark = timerMark(source, at)
    if (mark !== 'waits') {
      const removal = this.#recovered.take(timerId)
      // Marked after the last checkpoint, whose counts do not know it; perhaps never synced.
      if (removal !== undefined) place.chunk.markRemoved(place, removal)
      this.#ahead.take(timerId)
      return mark
    }
    // Its mark was made after the read had begun.
    const pending = this.pending.find(timerId)
    if (pending?.isApplied === true) return pending.removal
    // Where it is parked it is met again, and must be known as removed there.
    if (this.#isLeft(timerDeliverTimeMs(source, at), timerId)) return undefined
    const removal = this.#recovered.take(timerId)
    if (removal !== undefined) place.chunk.markRemoved(place, removal)
    return removal
  }
}
