import { assert, BrokerError, Gate } from '../../core/base/index.ts'
import type { Platform } from '../../core/platform/index.ts'
import {
  BLANK_MAGIC,
  recordSizeMax,
  sealRecord,
  writeRecord,
  type RecordDraft,
} from '../../model/message/index.ts'
import { LogBuffer } from './log-buffer.ts'
import { BLANK_BYTES, LogFlusher } from './log-flusher.ts'
import { RECORD_BYTES_MAX } from './record-limit.ts'
import type { SegmentFiles } from './segment-files.ts'
import type { StoreOptions } from './store-options.ts'

/** What large reads of queues may hold together, in bytes, before it has gone to their clients. */
const LARGE_READS_BYTES = 16 * 1024 * 1024

/**
 * The append-only log of all messages. Records are encoded straight into memory, from where the
 * flusher takes them to the disk.
 */
export class CommitLog {
  readonly segments: SegmentFiles
  /** Lets in reads of much at once, by bytes. */
  readonly largeReads: Gate = new Gate(LARGE_READS_BYTES)
  readonly #platform: Platform
  readonly #options: StoreOptions
  readonly #buffer: LogBuffer
  /** Largest record for which there is memory. */
  readonly #heldBytesMax: number
  readonly #onFailed: (error: BrokerError) => void
  readonly #flusher: LogFlusher
  #endOffset: number
  #releasedOffset: number
  #isClosed = false
  #failure: BrokerError | undefined
  #hasToldOfMemory = false

  constructor(parts: {
    platform: Platform
    options: StoreOptions
    segments: SegmentFiles
    endOffset: number
    onFlushed: () => void
    /** The disk has no room: it is tried again. */
    onFull: (error: BrokerError) => void
    onFailed: (error: BrokerError) => void
  }) {
    this.#platform = parts.platform
    this.#options = parts.options
    this.segments = parts.segments
    this.#onFailed = parts.onFailed
    this.#endOffset = parts.endOffset
    this.#releasedOffset = parts.endOffset
    const { cacheBytes, recordBytesMax } = parts.options
    assert(cacheBytes >= 4 * recordBytesMax, 'the log must hold a few of the largest new records')
    this.#heldBytesMax = Math.min(RECORD_BYTES_MAX, Math.floor((cacheBytes - BLANK_BYTES) / 2))
    this.#buffer = new LogBuffer(cacheBytes, this.#heldBytesMax, parts.endOffset)
    this.#flusher = new LogFlusher({
      platform: parts.platform,
      options: parts.options,
      segments: parts.segments,
      buffer: this.#buffer,
      onFlushed: parts.onFlushed,
      onFull: parts.onFull,
      fail: cause => {
        this.fail(cause)
      },
    })
  }

  get endOffset(): number {
    return this.#endOffset
  }

  /** Everything below is on disk as the flush mode asks. */
  get flushedOffset(): number {
    return this.#flusher.flushedOffset
  }

  /** Bytes of new messages that `append` can take in before something is flushed and applied. */
  get roomBytes(): number {
    const { cacheBytes, recordBytesMax } = this.#options
    return cacheBytes - recordBytesMax - (this.#endOffset - this.#releasedOffset)
  }

  get minOffset(): number {
    return this.segments.firstOffset
  }

  get failure(): BrokerError | undefined {
    return this.#failure
  }

  /** True while the disk refuses writes for lack of space. */
  get isFull(): boolean {
    return this.#flusher.isFull
  }

  /** Takes in nothing more from now on. */
  refuse(): void {
    this.#isClosed = true
  }

  /**
   * Writes nothing more; resolves when no call on the disk is under way. What is not flushed by
   * then was never answered and is given up.
   */
  async halt(): Promise<void> {
    this.#isClosed = true
    await this.#flusher.halt()
  }

  /** Nobody knows any more what is on the disk: nothing is accepted from now on. */
  fail(cause: unknown): void {
    if (this.#failure !== undefined) return
    this.#failure = new BrokerError('STORE_FAILED', { directory: this.segments.directory }, cause)
    this.#onFailed(this.#failure)
  }

  /** Everything below is applied: its place in memory may be used again when room is needed. */
  release(offset: number): void {
    this.#releasedOffset = offset
  }

  /** Throws `MESSAGE_TOO_LARGE` when a new message may not be as large; what is due may. */
  checkNewSize(draft: RecordDraft): void {
    const sizeBytes = recordSizeMax(draft)
    const maxBytes = this.#options.recordBytesMax
    if (sizeBytes > maxBytes) throw new BrokerError('MESSAGE_TOO_LARGE', { sizeBytes, maxBytes })
  }

  /**
   * Encodes a record at the end of the log; returns its offset. Durable once it is flushed.
   *
   * @throws BrokerError `STORE_FAILED`, `STORE_FULL`, `STORE_BUSY`, `SHUTTING_DOWN`,
   *   `MESSAGE_TOO_LARGE`, `PROPERTIES_TOO_LARGE`
   */
  append(draft: RecordDraft, queueOffset: number, storeTimeMs: number): number {
    const sizeMax = recordSizeMax(draft)
    this.#checkRoom(sizeMax)
    const { bytes } = this.#buffer
    const size = this.#write(draft, sizeMax)
    const offset = this.#place(size)
    sealRecord(bytes, this.#buffer.position(offset), size, queueOffset, offset, storeTimeMs)
    this.#buffer.accept(offset, size)
    this.#endOffset = offset + size
    this.#flusher.appended(this.#endOffset)
    return offset
  }

  /** Whether the record at `offset` can be read without the disk. */
  isInMemory(offset: number): boolean {
    return this.#buffer.holds(offset)
  }

  /** The buffer and the place in it of a record that `isInMemory`; valid until the next append. */
  get memory(): Buffer {
    return this.#buffer.bytes
  }

  memoryPosition(offset: number): number {
    return this.#buffer.position(offset)
  }

  /** Fills `target` from `offset`, from disk; resolves to the flushed bytes that were there. */
  async read(target: Buffer, offset: number): Promise<number> {
    const length = Math.min(target.length, Math.max(0, this.flushedOffset - offset))
    return this.segments.read(target.subarray(0, length), offset)
  }

  /** A record that a queue names cannot be read, or is not what it should be. */
  reportUnreadable(offset: number, sizeBytes: number): void {
    this.#platform.log.error('a record of the commit log is damaged', undefined, {
      file: this.segments.pathOf(this.segments.baseOf(offset)),
      fromOffset: offset,
      toOffset: offset + sizeBytes,
    })
  }

  /** Makes everything flushed durable; with synchronous flush it is already. */
  sync(): Promise<void> {
    return this.#flusher.sync()
  }

  #checkRoom(sizeMax: number): void {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#isClosed) throw new BrokerError('SHUTTING_DOWN')
    if (this.isFull) throw new BrokerError('STORE_FULL', { directory: this.segments.directory })
    const { cacheBytes, segmentBytes } = this.#options
    const maxBytes = Math.min(this.#heldBytesMax, segmentBytes - BLANK_BYTES)
    if (sizeMax > maxBytes) throw this.#tooLarge(sizeMax, maxBytes)
    // The blank at the end of a segment takes up to one more record of the buffer.
    const neededBytes = 2 * sizeMax + BLANK_BYTES
    if (neededBytes > cacheBytes - (this.#endOffset - this.#releasedOffset)) {
      throw new BrokerError('STORE_BUSY')
    }
  }

  /** What was accepted with more memory, and is due now, waits until there is as much again. */
  #tooLarge(sizeBytes: number, maxBytes: number): BrokerError {
    const error = new BrokerError('MESSAGE_TOO_LARGE', { sizeBytes, maxBytes })
    if (this.#hasToldOfMemory || sizeBytes <= this.#heldBytesMax) return error
    this.#hasToldOfMemory = true
    this.#platform.log.error('a due message does not fit the memory of the log', undefined, {
      hint: `it is kept, and delivered once log.cacheBytes is ${2 * sizeBytes + BLANK_BYTES} or more`,
    })
    return error
  }

  /** Writes the record at the end of the log, where it may not stay; returns its size. */
  #write(draft: RecordDraft, sizeMax: number): number {
    try {
      return writeRecord(this.#buffer.bytes, this.#buffer.position(this.#endOffset), draft)
    } catch (error) {
      this.#buffer.spoil(this.#endOffset + sizeMax)
      throw error
    }
  }

  /** Where a record of `size` that was written at the end may stay: records never span segments. */
  #place(size: number): number {
    const end = this.#endOffset
    const { segmentBytes } = this.#options
    const room = segmentBytes - (end % segmentBytes)
    if (size + BLANK_BYTES <= room) return end
    const { bytes } = this.#buffer
    const position = this.#buffer.position(end)
    const segmentEnd = end + room
    bytes.copyWithin(this.#buffer.position(segmentEnd), position, position + size)
    bytes.writeUInt32BE(room, position)
    bytes.writeInt32BE(BLANK_MAGIC, position + 4)
    this.#buffer.accept(end, BLANK_BYTES)
    this.#flusher.endSegment(end, segmentEnd)
    return segmentEnd
  }
}
