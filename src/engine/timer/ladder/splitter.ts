import type { Log } from '../../../core/platform/index.ts'
import type { Chunk } from '../chunk.ts'
import { type ChunkVisitor, readChunk } from '../chunk-reader.ts'
import {
  TIMER_HEADER_BYTES,
  timerDeliverTimeMs,
  type TimerHeader,
  timerIdOf,
  timerRecordStart,
} from '../timer-record.ts'
import { heavyLanes } from './heavy-lanes.ts'
import { laneOf } from './lane.ts'
import type { Partition } from './partition.ts'
import type { PartitionTable } from './partition-table.ts'
import type { Removed } from './removed.ts'

/** One step reads this much: about 2 ms of work. */
const STEP_BYTES = 512 * 1024

/**
 * Takes chunks apart, in bounded steps: each is read once from start to end, and what still waits
 * is appended to other chunks. The manifest names how far it has got, together with the lengths of
 * what was written. What was moved to another time is left out, as is what was delivered; of
 * cancelled messages only that they are is kept.
 * A split gives topics that have little in the partition chunks of their own, so that they need not
 * wait until the room is there for the others.
 *
 * Each step returns how many messages were passed over because they are damaged. Messages due at
 * or before `firedMs` have been delivered.
 */
export class Splitter {
  readonly #table: PartitionTable
  readonly #log: Log
  readonly #removed: Removed
  readonly #mainLanes: WeakMap<Chunk, number>
  readonly #heavy = new WeakMap<Partition, ReadonlySet<number>>()

  constructor(parts: {
    table: PartitionTable
    log: Log
    removed: Removed
    /** Gets the lane of the first message of each chunk that a split writes. */
    mainLanes: WeakMap<Chunk, number>
  }) {
    this.#table = parts.table
    this.#log = parts.log
    this.#removed = parts.removed
    this.#mainLanes = parts.mainLanes
  }

  /**
   * Does one step on a chunk of a partition that is too large to load: distributes it over the next
   * finer rung.
   */
  async split(partition: Partition, chunk: Chunk, firedMs: number): Promise<number> {
    partition.isSplit = true
    partition.seal(chunk)
    const heavy = await this.#heavyOf(partition)
    return this.#step(partition, chunk, {
      firedMs,
      chunkFor: (deliverTimeMs, lane) => {
        const origin = lane === undefined || heavy.has(lane) ? 'split' : 'light'
        return this.#table.chunkFor(this.#table.forSplit(partition, deliverTimeMs), origin)
      },
    })
  }

  /** Does one step on a chunk that is mostly removed: its partition keeps what still waits. */
  rewrite(partition: Partition, chunk: Chunk, firedMs: number): Promise<number> {
    partition.sealBefore('rewriting', chunk)
    return this.#step(partition, chunk, {
      firedMs,
      chunkFor: () => this.#table.chunkFor(partition, 'rewriting'),
    })
  }

  async #step(
    partition: Partition,
    chunk: Chunk,
    to: {
      readonly firedMs: number
      /** The lane of a message that waits. */
      readonly chunkFor: (deliverTimeMs: number, lane: number | undefined) => Chunk
    },
  ): Promise<number> {
    partition.seal(chunk)
    const start = chunk.takenBytes
    let count = 0
    let removedCount = 0
    let lostCount = 0
    const visitor: ChunkVisitor = {
      record: (source, at, size) => {
        count++
        const recordBytes = size - TIMER_HEADER_BYTES
        const place = { chunk, position: start + at, recordBytes }
        const removal = this.#removed.meet(source, at, place)
        if (removal !== undefined) removedCount++
        const header = {
          deliverTimeMs: timerDeliverTimeMs(source, at),
          timerId: timerIdOf(source, at),
        }
        if (header.deliverTimeMs <= to.firedMs || removal === 'moved') return
        if (removal === 'cancelled') {
          to.chunkFor(header.deliverTimeMs, undefined).appendCancelled(header)
          return
        }
        const lane = laneOf(source, timerRecordStart(at))
        const target = to.chunkFor(header.deliverTimeMs, lane)
        if (!this.#mainLanes.has(target)) this.#mainLanes.set(target, lane)
        this.#move(target, header, { source, at, recordBytes })
      },
      end: position => {
        lostCount = chunk.moveOn(position, count, removedCount)
      },
    }
    const range = { position: start, bytesMax: STEP_BYTES }
    await readChunk(chunk, range, { log: this.#log, visitor })
    if (chunk.isDone) this.#table.condemnChunk(partition, chunk)
    return lostCount
  }

  async #heavyOf(partition: Partition): Promise<ReadonlySet<number>> {
    const known = this.#heavy.get(partition)
    if (known !== undefined) return known
    const heavy = await heavyLanes(partition)
    this.#heavy.set(partition, heavy)
    return heavy
  }

  #move(
    chunk: Chunk,
    header: TimerHeader,
    record: { readonly source: Buffer; readonly at: number; readonly recordBytes: number },
  ): void {
    const { source, at, recordBytes } = record
    const position = chunk.append(header, source, timerRecordStart(at), recordBytes)
    const place = { kind: 'chunk', chunk, position, recordBytes } as const
    this.#removed.pending.moved(header.timerId, place)
  }
}
