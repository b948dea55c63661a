import type { Log } from '../../../core/platform/index.ts'
import type { Chunk } from '../chunk.ts'
import type { PagePool } from '../page-pool.ts'
import type { PartitionTable } from './partition-table.ts'

/** Moves staged messages from memory to their files. One file at a time. */
export class StagedWriter {
  readonly #table: PartitionTable
  readonly #pool: PagePool
  readonly #log: Log
  #running: Promise<void> | undefined

  constructor(table: PartitionTable, pool: PagePool, log: Log) {
    this.#table = table
    this.#pool = pool
    this.#log = log
  }

  /** Begins to write in the background until less than `bytes` is staged, unless it does already. */
  start(bytes: number, onDone: () => void): void {
    if (this.#running !== undefined) return
    this.#running = this.keepBelow(bytes)
      .catch((error: unknown) => {
        this.#log.error('waiting messages could not be written yet', error)
      })
      .finally(() => {
        this.#running = undefined
        onDone()
      })
  }

  async idle(): Promise<void> {
    await this.#running
  }

  /** Writes, largest first, until less than `bytes` is staged. Not durable yet. */
  async keepBelow(bytes: number): Promise<void> {
    if (this.#pool.stagedBytes < bytes) return
    const chunks = this.#chunks().toSorted((a, b) => b.file.stagedBytes - a.file.stagedBytes)
    for (const chunk of chunks) {
      if (this.#pool.stagedBytes < bytes) return
      await chunk.file.write()
    }
  }

  /** Everything staged before the call is durable when it resolves. */
  async writeAndSync(): Promise<void> {
    for (const chunk of this.#chunks()) {
      if (chunk.file.isDurable) continue
      await chunk.file.write()
      await chunk.file.sync()
    }
  }

  /** Removes the files of chunks that the durable manifest no longer names. */
  async removeCondemned(): Promise<void> {
    for (const chunk of this.#table.takeCondemned()) await chunk.file.remove()
  }

  #chunks(): Chunk[] {
    return [...this.#table.all()].flatMap(partition => partition.chunks)
  }
}
