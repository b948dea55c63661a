import type { Log } from '../../core/platform/index.ts'
import { readInt64Loose } from '../../core/base/index.ts'
import {
  checkRecord,
  RECORD_COMMIT_LOG_OFFSET,
  RECORD_SIZE_MIN_BYTES,
} from '../../model/message/index.ts'
import type { SegmentFiles } from './segment-files.ts'

const BLOCK_BYTES = 4 * 1024 * 1024

const DAMAGED = 'the commit log is damaged; the range was passed over'
/** Two writes may be under way at once, and a power cut may let only the second one through. */
const UNWRITTEN =
  'a piece of the commit log was never written; ' +
  'after a power cut this is one that was not answered, else the disk has lost it'

export interface ScanVisitor {
  /** A whole, checked record. `source` is valid during the call only. */
  record(source: Buffer, position: number, commitLogOffset: number): void
  /** A range was passed over; `isUnwritten`: it holds zeros only. What follows is whole. */
  passedOver(isUnwritten: boolean): void
  /** After each block: a chance to write out what the records led to. */
  blockDone(): Promise<void>
}

export interface ScanResult {
  /** Where the log ends: the next record goes here. */
  readonly endOffset: number
  /** True when there were bytes of a record that was not written whole. */
  readonly isTorn: boolean
  /** Ranges inside the log that could not be read and were passed over. */
  readonly damaged: readonly { readonly from: number; readonly to: number }[]
}

/**
 * Reads the log from `fromOffset` to its end, record by record.
 *
 * The log ends where nothing was written, or where a record is damaged and none follows that is
 * whole: that one was not written to its end, so it was never answered. Damage with whole records
 * behind it is reported with its range and passed over: those behind it may have been answered.
 */
export async function scanLog(
  segments: SegmentFiles,
  fromOffset: number,
  parts: { visitor: ScanVisitor; log: Log; recordBytesMax: number },
): Promise<ScanResult> {
  const scan = new Scan(segments, fromOffset, parts.recordBytesMax)
  const damaged: { from: number; to: number }[] = []
  for (;;) {
    const step = await scan.next(parts.visitor)
    if (step.kind === 'block') continue
    const file = segments.pathOf(segments.baseOf(scan.offset))
    if (step.kind === 'end') {
      const { reason = '' } = step
      const place = { file, fromOffset: scan.offset, reason }
      if (step.isTorn) parts.log.warn('the end of the commit log was cut off', place)
      return { endOffset: scan.offset, isTorn: step.isTorn, damaged }
    }
    const { from, to, reason, isUnwritten } = step
    damaged.push({ from, to })
    parts.visitor.passedOver(isUnwritten)
    const range = { file: segments.pathOf(segments.baseOf(from)), fromOffset: from, toOffset: to }
    if (isUnwritten) parts.log.warn(UNWRITTEN, range)
    else parts.log.error(DAMAGED, undefined, { ...range, reason })
  }
}

type Step =
  | { readonly kind: 'end'; readonly isTorn: boolean; readonly reason?: string }
  | {
      readonly kind: 'damaged'
      readonly from: number
      readonly to: number
      readonly reason: string
      readonly isUnwritten: boolean
    }
  | { readonly kind: 'block' }

class Scan {
  offset: number
  readonly #segments: SegmentFiles
  readonly #block: Buffer
  readonly #recordBytesMax: number

  constructor(segments: SegmentFiles, fromOffset: number, recordBytesMax: number) {
    this.#segments = segments
    this.offset = fromOffset
    this.#recordBytesMax = recordBytesMax
    // A block never reaches over the end of a segment.
    const blockBytes = Math.min(segments.segmentBytes, Math.max(BLOCK_BYTES, 2 * recordBytesMax))
    this.#block = Buffer.allocUnsafeSlow(blockBytes)
  }

  /** Visits records up to the end of one block, of the log, or of what can be read. */
  async next(visitor: ScanVisitor): Promise<Step> {
    const got = await this.#readBlock(this.offset)
    if (got === 0) return { kind: 'end', isTorn: false }
    const segmentEnd = this.#segmentEnd(this.offset)
    const isLastOfSegment = this.offset + got === segmentEnd
    let position = 0
    while (position < got) {
      const isCut = got - position < this.#recordBytesMax && !isLastOfSegment
      if (isCut && position > 0) break
      const check = checkRecord(this.#block, position, got)
      if (check.kind === 'end') {
        this.offset += position
        const isEmpty = isZero(this.#block, position, got)
        if (isEmpty && segmentEnd >= this.#segments.endOffset) return { kind: 'end', isTorn: false }
        return this.#passOver('nothing was written here')
      }
      if (check.kind === 'blank') {
        this.offset = segmentEnd
        await visitor.blockDone()
        return { kind: 'block' }
      }
      const damage = check.kind === 'damaged' ? check.reason : this.#misplacement(position)
      if (damage !== undefined) {
        // Looked at once more with a whole block behind it.
        if (position === 0) return this.#passOver(damage)
        break
      }
      visitor.record(this.#block, position, this.offset + position)
      position += check.kind === 'record' ? check.size : 0
    }
    this.offset += position
    await visitor.blockDone()
    return { kind: 'block' }
  }

  /** Fills the block from `offset`, up to the end of the segment. */
  #readBlock(offset: number): Promise<number> {
    const wanted = Math.min(this.#block.length, this.#segmentEnd(offset) - offset)
    return this.#segments.read(this.#block.subarray(0, wanted), offset)
  }

  #segmentEnd(offset: number): number {
    return this.#segments.baseOf(offset) + this.#segments.segmentBytes
  }

  #misplacement(position: number): string | undefined {
    return this.#statedOffset(position) === this.offset + position ? undefined : 'misplaced'
  }

  #statedOffset(position: number): number {
    return readInt64Loose(this.#block, position + RECORD_COMMIT_LOG_OFFSET)
  }

  async #passOver(reason: string): Promise<Step> {
    const from = this.offset
    const to = await this.#nextWhole(from + 1)
    if (to === undefined) return { kind: 'end', isTorn: true, reason }
    const isUnwritten = await this.#isZeroBetween(from, to)
    this.offset = to
    return { kind: 'damaged', from, to, reason, isUnwritten }
  }

  /**
   * Where the next whole record lies, from `offset` on. A block of zeros ends the search in a
   * segment: no record is as long.
   */
  async #nextWhole(offset: number): Promise<number | undefined> {
    let start = offset
    while (start < this.#segments.endOffset) {
      const got = await this.#readBlock(start)
      const found = this.#firstWholeIn(start, got)
      if (found !== undefined) return found
      const segmentEnd = this.#segmentEnd(start)
      const isLast = got < this.#block.length || start + got === segmentEnd
      const isOver = isLast || isZero(this.#block, 0, got)
      // What may reach over the block's end is looked at again at the start of the next one.
      start = isOver ? segmentEnd : start + got - this.#recordBytesMax
    }
    return undefined
  }

  async #isZeroBetween(from: number, to: number): Promise<boolean> {
    for (let start = from; start < to;) {
      const got = Math.min(await this.#readBlock(start), to - start)
      if (got === 0 || !isZero(this.#block, 0, got)) return false
      start += got
    }
    return true
  }

  #firstWholeIn(start: number, got: number): number | undefined {
    for (let position = 0; position + RECORD_SIZE_MIN_BYTES <= got; position++) {
      if (this.#statedOffset(position) !== start + position) continue
      if (checkRecord(this.#block, position, got).kind === 'record') return start + position
    }
    return undefined
  }
}

function isZero(source: Buffer, start: number, end: number): boolean {
  for (let position = start; position < end; position++) if (source[position] !== 0) return false
  return true
}
