import type { Log } from '../../../core/platform/index.ts'
import { CHUNK_HEADER_BYTES, type Chunk } from '../chunk.ts'
import { ChunkIndex, type Stretch } from '../chunk-index.ts'
import { readChunk } from '../chunk-reader.ts'
import {
  timerDeliverTimeMs,
  timerIdOf,
  timerMark,
  type TimerMark,
  timerRecordStart,
} from '../timer-record.ts'

const READ_BYTES = 512 * 1024

/** A scheduled message by the time it is due and its timer id. */
export interface TimerRef {
  readonly timerId: number
  readonly deliverTimeMs: number
}

/** A message in a chunk. */
export interface ChunkFind {
  readonly chunk: Chunk
  readonly position: number
  readonly mark: TimerMark
  /** Its accept record. */
  readonly record: Buffer
}

/** Finds messages in chunks by their timer ids: a read or two each. */
export class ChunkSearch {
  readonly #log: Log
  /** Indexes that are being made: many may ask for one at once. */
  readonly #making = new Map<Chunk, Promise<ChunkIndex>>()

  constructor(log: Log) {
    this.#log = log
  }

  /** Looks behind what is done with in the chunk. */
  async find(chunk: Chunk, ref: TimerRef): Promise<ChunkFind | undefined> {
    if (ref.deliverTimeMs < chunk.dueMinMs || ref.deliverTimeMs > chunk.dueMaxMs) return undefined
    const index = await this.indexOf(chunk)
    for (const stretch of index.stretchesOf(ref.timerId)) {
      if (stretch.to <= chunk.doneBytes) continue
      const found = await this.#findIn(chunk, stretch, ref)
      if (found !== undefined && found.position >= chunk.doneBytes) return found
    }
    return undefined
  }

  async #findIn(chunk: Chunk, stretch: Stretch, ref: TimerRef): Promise<ChunkFind | undefined> {
    const found: ChunkFind[] = []
    let position = stretch.from
    while (position < stretch.to && found.length === 0) {
      const start = position
      const visitor = {
        record: (source: Buffer, at: number, size: number): void => {
          if (timerIdOf(source, at) !== ref.timerId) return
          if (timerDeliverTimeMs(source, at) !== ref.deliverTimeMs) return
          const mark = timerMark(source, at)
          const record = Buffer.from(source.subarray(timerRecordStart(at), at + size))
          found.push({ chunk, position: start + at, mark, record })
        },
      }
      const range = { position, bytesMax: Math.min(READ_BYTES, stretch.to - position) }
      position = await readChunk(chunk, range, { visitor, log: this.#log })
    }
    return found[0]
  }

  /** Made, by reading the whole chunk, when it is first asked for after a start. */
  async indexOf(chunk: Chunk): Promise<ChunkIndex> {
    return chunk.index ?? (await this.#made(chunk))
  }

  #made(chunk: Chunk): Promise<ChunkIndex> {
    let making = this.#making.get(chunk)
    if (making === undefined) {
      making = this.#makeIndex(chunk).finally(() => this.#making.delete(chunk))
      this.#making.set(chunk, making)
    }
    return making
  }

  /** What is appended meanwhile is read too. */
  async #makeIndex(chunk: Chunk): Promise<ChunkIndex> {
    const index = new ChunkIndex()
    let position = CHUNK_HEADER_BYTES
    while (position < chunk.sizeBytes) {
      const start = position
      const visitor = {
        record: (source: Buffer, at: number, size: number): void => {
          index.add(timerIdOf(source, at), start + at, start + at + size)
        },
      }
      position = await readChunk(
        chunk,
        { position, bytesMax: READ_BYTES },
        { visitor, log: this.#log },
      )
    }
    chunk.index ??= index
    return chunk.index
  }
}
