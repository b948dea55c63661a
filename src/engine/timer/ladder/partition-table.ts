import { BrokerError } from '../../../core/base/index.ts'
import { makeDurableDirectory, type Platform } from '../../../core/platform/index.ts'
import { Chunk } from '../chunk.ts'
import type { PagePool } from '../page-pool.ts'
import { chunkFile, type PartitionSection } from './ladder-section.ts'
import { type ChunkOrigin, Partition } from './partition.ts'
import { partitionStart, type Rung, rungAt, rungForNew, rungNamed, rungs } from './rungs.ts'

/**
 * The partitions that exist, and which of them covers a deliver time. A few hundred, however many
 * messages wait.
 */
export class PartitionTable {
  readonly #platform: Platform
  readonly #pool: PagePool
  readonly #directory: string
  readonly #byRung: readonly Map<number, Partition>[] = rungs.map(() => new Map())
  #nextChunkNumber = 1
  /** Taken out since the latest snapshot, which still names them. */
  #condemned: Chunk[] = []
  /** Taken out before the latest snapshot: they may go once it is durable. */
  #removable: Chunk[] = []

  constructor(platform: Platform, pool: PagePool, directory: string) {
    this.#platform = platform
    this.#pool = pool
    this.#directory = directory
  }

  *all(): Generator<Partition> {
    for (const partitions of this.#byRung) yield* partitions.values()
  }

  /** The partitions that may hold a message due then, from coarse to fine. */
  *covering(deliverTimeMs: number): Generator<Partition> {
    for (const rung of rungs) {
      const partition = this.#byRung[rung.index]?.get(partitionStart(rung, deliverTimeMs))
      if (partition !== undefined) yield partition
    }
  }

  /** Those with messages that are neither in the window nor moved on. */
  untakenChunks(): Chunk[] {
    const chunks: Chunk[] = []
    for (const partition of this.all()) {
      for (const chunk of partition.chunks) if (chunk.untakenBytes > 0) chunks.push(chunk)
    }
    return chunks
  }

  /** Every chunk that may have bytes in memory. */
  chunks(): Chunk[] {
    const chunks = [...this.#removable, ...this.#condemned]
    for (const partition of this.all()) chunks.push(...partition.chunks)
    return chunks
  }

  /** The partition for a new message: the coarsest possible one that is not split already. */
  forNew(deliverTimeMs: number, nowMs: number): Partition {
    return this.#unsplit(rungForNew(deliverTimeMs, nowMs), deliverTimeMs)
  }

  /** The partition of the next finer rung for a message of one that is being split. */
  forSplit(parent: Partition, deliverTimeMs: number): Partition {
    return this.#unsplit(rungAt(parent.rung.index + 1), deliverTimeMs)
  }

  /** The chunk of a partition that takes messages of this origin. */
  chunkFor(partition: Partition, origin: ChunkOrigin): Chunk {
    const open = partition.openChunk(origin)
    if (open !== undefined) return open
    const number = this.#nextChunkNumber++
    const chunk = Chunk.create(this.#platform.files, this.#pool, {
      path: this.#path(chunkFile(partition.rung.name, partition.startMs, number)),
      number,
    })
    partition.addChunk(chunk, origin)
    return chunk
  }

  /**
   * Hands a chunk of a partition that is too large to load to the one of the next finer rung, if all
   * of it is due there and nothing of it has moved on: nothing need be copied, and its file stays
   * where it is.
   */
  handDown(parent: Partition, chunk: Chunk): void {
    parent.isSplit = true
    const rung = rungAt(parent.rung.index + 1)
    const startMs = partitionStart(rung, chunk.dueMinMs)
    if (!chunk.isUntouched || partitionStart(rung, chunk.dueMaxMs) !== startMs) return
    parent.dropChunk(chunk)
    this.#at(rung, startMs).addChunk(chunk, undefined)
  }

  /** Takes a chunk out; its file goes once a snapshot without it is durable. */
  condemnChunk(partition: Partition, chunk: Chunk): void {
    partition.dropChunk(chunk)
    this.#condemned.push(chunk)
  }

  /** Takes out a partition that has no chunk left. */
  drop(partition: Partition): void {
    this.#byRung[partition.rung.index]?.delete(partition.startMs)
  }

  /** A snapshot is taken: what was condemned so far is not in it. */
  beginSnapshot(): void {
    this.#removable.push(...this.#condemned)
    this.#condemned = []
  }

  /** The latest snapshot is durable: the chunks that it does not name, and that nobody reads. */
  takeRemovable(): readonly Chunk[] {
    const removable = this.#removable.filter(chunk => !chunk.isHeld)
    this.#removable = this.#removable.filter(chunk => chunk.isHeld)
    return removable
  }

  get nextChunkNumber(): number {
    return this.#nextChunkNumber
  }

  async makeDirectories(): Promise<void> {
    const { files } = this.#platform
    await makeDurableDirectory(files, this.#directory)
    for (const rung of rungs) await files.makeDirectory(this.#rungDirectory(rung))
    await files.syncDirectory(this.#directory)
  }

  /** Opens what a manifest names. */
  async load(sections: readonly PartitionSection[], nextChunkNumber: number): Promise<void> {
    this.#nextChunkNumber = nextChunkNumber
    for (const section of sections) {
      const rung = rungNamed(section.rung)
      if (rung === undefined) {
        throw new BrokerError('STORE_DAMAGED', { file: 'manifest', rung: section.rung })
      }
      const partition = this.#make(rung, section.startMs)
      partition.isSplit = section.isSplit
      for (const chunkSection of section.chunks) {
        const place = { path: this.#path(chunkSection.file), section: chunkSection }
        partition.addChunk(await Chunk.load(this.#platform, this.#pool, place), undefined)
      }
    }
  }

  /** Removes what the manifest did not name; right after `load`. */
  async removeUnnamed(): Promise<void> {
    const { files } = this.#platform
    const named = new Set(this.chunks().map(chunk => chunk.file.path))
    for (const rung of rungs) {
      const directory = this.#rungDirectory(rung)
      for (const name of await files.list(directory)) {
        const path = `${directory}/${name}`
        if (!named.has(path)) await files.remove(path)
      }
    }
  }

  /** Follows splits downwards until a partition takes messages itself. */
  #unsplit(from: Rung, deliverTimeMs: number): Partition {
    let rung = from
    for (;;) {
      const partition = this.#at(rung, partitionStart(rung, deliverTimeMs))
      if (!partition.isSplit) return partition
      rung = rungAt(rung.index + 1)
    }
  }

  #at(rung: Rung, startMs: number): Partition {
    return this.#byRung[rung.index]?.get(startMs) ?? this.#make(rung, startMs)
  }

  #make(rung: Rung, startMs: number): Partition {
    const partition = new Partition(rung, startMs)
    this.#byRung[rung.index]?.set(startMs, partition)
    return partition
  }

  #rungDirectory(rung: Rung): string {
    return this.#path(rung.name)
  }

  #path(file: string): string {
    return `${this.#directory}/${file}`
  }
}
