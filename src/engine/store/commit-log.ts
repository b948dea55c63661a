import { BrokerError } from '../../core/base/index.ts'
import type { Platform, Timer } from '../../core/platform/index.ts'
import {
  BLANK_MAGIC,
  recordSize,
  recordSizeMax,
  sealRecord,
  writeRecord,
  type RecordDraft,
} from '../../model/message/index.ts'
import { LogBuffer } from './log-buffer.ts'
import type { SegmentFiles } from './segment-files.ts'
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
  readonly #onFull: (error: BrokerError) => void
  readonly #onFailed: (error: BrokerError) => void
  /** Ends of segments not flushed yet, oldest first. */
  readonly #blanks: Blank[] = []
  #endOffset: number
  #flushedOffset: number
  #syncedOffset: number
  #releasedOffset: number
  #isFlushing = false
  #flushing: Promise<void> | undefined
  #retryTimer: Timer | undefined
  /** Set from the first write that is not durable until the sync that makes it so. */
  #isSyncPlanned = false
  #syncing: Promise<void> | undefined
  #syncTimer: Timer | undefined
  #isClosed = false
  #isHalted = false
  #failure: BrokerError | undefined
  #isFull = false

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
    this.#onFlushed = parts.onFlushed
    this.#onFull = parts.onFull
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

  get recordBytesMax(): number {
    return this.#options.recordBytesMax
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

  /**
   * Writes nothing more; resolves when no call on the disk is under way. What is not flushed by
   * then was never answered and is given up.
   */
  async halt(): Promise<void> {
    this.#isClosed = true
    this.#isHalted = true
    this.#retryTimer?.cancel()
    this.#syncTimer?.cancel()
    await this.#flushing
    await this.#syncing
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
    if (!this.#isFlushing) {
      this.#isFlushing = true
      this.#platform.timers.soon(() => this.#startFlush())
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

  /** Fills `target` from `offset`, from disk; resolves to the flushed bytes that were there. */
  async read(target: Buffer, offset: number): Promise<number> {
    const length = Math.min(target.length, Math.max(0, this.#flushedOffset - offset))
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
    this.#blanks.push({ offset: end, segmentEnd })
    return segmentEnd
  }

  #startFlush(): void {
    if (!this.#isHalted) this.#flushing = this.#flush()
  }

  async #flush(): Promise<void> {
    try {
      while (this.#flushedOffset < this.#endOffset) {
        const target = this.#endOffset
        await this.#writeOut(target)
        if (this.#options.flush === 'sync') {
          await this.segments.sync()
          this.#syncedOffset = target
        } else {
          this.#planSync()
        }
        this.#flushedOffset = target
        this.#isFull = false
        this.#onFlushed()
        if (this.#isHalted || this.#failure !== undefined) return
      }
      this.#isFlushing = false
    } catch (error) {
      this.#flushFailed(error)
    }
  }

  /** A full disk may get room again; after any other failure nobody knows what is on it. */
  #flushFailed(error: unknown): void {
    if (!(error instanceof BrokerError)) throw error
    if (error.code !== 'STORE_FULL') {
      this.fail(error)
      return
    }
    if (!this.#isFull) {
      this.#platform.log.error('the disk is full; new messages are refused', error)
    }
    this.#isFull = true
    if (!this.#isHalted) {
      this.#retryTimer = this.#platform.timers.after(FULL_RETRY_MS, () => this.#startFlush())
    }
    this.#onFull(error)
  }

  async #writeOut(target: number): Promise<void> {
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

  #planSync(): void {
    if (this.#isSyncPlanned || this.#isHalted) return
    this.#isSyncPlanned = true
    this.#syncTimer = this.#platform.timers.after(ASYNC_SYNC_MS, () => {
      this.#syncing = this.#syncAsPlanned()
    })
  }

  async #syncAsPlanned(): Promise<void> {
    try {
      await this.sync()
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error
      this.fail(error)
      return
    }
    this.#isSyncPlanned = false
    // What was written while it ran waits for a sync of its own.
    if (this.#syncedOffset < this.#flushedOffset) this.#planSync()
  }
}
