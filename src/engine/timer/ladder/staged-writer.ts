import { operatingError } from '../../../core/base/index.ts'
import type { Platform } from '../../../core/platform/index.ts'
import type { Chunk } from '../chunk.ts'
import type { PagePool } from '../page-pool.ts'
import type { PartitionTable } from './partition-table.ts'

/** Pause after a write has failed, before anybody tries again. */
const FAILED_PAUSE_MS = 500

/** Moves staged messages from memory to their files. One file at a time. */
export class StagedWriter {
  readonly #platform: Platform
  readonly #table: PartitionTable
  readonly #pool: PagePool
  #running: Promise<void> | undefined

  constructor(platform: Platform, table: PartitionTable, pool: PagePool) {
    this.#platform = platform
    this.#table = table
    this.#pool = pool
  }

  /** Begins to write in the background until less than `bytes` is staged, unless it does already. */
  start(bytes: number, onDone: () => void): void {
    if (this.#running !== undefined) return
    const isOver = (): void => {
      this.#running = undefined
      onDone()
    }
    this.#running = this.keepBelow(bytes).then(isOver, (error: unknown) => {
      const reason = operatingError(error)
      this.#platform.log.error('waiting messages could not be written yet', reason)
      this.#platform.timers.after(FAILED_PAUSE_MS, isOver)
    })
  }

  async idle(): Promise<void> {
    await this.#running
  }

  /** Writes, largest first, until less than `bytes` is staged. Not durable yet. */
  async keepBelow(bytes: number): Promise<void> {
    if (this.#pool.stagedBytes < bytes) return
    const chunks = this.#table.chunks().filter(chunk => chunk.file.stagedBytes > 0)
    for (const chunk of chunks.toSorted((a, b) => b.file.stagedBytes - a.file.stagedBytes)) {
      if (this.#pool.stagedBytes < bytes) return
      await chunk.file.write()
    }
  }

  /** Everything that the chunks hold is durable when it resolves, and so are their names. */
  async writeAndSync(chunks: readonly Chunk[]): Promise<void> {
    const made: Chunk[] = []
    for (const chunk of chunks) {
      if (!chunk.file.isDurable) {
        await chunk.file.write()
        await chunk.file.writeChanges()
        await chunk.file.sync()
      }
      if (!chunk.file.isNamed) made.push(chunk)
    }
    for (const directory of new Set(made.map(chunk => chunk.file.directory))) {
      await this.#platform.files.syncDirectory(directory)
    }
    for (const chunk of made) chunk.file.markNamed()
  }

  /** Removes the files of chunks that the durable snapshot does not name. */
  async removeCondemned(): Promise<void> {
    for (const chunk of this.#table.takeRemovable()) await chunk.remove()
  }
}
