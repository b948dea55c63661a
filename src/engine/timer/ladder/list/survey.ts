import { Gate } from '../../../../core/base/index.ts'
import type { Chunk } from '../../chunk.ts'
import type { TimerRef } from '../chunk-search.ts'
import type { Finder } from '../finder.ts'
import type { Tally } from './tally.ts'
import type { WaitingQuery } from './waiting-list.ts'
import type { WaitingMessages } from './waiting-messages.ts'
import type { MetAt, WaitingWalk } from './waiting-walk.ts'

/**
 * Counts waiting messages by their deliver times. What is asked of all messages comes from what
 * chunks know of themselves, as far as a chunk lies within one step of the tally; the rest is read.
 */
export class Survey {
  readonly #walk: WaitingWalk
  readonly #messages: WaitingMessages
  readonly #finder: Finder
  /** One at a time: each may read all there is. */
  readonly #gate = new Gate(1)

  constructor(parts: { walk: WaitingWalk; messages: WaitingMessages; finder: Finder }) {
    this.#walk = parts.walk
    this.#messages = parts.messages
    this.#finder = parts.finder
  }

  /**
   * Adds to the tally what waits when its turn comes. What leaves while it counts may be counted
   * or not, and nothing twice. Errors: STORE_FAILED.
   */
  count(query: WaitingQuery, tally: Tally): Promise<void> {
    return this.#gate.run(1, () => {
      const isOfAll = query.matches === undefined
      return this.#walk.go(query, {
        recounts: false,
        takeWhole: chunk => {
          if (!isOfAll || this.#messages.mayCountLeftOvers(chunk)) return false
          return countWhole(chunk, query, tally)
        },
        meetInSlot: ref => {
          tally.add(ref.deliverTimeMs, 1)
          return true
        },
        meet: (ref, at) => this.#meet(ref, at, tally),
      })
    })
  }

  #meet(ref: TimerRef, at: MetAt, tally: Tally): Promise<void> | void {
    if (at.kind === 'somewhere') {
      return this.#finder.find(ref, state => {
        if (state.kind === 'waiting') tally.add(ref.deliverTimeMs, 1)
      })
    }
    tally.add(ref.deliverTimeMs, 1)
  }
}

/** Counts what waits in a chunk without reading it, if all of it is meant and in one step. */
function countWhole(chunk: Chunk, query: WaitingQuery, tally: Tally): boolean {
  const { dueMinMs, dueMaxMs } = chunk
  if (dueMinMs < query.fromMs || dueMaxMs >= query.toMs) return false
  if (tally.isOneStep(dueMinMs, dueMaxMs)) tally.add(dueMinMs, chunk.untakenCount)
  else if (chunk.untakenBytes > tally.readBytesMax) tally.spread(chunk, chunk.untakenCount)
  else return false
  return true
}
