import { Gate } from '../../../core/base/index.ts'
import type { Log } from '../../../core/platform/index.ts'
import { CHUNK_HEADER_BYTES, type Chunk } from '../chunk.ts'
import type { ChunkIndex, Stretch } from '../chunk-index.ts'
import { readChunk } from '../chunk-reader.ts'
import {
  checkTimerRecord,
  isMarkSound,
  TIMER_HEADER_BYTES,
  timerDeliverTimeMs,
  timerIdOf,
  timerMark,
  type TimerMark,
  timerRecordSize,
  timerRecordStart,
} from '../timer-record.ts'

const READ_BYTES = 512 * 1024
/** Memory for a glance, and how many looks there are at once. */
const GLANCE_BYTES = 128 * 1024
const LOOK_COUNT_MAX = 8
/** What a glance at a block has come to. */
const NOWHERE = -1
const UNSURE = -2

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
  readonly #gate = new Gate(LOOK_COUNT_MAX)
  /** Memory for blocks, used again and again. */
  readonly #free: Buffer[] = []
  /** Indexes that are being made: many may ask for one at once. */
  readonly #making = new Map<Chunk, Promise<ChunkIndex>>()

  constructor(log: Log) {
    this.#log = log
  }

  /** Looks behind what is done with in the chunk. */
  async find(chunk: Chunk, ref: TimerRef): Promise<ChunkFind | undefined> {
    if (ref.deliverTimeMs < chunk.dueMinMs || ref.deliverTimeMs > chunk.dueMaxMs) return undefined
    const release = chunk.hold()
    try {
      return await this.#findHeld(chunk, ref)
    } finally {
      release()
    }
  }

  async #findHeld(chunk: Chunk, ref: TimerRef): Promise<ChunkFind | undefined> {
    const index = await this.indexOf(chunk)
    for (const stretch of index.stretchesOf(ref.timerId)) {
      if (stretch.to <= chunk.doneBytes) continue
      const found = await this.#findIn(chunk, stretch, ref)
      if (found !== undefined && found.position >= chunk.doneBytes) return found
    }
    return undefined
  }

  /**
   * A glance from header to header, which believes what they say and checks the message alone, tells
   * nearly always; where they do not fit together, every checksum is looked at.
   */
  #findIn(chunk: Chunk, stretch: Stretch, ref: TimerRef): Promise<ChunkFind | undefined> {
    return this.#gate.run(1, async () => {
      const seen = await this.#glance(chunk, stretch, ref)
      return seen === 'unsure' ? this.#findSlowly(chunk, stretch, ref) : seen
    })
  }

  async #glance(
    chunk: Chunk,
    stretch: Stretch,
    ref: TimerRef,
  ): Promise<ChunkFind | 'unsure' | undefined> {
    const length = stretch.to - stretch.from
    if (length > GLANCE_BYTES) return 'unsure'
    const memory = this.#free.pop() ?? Buffer.allocUnsafeSlow(GLANCE_BYTES)
    try {
      const block = memory.subarray(0, length)
      await chunk.file.read(block, stretch.from)
      const at = glance(block, ref)
      if (at < 0) return at === NOWHERE ? undefined : 'unsure'
      const end = at + timerRecordSize(block, at)
      const record = Buffer.from(block.subarray(timerRecordStart(at), end))
      return { chunk, position: stretch.from + at, mark: timerMark(block, at), record }
    } finally {
      this.#free.push(memory)
    }
  }

  async #findSlowly(chunk: Chunk, stretch: Stretch, ref: TimerRef): Promise<ChunkFind | undefined> {
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
      const release = chunk.hold()
      making = this.#makeIndex(chunk).finally(() => {
        release()
        this.#making.delete(chunk)
      })
      this.#making.set(chunk, making)
    }
    return making
  }

  /** What is appended meanwhile is read too. */
  async #makeIndex(chunk: Chunk): Promise<ChunkIndex> {
    const index = chunk.newIndex()
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
    if (chunk.index !== undefined) {
      index.release()
      return chunk.index
    }
    chunk.index = index
    return index
  }
}

/** Where the message begins in a block; `NOWHERE` when its headers end with it, else `UNSURE`. */
function glance(block: Buffer, ref: TimerRef): number {
  let at = 0
  while (at + TIMER_HEADER_BYTES <= block.length) {
    const size = timerRecordSize(block, at)
    if (
      timerIdOf(block, at) === ref.timerId &&
      timerDeliverTimeMs(block, at) === ref.deliverTimeMs
    ) {
      const isSound = checkTimerRecord(block, at, block.length).kind === 'record'
      return isSound && isMarkSound(block, at) ? at : UNSURE
    }
    if (size < TIMER_HEADER_BYTES) return UNSURE
    at += size
  }
  return at === block.length ? NOWHERE : UNSURE
}
