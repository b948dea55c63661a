import { type Log, othersTurn, type Timers } from '../../../../core/platform/index.ts'
import type { Chunk } from '../../chunk.ts'
import { readChunk } from '../../chunk-reader.ts'
import type { PendingRemovals } from '../../pending-removals.ts'
import type { RemovalRecount } from '../../removal-recount.ts'
import {
  TIMER_HEADER_BYTES,
  timerDeliverTimeMs,
  timerIdOf,
  timerRecordStart,
} from '../../timer-record.ts'
import type { TimerRef } from '../chunk-search.ts'
import type { WaitingMessages } from './waiting-messages.ts'

const READ_BYTES = 512 * 1024

/** A part of a chunk, between two of its messages. */
export interface ChunkRange {
  readonly chunk: Chunk
  readonly from: number
  readonly to: number
  /** Marks may be in the file, and not counted: whoever reads the range counts them. */
  readonly recount?: RemovalRecount | undefined
}

/** What waits in a chunk alone, at this moment. */
export function untakenRange(chunk: Chunk, recounts = false): ChunkRange {
  const recount = recounts ? chunk.beginRecount() : undefined
  return { chunk, from: chunk.takenBytes, to: chunk.sizeBytes, recount }
}

/** Where a message lies in its chunk, and its accept record in what was read. */
export interface RecordAt {
  readonly position: number
  readonly source: Buffer
  readonly from: number
  readonly to: number
}

export interface RangeVisitor {
  /** Whether the message with the accept record at `from` is meant. */
  readonly wants: (ref: TimerRef, source: Buffer, from: number) => boolean
  /** One that is, and waits in the chunk at this moment. */
  readonly see: (ref: TimerRef, at: RecordAt) => void
  /** One that is, and that was loaded or split since the range was taken. */
  readonly follow: (ref: TimerRef) => Promise<void>
}

/** Reads ranges of chunks in steps of 512 KB, with a turn of the loop after each. */
export class ChunkRanges {
  readonly #parts: {
    readonly timers: Timers
    readonly log: Log
    readonly messages: WaitingMessages
    readonly removals: PendingRemovals
  }

  constructor(parts: {
    timers: Timers
    log: Log
    messages: WaitingMessages
    removals: PendingRemovals
  }) {
    this.#parts = parts
  }

  /** Shows what waits in a range; its chunk must be held. Damage is reported and passed over. */
  async read(range: ChunkRange, visitor: RangeVisitor): Promise<void> {
    const { timers } = this.#parts
    const { chunk, from, to, recount } = range
    for (let position = from; position < to;) {
      const movedOn: TimerRef[] = []
      const bytesMax = Math.min(READ_BYTES, to - position)
      position = await this.#readBlock(range, { position, bytesMax }, { visitor, movedOn })
      for (const ref of movedOn) await visitor.follow(ref)
      await othersTurn(timers)
    }
    if (recount !== undefined) chunk.endRecount(recount)
  }

  async #readBlock(
    { chunk, recount }: ChunkRange,
    range: { readonly position: number; readonly bytesMax: number },
    { visitor, movedOn }: { readonly visitor: RangeVisitor; readonly movedOn: TimerRef[] },
  ): Promise<number> {
    const { log, messages, removals } = this.#parts
    const record = (source: Buffer, at: number, size: number): void => {
      if (recount !== undefined) this.#recount(recount, { source, at, size }, range.position + at)
      if (!messages.waitsInChunk(source, at)) return
      const ref = { timerId: timerIdOf(source, at), deliverTimeMs: timerDeliverTimeMs(source, at) }
      const start = timerRecordStart(at)
      if (!visitor.wants(ref, source, start)) return
      const position = range.position + at
      if (position < chunk.takenBytes) movedOn.push(ref)
      else visitor.see(ref, { position, source, from: start, to: at + size })
    }
    const observed = removals.observe()
    try {
      return await readChunk(chunk, range, { log, visitor: { record } })
    } finally {
      observed()
    }
  }

  #recount(
    recount: RemovalRecount,
    { source, at, size }: { readonly source: Buffer; readonly at: number; readonly size: number },
    position: number,
  ): void {
    const { messages } = this.#parts
    const isMarked = messages.isMarkedInChunk(source, at)
    const isCounted = isMarked && !messages.isRecovered(timerIdOf(source, at))
    recount.read(position, size - TIMER_HEADER_BYTES, isCounted)
  }
}

/** Keeps the files of chunks, whatever becomes of their messages, until it is called back. */
export function holdChunks(ranges: readonly ChunkRange[]): () => void {
  const releases = ranges.map(({ chunk }) => chunk.hold())
  return () => {
    for (const release of releases) release()
  }
}
