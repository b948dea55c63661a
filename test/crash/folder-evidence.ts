import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { decodeManifest, type Manifest } from '../../src/engine/store/index.ts'
import { ladderSectionOf, rungNamed, rungs } from '../../src/engine/timer/index.ts'

/** New messages go to partitions of a minute or more: what is finer comes from a split. */
const MINUTE_RUNG = 3

interface Partition {
  readonly rungIndex: number
  readonly startMs: number
}

interface ChunkFile {
  /** `rung/name`. */
  readonly path: string
  readonly number: number
  readonly sizeBytes: number
  readonly partition: Partition
}

/** What the files of a killed broker say about the moment in which it was killed. */
export class FolderEvidence {
  readonly #directory: string
  readonly #manifest: Manifest | undefined
  readonly #copiesDiffer: boolean

  constructor(dataDirectory: string) {
    this.#directory = join(dataDirectory, 'orrery')
    const a = this.#readManifest('manifest-a')
    const b = this.#readManifest('manifest-b')
    this.#manifest = (a?.generation ?? -1) >= (b?.generation ?? -1) ? a : b
    this.#copiesDiffer = a?.generation !== b?.generation
  }

  /**
   * A checkpoint had begun to write and was not done: the copies of the manifest differ, or files
   * of waiting messages are not as the newest one says.
   */
  get isInCheckpoint(): boolean {
    if (this.#copiesDiffer) return true
    const named = this.#namedSizes()
    for (const { path, sizeBytes } of this.#files()) {
      if (named.get(path) !== sizeBytes) return true
    }
    return false
  }

  /**
   * Messages were on their way to a finer rung: the newest manifest names a partition of which some
   * have gone, or what a split has written is there and no manifest says that it is complete.
   */
  get isInSplit(): boolean {
    const { partitions, nextChunkNumber } = this.#ladder()
    const named = partitions.map(({ rung, startMs, isSplit, chunks }) => {
      return { rungIndex: indexOf(rung), startMs, isSplit, isEmpty: chunks.length === 0 }
    })
    if (named.some(({ isSplit, isEmpty }) => isSplit && !isEmpty)) return true
    return [...this.#files()].some(({ number, partition }) => {
      if (partition.rungIndex <= MINUTE_RUNG || number < nextChunkNumber) return false
      return !named.some(other => other.isSplit && other.isEmpty && isParent(other, partition))
    })
  }

  #readManifest(name: string): Manifest | undefined {
    const path = join(this.#directory, name)
    return existsSync(path) ? decodeManifest(readFileSync(path)) : undefined
  }

  #ladder(): ReturnType<typeof ladderSectionOf> {
    return ladderSectionOf(this.#manifest?.sections['ladder'])
  }

  /** Lengths of files by `rung/name`. */
  #namedSizes(): ReadonlyMap<string, number> {
    const sizes = new Map<string, number>()
    for (const { rung, startMs, chunks } of this.#ladder().partitions) {
      for (const { number, sizeBytes } of chunks) {
        sizes.set(`${rung}/${startMs}-${number}`, sizeBytes)
      }
    }
    return sizes
  }

  *#files(): Generator<ChunkFile> {
    for (const { name: rung, index } of rungs) {
      const directory = join(this.#directory, 'ladder', rung)
      if (!existsSync(directory)) continue
      for (const name of readdirSync(directory)) {
        const sizeBytes = statSync(join(directory, name)).size
        const [startMs = NaN, number = NaN] = name.split('-').map(Number)
        const partition = { rungIndex: index, startMs }
        yield { path: `${rung}/${name}`, number, sizeBytes, partition }
      }
    }
  }
}

function indexOf(rung: string): number {
  return rungNamed(rung)?.index ?? -1
}

function isParent(parent: Partition, child: Partition): boolean {
  const widthMs = rungs[parent.rungIndex]?.widthMs ?? 0
  const isNext = parent.rungIndex + 1 === child.rungIndex
  return isNext && child.startMs >= parent.startMs && child.startMs < parent.startMs + widthMs
}
