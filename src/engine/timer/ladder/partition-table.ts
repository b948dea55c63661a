import { BrokerError } from '../../../core/base/index.ts'
import { type Files, makeDurableDirectory } from '../../../core/platform/index.ts'
import { Chunk } from '../chunk.ts'
import type { PagePool } from '../page-pool.ts'
import { type ChunkOrigin, Partition, type PartitionSection } from './partition.ts'
import { partitionStart, type Rung, rungAt, rungForNew, rungNamed, rungs } from './rungs.ts'

/**
 * The partitions that exist, and which of them covers a deliver time. A few hundred, however many
 * messages wait.
 */
export class PartitionTable {
  readonly #files: Files
  readonly #pool: PagePool
  readonly #directory: string
  readonly #byRung: readonly Map<number, Partition>[] = rungs.map(() => new Map())
  #nextChunkNumber = 1
  /** Files that the next durable manifest no longer names. */
  #condemned: Chunk[] = []
  /** Folders that got a file since the last checkpoint. */
  readonly #touched = new Set<string>()

  constructor(files: Files, pool: PagePool, directory: string) {
    this.#files = files
    this.#pool = pool
    this.#directory = directory
  }

  *all(): Generator<Partition> {
    for (const partitions of this.#byRung) yield* partitions.values()
  }

  /** From the next due on. */
  inOrder(): Partition[] {
    return [...this.all()].toSorted((a, b) => a.startMs - b.startMs || b.rung.index - a.rung.index)
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
    const chunk = Chunk.create(this.#files, this.#pool, {
      path: this.#path(partition, number),
      number,
    })
    this.#touched.add(this.#rungDirectory(partition.rung))
    partition.addChunk(chunk, origin)
    return chunk
  }

  /** Takes a chunk out; its file goes once a manifest without it is durable. */
  condemnChunk(partition: Partition, chunk: Chunk): void {
    partition.dropChunk(chunk)
    this.#condemned.push(chunk)
  }

  /** Takes a whole partition out. */
  condemn(partition: Partition): void {
    for (const chunk of [...partition.chunks]) this.condemnChunk(partition, chunk)
    this.#byRung[partition.rung.index]?.delete(partition.startMs)
  }

  takeCondemned(): readonly Chunk[] {
    const condemned = this.#condemned
    this.#condemned = []
    return condemned
  }

  takeTouchedDirectories(): readonly string[] {
    const touched = [...this.#touched]
    this.#touched.clear()
    return touched
  }

  get nextChunkNumber(): number {
    return this.#nextChunkNumber
  }

  async makeDirectories(): Promise<void> {
    await makeDurableDirectory(this.#files, this.#directory)
    for (const rung of rungs) await this.#files.makeDirectory(this.#rungDirectory(rung))
    await this.#files.syncDirectory(this.#directory)
  }

  /** Opens what a manifest names, and removes what it does not. */
  async load(sections: readonly PartitionSection[], nextChunkNumber: number): Promise<void> {
    this.#nextChunkNumber = nextChunkNumber
    const named = new Set<string>()
    for (const section of sections) {
      const rung = rungNamed(section.rung)
      if (rung === undefined) {
        throw new BrokerError('STORE_DAMAGED', { file: 'manifest', rung: section.rung })
      }
      const partition = this.#make(rung, section.startMs)
      partition.isSplit = section.isSplit
      for (const chunkSection of section.chunks) {
        const path = this.#path(partition, chunkSection.number)
        named.add(path)
        const place = { path, section: chunkSection }
        partition.addChunk(await Chunk.load(this.#files, this.#pool, place), undefined)
      }
    }
    await this.#removeUnnamed(named)
  }

  async #removeUnnamed(named: ReadonlySet<string>): Promise<void> {
    for (const rung of rungs) {
      const directory = this.#rungDirectory(rung)
      for (const name of await this.#files.list(directory)) {
        const path = `${directory}/${name}`
        if (!named.has(path)) await this.#files.remove(path)
      }
    }
  }

  /** Follows splits downwards until a partition takes messages itself. */
  #unsplit(from: Rung, deliverTimeMs: number): Partition {
    let rung = from
    for (;;) {
      const startMs = partitionStart(rung, deliverTimeMs)
      const partition = this.#byRung[rung.index]?.get(startMs) ?? this.#make(rung, startMs)
      if (!partition.isSplit) return partition
      rung = rungAt(rung.index + 1)
    }
  }

  #make(rung: Rung, startMs: number): Partition {
    const partition = new Partition(rung, startMs)
    this.#byRung[rung.index]?.set(startMs, partition)
    return partition
  }

  #rungDirectory(rung: Rung): string {
    return `${this.#directory}/${rung.name}`
  }

  #path(partition: Partition, number: number): string {
    return `${this.#rungDirectory(partition.rung)}/${partition.startMs}-${number}`
  }
}
