import { type BrokerError, operatingError } from '../../core/base/index.ts'
import type { Platform, Timer } from '../../core/platform/index.ts'
import type { LogBuffer } from './log-buffer.ts'
import type { SegmentFiles } from './segment-files.ts'
import type { StoreOptions } from './store-options.ts'

/** Marks the unused end of a segment: its length and a magic number. */
export const BLANK_BYTES = 8
/** With asynchronous flush the operating system keeps what was written for at most this long. */
const ASYNC_SYNC_MS = 500
/** Pause before a write is tried again that failed for lack of space. */
const FULL_RETRY_MS = 500
/** While one flush is under way, a second begins once so much waits: on a slow disk two overlap. */
const SECOND_FLUSH_BYTES = 128 * 1024

interface Blank {
  readonly offset: number
  readonly segmentEnd: number
}

/** One piece of the log on its way to the disk. */
interface Flight {
  /** Flushed up to here once it and all before it are done. */
  readonly to: number
  readonly endsSegment: boolean
  isDone: boolean
}

export interface LogFlusherParts {
  readonly platform: Platform
  readonly options: StoreOptions
  readonly segments: SegmentFiles
  readonly buffer: LogBuffer
  /** `flushedOffset` has moved. */
  readonly onFlushed: () => void
  /** The disk has no room: it is tried again. */
  readonly onFull: (error: BrokerError) => void
  /** Nobody knows what is on the disk. */
  readonly fail: (cause: unknown) => void
}

/**
 * Group commit: writes whatever has been appended meanwhile as one piece, durable when the write
 * returns. While one piece is on its way the next gathers, and the event loop applies what is
 * done; pieces may overlap, and count in their order.
 */
export class LogFlusher {
  readonly #parts: LogFlusherParts
  readonly #isSync: boolean
  readonly #flights: Flight[] = []
  readonly #works = new Set<Promise<void>>()
  /** How many of `#flights` have not come back yet. */
  #flyingCount = 0
  /** Ends of segments that are not flushed yet, oldest first. */
  readonly #blanks: Blank[] = []
  #endOffset: number
  /** Everything below is on its way or flushed. */
  #startedOffset: number
  #flushedOffset: number
  #syncedOffset: number
  #isPlanned = false
  #isFull = false
  /** A piece found no room: once none is under way any more, all are written again. */
  #mustRetry = false
  #retryTimer: Timer | undefined
  /** Set from the first write that is not durable until the sync that makes it so. */
  #isSyncPlanned = false
  #syncing: Promise<void> | undefined
  #syncTimer: Timer | undefined
  #isHalted = false

  constructor(parts: LogFlusherParts) {
    this.#parts = parts
    this.#isSync = parts.options.flush === 'sync'
    const start = parts.buffer.endOffset
    this.#endOffset = start
    this.#startedOffset = start
    this.#flushedOffset = start
    this.#syncedOffset = start
  }

  /** Everything below is on disk as the flush mode asks. */
  get flushedOffset(): number {
    return this.#flushedOffset
  }

  /** True while the disk refuses writes for lack of space. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** The log ends at `endOffset` now: what is new is flushed with whatever else comes in soon. */
  appended(endOffset: number): void {
    this.#endOffset = endOffset
    if (this.#isPlanned || !this.#mayBegin()) return
    this.#isPlanned = true
    this.#parts.platform.timers.soon(() => {
      this.#isPlanned = false
      this.#begin()
    })
  }

  /** The segment is used up to a blank at `offset`; the log goes on at `segmentEnd`. */
  endSegment(offset: number, segmentEnd: number): void {
    this.#blanks.push({ offset, segmentEnd })
  }

  /** Makes everything flushed durable; with synchronous flush it is already. */
  async sync(): Promise<void> {
    const target = this.#flushedOffset
    if (this.#syncedOffset >= target) return
    await this.#parts.segments.sync()
    this.#syncedOffset = Math.max(this.#syncedOffset, target)
  }

  /** Writes nothing more; resolves when no call on the disk is under way. */
  async halt(): Promise<void> {
    this.#isHalted = true
    this.#retryTimer?.cancel()
    this.#syncTimer?.cancel()
    await Promise.all(this.#works)
    await this.#syncing
  }

  #mayBegin(): boolean {
    if (this.#isHalted || this.#mustRetry || this.#startedOffset >= this.#endOffset) return false
    const [first, second] = this.#flights
    if (first === undefined) return true
    // A segment is complete on disk before the next one counts.
    if (second !== undefined || first.endsSegment || !this.#isSync) return false
    return this.#endOffset - this.#startedOffset >= SECOND_FLUSH_BYTES
  }

  #begin(): void {
    while (this.#mayBegin()) this.#launch()
  }

  #launch(): void {
    const from = this.#startedOffset
    const blank = this.#blanks.find(candidate => candidate.offset >= from)
    const flight: Flight = {
      to: blank?.segmentEnd ?? this.#endOffset,
      endsSegment: blank !== undefined,
      isDone: false,
    }
    const writeTo = blank === undefined ? this.#endOffset : blank.offset + BLANK_BYTES
    this.#startedOffset = flight.to
    this.#flights.push(flight)
    this.#flyingCount++
    const work = this.#fly(flight, from, writeTo).finally(() => this.#works.delete(work))
    this.#works.add(work)
  }

  async #fly(flight: Flight, from: number, writeTo: number): Promise<void> {
    const { segments, buffer } = this.#parts
    const views = buffer.views(from, writeTo)
    try {
      if (this.#isSync) await segments.writeDurably(views, from)
      else await segments.write(views, from)
      flight.isDone = true
    } catch (error) {
      this.#flownBadly(operatingError(error))
    }
    this.#landed()
  }

  /** A full disk may get room again; after any other failure nobody knows what is on it. */
  #flownBadly(error: BrokerError): void {
    if (error.code !== 'STORE_FULL') {
      this.#isHalted = true
      this.#parts.fail(error)
      return
    }
    if (!this.#isFull) {
      this.#parts.platform.log.error('the disk is full; new messages are refused', error)
    }
    this.#isFull = true
    this.#mustRetry = true
    this.#parts.onFull(error)
  }

  #landed(): void {
    this.#flyingCount--
    const before = this.#flushedOffset
    for (let first = this.#flights[0]; first?.isDone === true; first = this.#flights[0]) {
      this.#flushedOffset = first.to
      this.#flights.shift()
    }
    const hasMoved = this.#flushedOffset > before
    if (hasMoved) this.#moved()
    if (this.#mustRetry) this.#retryLater()
    this.#begin()
    if (!hasMoved) return
    // The disk has its next piece before what is done is applied: both work at once.
    if (this.#flights.length > 0) this.#parts.platform.timers.soon(this.#parts.onFlushed)
    else this.#parts.onFlushed()
  }

  #moved(): void {
    if (!this.#mustRetry) this.#isFull = false
    while ((this.#blanks[0]?.segmentEnd ?? Infinity) <= this.#flushedOffset) this.#blanks.shift()
    if (this.#isSync) this.#syncedOffset = this.#flushedOffset
    else this.#planSync()
  }

  /** Once nothing is under way any more, begins again behind what is flushed, after a pause. */
  #retryLater(): void {
    if (this.#flyingCount > 0 || this.#isHalted) return
    this.#flights.length = 0
    this.#startedOffset = this.#flushedOffset
    this.#retryTimer = this.#parts.platform.timers.after(FULL_RETRY_MS, () => {
      this.#mustRetry = false
      this.#begin()
    })
  }

  #planSync(): void {
    if (this.#isSyncPlanned || this.#isHalted) return
    this.#isSyncPlanned = true
    this.#syncTimer = this.#parts.platform.timers.after(ASYNC_SYNC_MS, () => {
      this.#syncing = this.#syncAsPlanned()
    })
  }

  async #syncAsPlanned(): Promise<void> {
    try {
      await this.sync()
    } catch (error) {
      const failure = operatingError(error)
      this.#isHalted = true
      this.#parts.fail(failure)
      return
    }
    this.#isSyncPlanned = false
    // What was written while it ran waits for a sync of its own.
    if (this.#syncedOffset < this.#flushedOffset) this.#planSync()
  }
}
