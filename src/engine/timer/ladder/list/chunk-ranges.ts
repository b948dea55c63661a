import type { Log, Timers } from '../../../../core/platform/index.ts'
import type { Chunk } from '../../chunk.ts'
import { readChunk } from '../../chunk-reader.ts'
import type { PendingRemovals } from '../../pending-removals.ts'
import { timerDeliverTimeMs, timerIdOf, timerRecordStart } from '../../timer-record.ts'
import type { TimerRef } from '../chunk-search.ts'
import type { Finder } from '../finder.ts'
import type { WaitingMessages } from './waiting-messages.ts'

const READ_BYTES = 512 * 1024

/** A part of a chunk, between two of its messages. */
export interface ChunkRange {
  readonly chunk: Chunk
  readonly from: number
  readonly to: number
}

/** What waits in a chunk alone, at this moment. */
export function untakenRange(chunk: Chunk): ChunkRange {
  return { chunk, from: chunk.takenBytes, to: chunk.sizeBytes }
}

/** Shown a waiting message: its accept record lies in `source` from `from` to `to`. */
export type SeeRecord = (ref: TimerRef, source: Buffer, from: number, to: number) => void

/** Reads ranges of chunks in steps of 512 KB, with a turn of the loop after each. */
export class ChunkRanges {
  readonly #parts: {
    readonly timers: Timers
    readonly log: Log
    readonly messages: WaitingMessages
    readonly removals: PendingRemovals
    readonly finder: Finder
  }

  constructor(parts: {
    timers: Timers
    log: Log
    messages: WaitingMessages
    removals: PendingRemovals
    finder: Finder
  }) {
    this.#parts = parts
  }

  /**
   * Makes sure that ranges can be read although their messages move on meanwhile, until the
   * returned function is called.
   */
  hold(ranges: readonly ChunkRange[]): () => void {
    const releases = [this.#parts.removals.observe(), ...ranges.map(({ chunk }) => chunk.hold())]
    return () => {
      for (const release of releases) release()
    }
  }

  /** Shows what waits in a range that is held. Damage is reported and passed over. */
  async read({ chunk, from, to }: ChunkRange, see: SeeRecord): Promise<void> {
    const { timers, log, messages } = this.#parts
    for (let position = from; position < to;) {
      const start = position
      const movedOn: TimerRef[] = []
      const visitor = {
        record: (source: Buffer, at: number, size: number): void => {
          const timerId = timerIdOf(source, at)
          const ref = { timerId, deliverTimeMs: timerDeliverTimeMs(source, at) }
          if (start + at < chunk.takenBytes) movedOn.push(ref)
          else if (messages.waitsInChunk(source, at)) {
            see(ref, source, timerRecordStart(at), at + size)
          }
        },
      }
      const range = { position, bytesMax: Math.min(READ_BYTES, to - position) }
      position = await readChunk(chunk, range, { visitor, log })
      for (const ref of movedOn) await this.#follow(ref, see)
      await new Promise<void>(resolve => timers.soon(resolve))
    }
  }

  /** The chunk was loaded or split meanwhile: what it says of this message is out of date. */
  #follow(ref: TimerRef, see: SeeRecord): Promise<void> {
    return this.#parts.finder.find(ref, state => {
      if (state.kind === 'waiting') see(ref, state.record, 0, state.record.length)
    })
  }
}
