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
 * Distributes a partition that is too large to load over the next finer rung. A chunk that is due
 * in one partition there is handed down as it is; others are read once from start to end, in
 * bounded steps: the manifest names how far it has got, together with the lengths of what it wrote.
 * Topics that have little in the partition get chunks of their own, so that they need not wait until
 * the room is there for the others.
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
   * Does one step on a chunk of the partition. Messages due at or before `firedMs` have been
   * delivered and are left out, as moved ones are; of cancelled ones only that they are is kept. Returns how many were
   * passed over because they are damaged.
   */
  async step(partition: Partition, chunk: Chunk, firedMs: number): Promise<number> {
    partition.isSplit = true
    if (this.#table.handDown(partition, chunk)) return 0
    partition.seal(chunk)
    const heavy = await this.#heavyOf(partition)
    const start = chunk.takenBytes
    let count = 0
    let removedCount = 0
    let lostCount = 0
    const visitor: ChunkVisitor = {
      record: (source, at, size) => {
        count++
        const removal = this.#removed.meet(source, at, { chunk, position: start + at })
        if (removal !== undefined) removedCount++
        const header = {
          deliverTimeMs: timerDeliverTimeMs(source, at),
          timerId: timerIdOf(source, at),
        }
        if (header.deliverTimeMs <= firedMs || removal === 'moved') return
        const child = this.#table.forSplit(partition, header.deliverTimeMs)
        if (removal === 'cancelled') {
          this.#table.chunkFor(child, 'split').appendCancelled(header)
          return
        }
        const lane = laneOf(source, timerRecordStart(at))
        const target = this.#table.chunkFor(child, heavy.has(lane) ? 'split' : 'light')
        if (!this.#mainLanes.has(target)) this.#mainLanes.set(target, lane)
        this.#move(target, header, { source, at, size })
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
    record: { readonly source: Buffer; readonly at: number; readonly size: number },
  ): void {
    const start = record.at + TIMER_HEADER_BYTES
    const position = chunk.append(header, record.source, start, record.size - TIMER_HEADER_BYTES)
    this.#removed.pending.moved(header.timerId, { kind: 'chunk', chunk, position })
  }
}
