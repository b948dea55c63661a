import { assert, BrokerError, crc32, readInt64Loose, writeInt64 } from '../../core/base/index.ts'
import type { Files, Platform } from '../../core/platform/index.ts'
import { ChunkIndex } from './chunk-index.ts'
import type { ChunkSection } from './chunk-section.ts'
import type { PagePool } from './page-pool.ts'
import { RemovalRecount } from './removal-recount.ts'
import { StagedFile } from './staged-file.ts'
import {
  TIMER_HEADER_BYTES,
  type TimerHeader,
  type Removal,
  timerMarkByte,
  timerMarkPosition,
  writeTimerHeader,
} from './timer-record.ts'

/** A chunk begins with its magic, version, number and the checksum of these. */
export const CHUNK_HEADER_BYTES = 32
/** A chunk takes no further record beyond this. */
export const CHUNK_BYTES_MAX: number = 256 * 1024 * 1024

const MAGIC = 0x4f52_4348 // "ORCH"
const VERSION = 2
const AT_VERSION = 4
const AT_NUMBER = 8
const AT_CRC = 28

const NOTHING_LOADED = { count: 0, removedCount: 0, liveCount: 0, blockBytes: 0, isOver: false }

type FilesAndLog = Pick<Platform, 'files' | 'log'>

/** Where a message lies in a chunk. */
export interface ChunkPlace {
  /** Of its timer header. */
  readonly position: number
  /** Length of its accept record; 0 of what is kept of a cancelled one. */
  readonly recordBytes: number
}

/** A part of a chunk that was taken into the window in one piece. */
export interface LoadedPart {
  /** Behind its last message in the chunk. */
  endBytes: number
  count: number
  /** Of these, marked as removed in the file. */
  removedCount: number
  /** Its messages that have not been delivered. */
  liveCount: number
  /** Memory that its bytes take until the last of them is. */
  blockBytes: number
  /** Nothing of it will ever be loaded again: a durable snapshot need not name what has fired. */
  isOver: boolean
  /** The one before it in the chunk, until that is over. */
  previous: LoadedPart | undefined
}

/** The next snapshot will find it over, as things are: `Chunk.settleParts`. */
export function willBeOver(part: LoadedPart): boolean {
  let checked: LoadedPart | undefined = part
  while (checked !== undefined && !checked.isOver) {
    if (checked.liveCount > 0) return false
    checked = checked.previous
  }
  return true
}

/** Messages of a part, with those in it that are damaged; `lostCount` of them should have waited. */
interface Taken {
  readonly count: number
  readonly removedCount: number
  readonly lostCount: number
}

/**
 * One append-only file of waiting messages. Records are in the order in which they came.
 */
export class Chunk {
  readonly number: number
  readonly file: StagedFile
  readonly #pool: PagePool
  #count: number
  #dueMinMs: number
  #dueMaxMs: number
  #timerIdMin: number
  /** Delivered, or moved on by a split, up to here. */
  #doneBytes: number
  #doneCount: number
  /** Taken into the window, or moved on, up to here: of this process only. */
  #takenBytes: number
  #takenCount: number
  /** Messages behind `#doneBytes` that are marked as removed. */
  #removedCount: number
  /** Of these, how many are before `#takenBytes`. */
  #removedTakenCount = 0
  #removedBytes: number
  /** Made while it is written, or when it is first asked for. */
  #index: ChunkIndex | undefined
  /** What of it is in the window, in the order of positions. */
  readonly #parts: LoadedPart[] = []
  #readerCount = 0
  #recount: RemovalRecount | undefined

  private constructor(file: StagedFile, pool: PagePool, section: ChunkSection) {
    this.number = section.number
    this.file = file
    this.#pool = pool
    this.#count = section.count
    this.#dueMinMs = section.dueMinMs
    this.#dueMaxMs = section.dueMaxMs
    this.#timerIdMin = section.timerIdMin
    this.#doneBytes = section.doneBytes
    this.#doneCount = section.doneCount
    this.#takenBytes = section.doneBytes
    this.#takenCount = section.doneCount
    this.#removedCount = section.removedCount
    this.#removedBytes = section.removedBytes
    if (section.count === 0) this.#index = this.newIndex()
  }

  static create(files: Files, pool: PagePool, place: { path: string; number: number }): Chunk {
    const file = new StagedFile({ files, pool, path: place.path, sizeBytes: 0 })
    const { bytes, position } = file.reserve(CHUNK_HEADER_BYTES)
    bytes.fill(0, position, position + CHUNK_HEADER_BYTES)
    bytes.writeUInt32BE(MAGIC, position)
    bytes.writeUInt32BE(VERSION, position + AT_VERSION)
    writeInt64(bytes, place.number, position + AT_NUMBER)
    bytes.writeUInt32BE(crc32(bytes, position, position + AT_CRC), position + AT_CRC)
    return new Chunk(file, pool, {
      number: place.number,
      sizeBytes: CHUNK_HEADER_BYTES,
      count: 0,
      dueMinMs: Infinity,
      dueMaxMs: -Infinity,
      doneBytes: CHUNK_HEADER_BYTES,
      doneCount: 0,
      removedCount: 0,
      removedBytes: 0,
      timerIdMin: Infinity,
    })
  }

  /**
   * Opens a chunk that the manifest names, and cuts what came after it. One that was cut off gets
   * its length back: what is missing reads as damage, and the rest is served.
   */
  static async load(
    platform: FilesAndLog,
    pool: PagePool,
    place: { path: string; section: ChunkSection },
  ): Promise<Chunk> {
    const { path, section } = place
    const { files } = platform
    const sizeBytes = await files.sizeOf(path)
    if (sizeBytes === undefined) {
      throw new BrokerError('STORE_DAMAGED', {
        file: path,
        reason: 'is missing',
        expectedBytes: section.sizeBytes,
      })
    }
    const file = new StagedFile({ files, pool, path, sizeBytes: section.sizeBytes })
    if (sizeBytes !== section.sizeBytes) await file.cut()
    if (sizeBytes < section.sizeBytes) {
      platform.log.error('a file of waiting messages was cut off; the rest is served', undefined, {
        file: path,
        fromPosition: sizeBytes,
        toPosition: section.sizeBytes,
      })
    }
    await checkHeader(platform, path, section.number)
    return new Chunk(file, pool, section)
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

  /** Of chunks due at one time, the one with the least id was accepted first. */
  get timerIdMin(): number {
    return this.#timerIdMin
  }

  get sizeBytes(): number {
    return this.file.sizeBytes
  }

  /** Everything before this position has been delivered, or moved on by a split. */
  get doneBytes(): number {
    return this.#doneBytes
  }

  get takenBytes(): number {
    return this.#takenBytes
  }

  /** Bytes that are neither in the window nor moved on. */
  get untakenBytes(): number {
    return this.file.sizeBytes - this.#takenBytes
  }

  /** Messages that wait in the file alone. */
  get untakenCount(): number {
    return this.#count - this.#takenCount - (this.#removedCount - this.#removedTakenCount)
  }

  /**
   * Most of the file are messages that were cancelled or moved, and nothing of it is in the window:
   * a copy without them would take less than half the space.
   */
  get isMostlyRemoved(): boolean {
    return !this.isLoading && this.#removedBytes * 2 > this.file.sizeBytes
  }

  /** For `find`; `undefined` until it was made anew after a start. */
  get index(): ChunkIndex | undefined {
    return this.#index
  }

  set index(index: ChunkIndex | undefined) {
    this.#index = index
  }

  /** An empty one. */
  newIndex(): ChunkIndex {
    return new ChunkIndex(this.#pool.indexes)
  }

  /** Removes the file. */
  async remove(): Promise<void> {
    this.#index?.release()
    this.#index = undefined
    await this.file.remove()
  }

  /** Somebody reads it who goes on although its messages have gone: the file must stay. */
  get isHeld(): boolean {
    return this.#readerCount > 0
  }

  /** Keeps the file for a reader, until the function that is returned is called. */
  hold(): () => void {
    this.#readerCount++
    return () => {
      this.#readerCount--
    }
  }

  /** Memory that its messages take in the window. */
  get blockBytes(): number {
    let bytes = 0
    for (const part of this.#parts) if (part.liveCount > 0) bytes += part.blockBytes
    return bytes
  }

  /** Nothing of it was ever loaded, or moved on. */
  get isUntouched(): boolean {
    return this.#takenBytes === CHUNK_HEADER_BYTES
  }

  /** Some of it is in the window: the rest must go there too, not to finer partitions. */
  get isLoading(): boolean {
    return this.#takenBytes > this.#doneBytes
  }

  /** All of it has been delivered, or is in finer partitions: the file may go. */
  get isDone(): boolean {
    return this.#doneBytes === this.file.sizeBytes
  }

  /** Begins a part that is being taken into the window; `endPart` follows. */
  beginPart(): LoadedPart {
    const part = { ...NOTHING_LOADED, endBytes: this.#takenBytes, previous: this.#parts.at(-1) }
    this.#parts.push(part)
    return part
  }

  /**
   * The part reaches up to `position`, with `count` messages, of which `removedCount` are marked;
   * returns how many were passed over as damaged.
   */
  endPart(part: LoadedPart, position: number, count: number, removedCount = 0): number {
    const taken = this.#take(position, count, removedCount)
    part.endBytes = position
    part.count += taken.count
    part.removedCount += taken.removedCount
    return taken.lostCount
  }

  /** A message that is in the window was appended: it belongs to `part`, the only one. */
  extendPart(part: LoadedPart): void {
    part.liveCount++
    this.endPart(part, this.file.sizeBytes, 1)
  }

  /**
   * The part up to `position`, with `count` messages, is in finer partitions, except
   * `removedCount` that are marked; returns how many were passed over as damaged.
   */
  moveOn(position: number, count: number, removedCount: number): number {
    const taken = this.#take(position, count, removedCount)
    this.#removedCount -= taken.removedCount
    this.#removedTakenCount -= taken.removedCount
    this.#doneBytes = position
    this.#doneCount += taken.count
    return taken.lostCount
  }

  /**
   * Marks a message as removed, also for later starts. Once for each message in a process: one that
   * has its mark from an earlier process is not counted yet.
   */
  markRemoved({ position, recordBytes }: ChunkPlace, removal: Removal): void {
    this.file.change(timerMarkPosition(position), timerMarkByte(removal))
    this.#removedBytes += recordBytes
    this.#recount?.marked(position, recordBytes)
    if (position < this.#doneBytes) return
    this.#removedCount++
    if (position >= this.#takenBytes) return
    this.#removedTakenCount++
    const part = this.#parts.find(candidate => position < candidate.endBytes)
    if (part !== undefined) part.removedCount++
  }

  /** Begins to count anew what is marked between `takenBytes` and `sizeBytes`; the caller reads it. */
  beginRecount(): RemovalRecount {
    const knownCount = this.#removedCount - this.#removedTakenCount
    this.#recount = new RemovalRecount(this.#takenBytes, this.file.sizeBytes, knownCount)
    return this.#recount
  }

  /** Everything was read: what is marked and was not counted is counted now. */
  endRecount(recount: RemovalRecount): void {
    this.#recount = undefined
    // Who has taken it to its end has counted all.
    if (this.untakenBytes === 0) return
    this.#removedCount += recount.missing.count
    this.#removedBytes += recount.missing.recordBytes
  }

  /** For a snapshot: notes up to where all messages have been delivered. */
  settleParts(): void {
    let first = this.#parts[0]
    while (first !== undefined && first.liveCount === 0) {
      first.isOver = true
      this.#doneBytes = Math.max(this.#doneBytes, first.endBytes)
      this.#doneCount += first.count
      this.#removedCount -= first.removedCount
      this.#removedTakenCount -= first.removedCount
      this.#parts.shift()
      first = this.#parts[0]
      if (first !== undefined) first.previous = undefined
    }
  }

  /** What is damaged was not counted, and cannot come any more once the end is reached. */
  #take(position: number, count: number, removedCount: number): Taken {
    this.#takenBytes = position
    this.#takenCount += count
    this.#removedTakenCount += removedCount
    if (position < this.file.sizeBytes) return { count, removedCount, lostCount: 0 }
    const damagedCount = this.#count - this.#takenCount
    // A checkpoint that failed may have left marks that the manifest does not count.
    const damagedRemovedCount = Math.max(0, this.#removedCount - this.#removedTakenCount)
    this.#takenCount = this.#count
    this.#removedTakenCount = this.#removedCount
    return {
      count: count + damagedCount,
      removedCount: removedCount + damagedRemovedCount,
      lostCount: Math.max(0, damagedCount - damagedRemovedCount),
    }
  }

  get isFull(): boolean {
    return this.file.sizeBytes >= CHUNK_BYTES_MAX
  }

  /**
   * Appends a message: its header and the accept record, copied from `source`. Returns its
   * position.
   */
  append(header: TimerHeader, source: Buffer, start: number, recordBytes: number): number {
    assert(recordBytes > 0, 'a record has a size')
    const place = this.file.sizeBytes
    const { bytes, position } = this.file.reserve(TIMER_HEADER_BYTES + recordBytes)
    writeTimerHeader(bytes, position, header, recordBytes)
    source.copy(bytes, position + TIMER_HEADER_BYTES, start, start + recordBytes)
    this.#appended(header, place)
    return place
  }

  /** Appends what is kept of a cancelled message until its time. */
  appendCancelled(header: TimerHeader): void {
    const place = this.file.sizeBytes
    const { bytes, position } = this.file.reserve(TIMER_HEADER_BYTES)
    writeTimerHeader(bytes, position, header, 0)
    this.#removedCount++
    this.#appended(header, place)
  }

  #appended(header: TimerHeader, place: number): void {
    this.#count++
    if (header.deliverTimeMs < this.#dueMinMs) this.#dueMinMs = header.deliverTimeMs
    if (header.deliverTimeMs > this.#dueMaxMs) this.#dueMaxMs = header.deliverTimeMs
    if (header.timerId < this.#timerIdMin) this.#timerIdMin = header.timerId
    this.#index?.add(header.timerId, place, this.file.sizeBytes)
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
      removedCount: this.#removedCount,
      removedBytes: this.#removedBytes,
      timerIdMin: this.#timerIdMin,
    }
  }
}

/**
 * Refuses a chunk of a version that we do not know. Damage is reported only: records have
 * checksums of their own, and the manifest names the file.
 */
async function checkHeader(platform: FilesAndLog, path: string, number: number): Promise<void> {
  const header = Buffer.alloc(CHUNK_HEADER_BYTES)
  const file = await platform.files.open(path, 'read')
  try {
    await file.read(header, 0)
  } finally {
    await file.close()
  }
  const reason = chunkHeaderDamage(header, number)
  if (reason !== undefined) {
    const range = { fromPosition: 0, toPosition: CHUNK_HEADER_BYTES }
    const facts = { file: path, ...range, reason }
    platform.log.error('the header of waiting messages is damaged; they are read', undefined, facts)
    return
  }
  const version = header.readUInt32BE(AT_VERSION)
  if (version === VERSION) return
  throw new BrokerError('STORE_DAMAGED', { file: path, version, supported: VERSION })
}

/** What is wrong with the first bytes of chunk `number`; a version that matches its checksum is not. */
export function chunkHeaderDamage(header: Buffer, number: number): string | undefined {
  if (header.readUInt32BE(0) !== MAGIC) return 'magic number'
  if (header.readUInt32BE(AT_CRC) !== crc32(header, 0, AT_CRC)) return 'checksum of the header'
  if (readInt64Loose(header, AT_NUMBER) !== number) return 'number'
  return undefined
}
