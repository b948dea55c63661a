import { BrokerError } from '../../core/base/index.ts'
import type { Platform } from '../../core/platform/index.ts'
import {
  BLANK_MAGIC,
  recordSize,
  recordSizeMax,
  sealRecord,
  writeRecord,
  type RecordDraft,
} from '../../model/message/index.ts'
import { LogBuffer } from './log-buffer.ts'
import { SegmentFiles } from './segment-files.ts'
import type { StoreOptions } from './store-options.ts'

/** Marks the unused end of a segment: its length and a magic number. */
const BLANK_BYTES = 8
/** With asynchronous flush the operating system keeps what was written for at most this long. */
const ASYNC_SYNC_MS = 500
/** Pause before a write is tried again that failed for lack of space. */
const FULL_RETRY_MS = 500

interface Blank {
  readonly offset: number
  readonly segmentEnd: number
}

/**
 * The append-only log of all messages. Records are encoded straight into memory; one loop writes
 * and syncs whatever came in meanwhile (group commit), then tells `onFlushed`.
 */
export class CommitLog {
  readonly segments: SegmentFiles
  readonly #platform: Platform
  readonly #options: StoreOptions
  readonly #buffer: LogBuffer
  readonly #onFlushed: () => void
  readonly #onFailed: (error: BrokerError) => void
  /** Ends of segments not flushed yet, oldest first. */
  readonly #blanks: Blank[] = []
  #endOffset: number
  #flushedOffset: number
  #syncedOffset: number
  #releasedOffset: number
  #isFlushing = false
  #isSyncing = false
  #isClosed = false
  #failure: BrokerError | undefined
  #isFull = false

  constructor(parts: {
    platform: Platform
    options: StoreOptions
    segments: SegmentFiles
    endOffset: number
    onFlushed: () => void
    onFailed: (error: BrokerError) => void
  }) {
    this.#platform = parts.platform
    this.#options = parts.options
    this.segments = parts.segments
    this.#onFlushed = parts.onFlushed
    this.#onFailed = parts.onFailed
    this.#endOffset = parts.endOffset
    this.#flushedOffset = parts.endOffset
    this.#syncedOffset = parts.endOffset
    this.#releasedOffset = parts.endOffset
    this.#buffer = new LogBuffer(
      parts.options.cacheBytes,
      parts.options.recordBytesMax,
      parts.endOffset,
    )
  }

  get endOffset(): number {
    return this.#endOffset
  }

  /** Everything below is on disk as the flush mode asks. */
  get flushedOffset(): number {
    return this.#flushedOffset
  }

  /** Bytes that `append` can take in before something is flushed and applied. */
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
    return this.#isFull
  }

  /** Takes in nothing more from now on. */
  refuse(): void {
    this.#isClosed = true
  }

  /** Everything below is applied: its place in memory may be used again when room is needed. */
  release(offset: number): void {
    this.#releasedOffset = offset
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
    const size = writeRecord(bytes, this.#buffer.position(this.#endOffset), draft)
    const offset = this.#place(size)
    sealRecord(bytes, this.#buffer.position(offset), size, queueOffset, offset, storeTimeMs)
    this.#buffer.accept(offset, size)
    this.#endOffset = offset + size
    if (!this.#isFlushing) {
      this.#isFlushing = true
      this.#platform.timers.soon(() => void this.#flush())
    }
    return offset
  }

  /** Size of the record that was appended at `offset` and is still in memory. */
  sizeInMemory(offset: number): number {
    return recordSize(this.#buffer.bytes, this.#buffer.position(offset))
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

  /** Fills `target` from `offset`, from memory or disk; resolves to the bytes that were there. */
  async read(target: Buffer, offset: number): Promise<number> {
    const length = Math.min(target.length, Math.max(0, this.#flushedOffset - offset))
    return this.segments.read(target.subarray(0, length), offset)
  }

  /** Makes everything flushed durable; with synchronous flush it is already. */
  async sync(): Promise<void> {
    const target = this.#flushedOffset
    if (this.#syncedOffset >= target) return
    await this.segments.sync()
    this.#syncedOffset = Math.max(this.#syncedOffset, target)
  }

  #checkRoom(sizeMax: number): void {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#isClosed) throw new BrokerError('SHUTTING_DOWN')
    if (this.#isFull) throw new BrokerError('STORE_FULL', { directory: this.segments.directory })
    const { recordBytesMax, segmentBytes } = this.#options
    if (sizeMax > recordBytesMax || sizeMax + BLANK_BYTES > segmentBytes) {
      throw new BrokerError('MESSAGE_TOO_LARGE', { sizeBytes: sizeMax, maxBytes: recordBytesMax })
    }
    // The blank at the end of a segment takes up to one more record of the buffer.
    if (2 * sizeMax > this.roomBytes) throw new BrokerError('STORE_BUSY')
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
    this.#blanks.push({ offset: end, segmentEnd })
    return segmentEnd
  }

  async #flush(): Promise<void> {
    try {
      while (this.#flushedOffset < this.#endOffset) {
        const target = this.#endOffset
        await this.#write(target)
        if (this.#options.flush === 'sync') {
          await this.segments.sync()
          this.#syncedOffset = target
        } else {
          this.#syncLater()
        }
        this.#flushedOffset = target
        this.#isFull = false
        this.#onFlushed()
      }
      this.#isFlushing = false
    } catch (error) {
      this.#flushFailed(error)
    }
  }

  /** A full disk may get room again; after any other failure nobody knows what is on it. */
  #flushFailed(error: unknown): void {
    if (error instanceof BrokerError && error.code === 'STORE_FULL') {
      if (!this.#isFull)
        this.#platform.log.error('the disk is full; new messages are refused', error)
      this.#isFull = true
      this.#platform.timers.after(FULL_RETRY_MS, () => void this.#flush())
      return
    }
    this.#failure = new BrokerError('STORE_FAILED', { directory: this.segments.directory }, error)
    this.#onFailed(this.#failure)
  }

  async #write(target: number): Promise<void> {
    let from = this.#flushedOffset
    while (from < target) {
      const blank = this.#blanks[0]
      const isBlankNext = blank !== undefined && blank.offset < target
      const to = isBlankNext ? blank.offset + BLANK_BYTES : target
      await this.segments.write(this.#buffer.views(from, to), from)
      if (isBlankNext) {
        // The segment is complete: its last bytes must be durable before the next one counts.
        if (this.#options.flush === 'sync') await this.segments.sync()
        this.#flushedOffset = blank.segmentEnd
        this.#blanks.shift()
        from = blank.segmentEnd
      } else {
        from = to
      }
    }
  }

  #syncLater(): void {
    if (this.#isSyncing) return
    this.#isSyncing = true
    this.#platform.timers.after(ASYNC_SYNC_MS, () => {
      this.sync()
        .catch((error: unknown) => this.#flushFailed(error))
        .finally(() => {
          this.#isSyncing = false
        })
    })
  }
}
