import type { Chunk } from '../chunk.ts'
import type { PendingCancels } from '../pending-cancels.ts'
import type { TimerIds } from '../timer-ids.ts'
import type { FiredAhead } from './fired-ahead.ts'
import { timerDeliverTimeMs, timerIdOf, timerIsCancelled } from '../timer-record.ts'

/** Whether a message that is met in a chunk is cancelled. */
export class Cancelled {
  readonly pending: PendingCancels
  /** Cancelled behind the last checkpoint before this start. */
  readonly #recovered: TimerIds
  readonly #ahead: FiredAhead
  readonly #isLeft: (deliverTimeMs: number, timerId: number) => boolean

  constructor(parts: {
    pending: PendingCancels
    recovered: TimerIds
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
  meet(source: Buffer, at: number, place: { chunk: Chunk; position: number }): boolean {
    const timerId = timerIdOf(source, at)
    if (timerIsCancelled(source, at)) {
      this.#recovered.take(timerId)
      this.#ahead.take(timerId)
      return true
    }
    // Its mark was made after the read had begun.
    if (this.pending.find(timerId)?.isApplied === true) return true
    // Where it is parked it is met again, and must be known as cancelled there.
    if (this.#isLeft(timerDeliverTimeMs(source, at), timerId)) return false
    if (!this.#recovered.take(timerId)) return false
    place.chunk.markCancelled(place.position)
    return true
  }
}
