import type { Chunk } from '../chunk.ts'
import type { PartitionSection } from './ladder-section.ts'
import type { Rung } from './rungs.ts'

/**
 * How a chunk came to be: from new messages, from a split, from near arrivals that are in the
 * window already, or from another chunk of the partition that was mostly removed. A split parts what
 * is of topics that have little in the partition (`light`) from the rest. Each has a chunk of its own.
 */
export type ChunkOrigin = 'arrival' | 'split' | 'light' | 'direct' | 'rewriting'

/** All messages due in one interval, in chunks. */
export class Partition {
  readonly rung: Rung
  readonly startMs: number
  /** It was too large to load: its messages, also new ones, go to the next finer rung. */
  isSplit = false
  chunks: Chunk[] = []
  readonly #open = new Map<ChunkOrigin, Chunk>()

  constructor(rung: Rung, startMs: number) {
    this.rung = rung
    this.startMs = startMs
  }

  get endMs(): number {
    return this.startMs + this.rung.widthMs
  }

  /** Bytes that are neither in the window nor moved on. */
  get untakenBytes(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.untakenBytes, 0)
  }

  /** Memory that its messages take in the window. */
  get blockBytes(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.blockBytes, 0)
  }

  get untakenCount(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.untakenCount, 0)
  }

  /**
   * What is to be loaded or split next: a chunk that was begun to be loaded, else the earliest, of
   * those due at one time the one that was accepted first.
   */
  get nextChunk(): Chunk | undefined {
    let next: Chunk | undefined
    for (const chunk of this.chunks) {
      if (chunk.untakenBytes === 0) continue
      if (chunk.isLoading) return chunk
      if (next === undefined || isBefore(chunk, next)) next = chunk
    }
    return next
  }

  /** Earliest deliver time in `nextChunk`; Infinity when there is none. */
  get nextDueMs(): number {
    return this.nextChunk?.dueMinMs ?? Infinity
  }

  /** Least timer id in `nextChunk`; Infinity when there is none. */
  get nextTimerId(): number {
    return this.nextChunk?.timerIdMin ?? Infinity
  }

  /** From here on the chunk takes no more messages: it is being loaded. */
  seal(chunk: Chunk): void {
    for (const [origin, open] of this.#open) if (open === chunk) this.#open.delete(origin)
  }

  /**
   * Closes an open chunk of this origin that lies before `chunk`: whoever looks for a message must
   * meet its old place first.
   */
  sealBefore(origin: ChunkOrigin, chunk: Chunk): void {
    const open = this.#open.get(origin)
    if (open === undefined || this.chunks.indexOf(open) > this.chunks.indexOf(chunk)) return
    this.#open.delete(origin)
  }

  /** Earliest deliver time of what is not in the window; Infinity when all is. */
  get untakenDueMinMs(): number {
    let min = Infinity
    for (const chunk of this.chunks) {
      if (chunk.untakenBytes > 0) min = Math.min(min, Math.max(chunk.dueMinMs, this.startMs))
    }
    return min
  }

  openChunk(origin: ChunkOrigin): Chunk | undefined {
    const chunk = this.#open.get(origin)
    return chunk === undefined || chunk.isFull ? undefined : chunk
  }

  addChunk(chunk: Chunk, origin: ChunkOrigin | undefined): void {
    this.chunks.push(chunk)
    if (origin !== undefined) this.#open.set(origin, chunk)
  }

  /** Lets go of a chunk whose messages have all moved on. */
  dropChunk(chunk: Chunk): void {
    this.chunks = this.chunks.filter(candidate => candidate !== chunk)
    this.seal(chunk)
  }

  section(): PartitionSection {
    return {
      rung: this.rung.name,
      startMs: this.startMs,
      isSplit: this.isSplit,
      chunks: this.chunks.map(chunk => ({ ...chunk.section(), file: fileOf(chunk) })),
    }
  }
}

function isBefore(chunk: Chunk, other: Chunk): boolean {
  if (chunk.dueMinMs !== other.dueMinMs) return chunk.dueMinMs < other.dueMinMs
  return chunk.timerIdMin < other.timerIdMin
}

/** Path in the folder of the ladder. */
function fileOf(chunk: Chunk): string {
  const { path, directory } = chunk.file
  return path.slice(directory.lastIndexOf('/') + 1)
}
