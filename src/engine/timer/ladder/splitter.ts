import type { Log } from '../../../core/platform/index.ts'
import type { Chunk } from '../chunk.ts'
import { readChunk } from '../chunk-reader.ts'
import { TIMER_HEADER_BYTES, timerDeliverTimeMs, timerIdOf } from '../timer-record.ts'
import type { Partition } from './partition.ts'
import type { PartitionTable } from './partition-table.ts'

/** One step reads this much: about 2 ms of work. */
const STEP_BYTES = 512 * 1024

/**
 * Distributes a partition that is too large to load over the next finer rung. Reads it once from
 * start to end, in bounded steps; the manifest names how far it has got, together with the lengths
 * of what it wrote.
 */
export class Splitter {
  readonly #table: PartitionTable
  readonly #log: Log

  constructor(table: PartitionTable, log: Log) {
    this.#table = table
    this.#log = log
  }

  /**
   * Does one step on a chunk of the partition. Messages due at or before `firedMs` have been
   * delivered and are left out. Returns how many were passed over because they are damaged.
   */
  async step(partition: Partition, chunk: Chunk, firedMs: number): Promise<number> {
    partition.isSplit = true
    partition.seal(chunk)
    let count = 0
    const position = await readChunk(
      chunk,
      { position: chunk.takenBytes, bytesMax: STEP_BYTES },
      {
        log: this.#log,
        visitor: {
          record: (source, at, size) => {
            count++
            const deliverTimeMs = timerDeliverTimeMs(source, at)
            if (deliverTimeMs > firedMs) this.#move(partition, { source, at, size, deliverTimeMs })
          },
        },
      },
    )
    const lostCount = chunk.moveOn(position, count)
    if (chunk.isDone) this.#table.condemnChunk(partition, chunk)
    return lostCount
  }

  #move(
    partition: Partition,
    record: { source: Buffer; at: number; size: number; deliverTimeMs: number },
  ): void {
    const child = this.#table.forSplit(partition, record.deliverTimeMs)
    const header = {
      deliverTimeMs: record.deliverTimeMs,
      timerId: timerIdOf(record.source, record.at),
    }
    const start = record.at + TIMER_HEADER_BYTES
    this.#table
      .chunkFor(child, 'split')
      .append(header, record.source, start, record.size - TIMER_HEADER_BYTES)
  }
}
