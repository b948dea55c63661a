import { assert, BrokerError, crc32, writeInt64 } from '../../core/base/index.ts'
import { type Files } from '../../core/platform/index.ts'
import type { PagePool } from './page-pool.ts'
import { StagedFile } from './staged-file.ts'
import { TIMER_HEADER_BYTES, type TimerHeader, writeTimerHeader } from './timer-record.ts'

/** A chunk begins with its magic, version, number and the checksum of these. */
export const CHUNK_HEADER_BYTES = 32
/** A chunk takes no further record beyond this. */
export const CHUNK_BYTES_MAX: number = 256 * 1024 * 1024

const MAGIC = 0x4f52_4348 // "ORCH"
const VERSION = 1
const AT_VERSION = 4
const AT_NUMBER = 8
const AT_CRC = 28

/** What the manifest says of a chunk. */
export interface ChunkSection {
  readonly number: number
  readonly sizeBytes: number
  readonly count: number
  readonly dueMinMs: number
  readonly dueMaxMs: number
  /** Everything before this position has been moved on by a split. */
  readonly doneBytes: number
  /** How many messages that were. */
  readonly doneCount: number
}

/**
 * One append-only file of waiting messages. Records are in the order in which they came.
 */
export class Chunk {
  readonly number: number
  readonly file: StagedFile
  #count: number
  #dueMinMs: number
  #dueMaxMs: number
  /** Moved on by a split up to here. */
  #doneBytes: number
  #doneCount: number
  /** Taken into the window, or moved on, up to here: of this process only. */
  #takenBytes: number
  #takenCount: number

  private constructor(file: StagedFile, section: ChunkSection) {
    this.number = section.number
    this.file = file
    this.#count = section.count
    this.#dueMinMs = section.dueMinMs
    this.#dueMaxMs = section.dueMaxMs
    this.#doneBytes = section.doneBytes
    this.#doneCount = section.doneCount
    this.#takenBytes = section.doneBytes
    this.#takenCount = section.doneCount
  }

  static create(files: Files, pool: PagePool, place: { path: string; number: number }): Chunk {
    const file = new StagedFile({ files, pool, path: place.path, sizeBytes: 0 })
    const { bytes, position } = file.reserve(CHUNK_HEADER_BYTES)
    bytes.fill(0, position, position + CHUNK_HEADER_BYTES)
    bytes.writeUInt32BE(MAGIC, position)
    bytes.writeUInt32BE(VERSION, position + AT_VERSION)
    writeInt64(bytes, place.number, position + AT_NUMBER)
    bytes.writeUInt32BE(crc32(bytes, position, position + AT_CRC), position + AT_CRC)
    return new Chunk(file, {
      number: place.number,
      sizeBytes: CHUNK_HEADER_BYTES,
      count: 0,
      dueMinMs: Infinity,
      dueMaxMs: -Infinity,
      doneBytes: CHUNK_HEADER_BYTES,
      doneCount: 0,
    })
  }

  /** Opens a chunk that the manifest names, and cuts what came after it. */
  static async load(
    files: Files,
    pool: PagePool,
    place: { path: string; section: ChunkSection },
  ): Promise<Chunk> {
    const { path, section } = place
    const sizeBytes = await files.sizeOf(path)
    if (sizeBytes === undefined || sizeBytes < section.sizeBytes) {
      throw new BrokerError('STORE_DAMAGED', {
        file: path,
        sizeBytes: sizeBytes ?? -1,
        expectedBytes: section.sizeBytes,
      })
    }
    const file = new StagedFile({ files, pool, path, sizeBytes: section.sizeBytes })
    if (sizeBytes > section.sizeBytes) await file.cut()
    return new Chunk(file, section)
  }

  get count(): number {
    return this.#count
  }

  get dueMinMs(): number {
    return this.#dueMinMs
  }

  get dueMaxMs(): number {
    return this.#dueMaxMs
  }

  get sizeBytes(): number {
    return this.file.sizeBytes
  }

  get takenBytes(): number {
    return this.#takenBytes
  }

  /** Bytes that are neither in the window nor moved on. */
  get untakenBytes(): number {
    return this.file.sizeBytes - this.#takenBytes
  }

  get untakenCount(): number {
    return this.#count - this.#takenCount
  }

  /** Some of it is in the window: the rest must go there too, not to finer partitions. */
  get isLoading(): boolean {
    return this.#takenBytes > this.#doneBytes
  }

  /** The part up to `position`, with `count` messages, is in the window. */
  take(position: number, count: number): void {
    this.#takenBytes = position
    this.#takenCount += count
  }

  /** All of it is in the window. */
  markTaken(): void {
    this.#takenBytes = this.file.sizeBytes
    this.#takenCount = this.#count
  }

  /** The part up to `position`, with `count` messages, is in finer partitions. */
  moveOn(position: number, count: number): void {
    this.take(position, count)
    this.#doneBytes = position
    this.#doneCount += count
  }

  get isFull(): boolean {
    return this.file.sizeBytes >= CHUNK_BYTES_MAX
  }

  /** Appends a message: its header and the accept record, copied from `source`. */
  append(header: TimerHeader, source: Buffer, start: number, recordBytes: number): void {
    assert(recordBytes > 0, 'a record has a size')
    const { bytes, position } = this.file.reserve(TIMER_HEADER_BYTES + recordBytes)
    writeTimerHeader(bytes, position, header, recordBytes)
    source.copy(bytes, position + TIMER_HEADER_BYTES, start, start + recordBytes)
    this.#count++
    if (header.deliverTimeMs < this.#dueMinMs) this.#dueMinMs = header.deliverTimeMs
    if (header.deliverTimeMs > this.#dueMaxMs) this.#dueMaxMs = header.deliverTimeMs
  }

  section(): ChunkSection {
    return {
      number: this.number,
      sizeBytes: this.file.sizeBytes,
      count: this.#count,
      dueMinMs: this.#dueMinMs,
      dueMaxMs: this.#dueMaxMs,
      doneBytes: this.#doneBytes,
      doneCount: this.#doneCount,
    }
  }
}
