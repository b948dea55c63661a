import type { Log } from '../../core/platform/index.ts'
import { readInt64Loose } from '../../core/base/index.ts'
import { checkRecord, RECORD_COMMIT_LOG_OFFSET, recordSize } from '../../model/message/index.ts'
import type { SegmentFiles } from './segment-files.ts'

const BLOCK_BYTES = 4 * 1024 * 1024
const SECTOR_BYTES = 512
/** Smallest record that can exist. */
const RECORD_BYTES_MIN = 91
const SIZE_AND_MAGIC_BYTES = 8

export interface ScanVisitor {
  /** A whole, checked record. `source` is valid during the call only. */
  record(source: Buffer, position: number, commitLogOffset: number): void
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
 * A record that was not written whole (a sector of it is still zeros) ends the log: nothing behind
 * it was answered, since a flush is answered as a whole. Any other damage is bits gone bad: it is
 * reported with its range, and the scan goes on at the next whole record.
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
    if (step.kind === 'end') return { endOffset: scan.offset, isTorn: step.isTorn, damaged }
    if (step.kind === 'damaged') {
      const range = { from: step.from, to: step.to }
      damaged.push(range)
      const file = segments.pathOf(segments.baseOf(step.from))
      parts.log.error('the commit log is damaged; the range was passed over', undefined, {
        file,
        fromOffset: step.from,
        toOffset: step.to,
        reason: step.reason,
      })
    }
  }
}

type Step =
  | { readonly kind: 'end'; readonly isTorn: boolean }
  | {
      readonly kind: 'damaged'
      readonly from: number
      readonly to: number
      readonly reason: string
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
    this.#block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, 2 * recordBytesMax))
  }

  /** Visits records up to the end of one block, of the log, or of what can be read. */
  async next(visitor: ScanVisitor): Promise<Step> {
    const segmentEnd = this.#segments.baseOf(this.offset) + this.#segments.segmentBytes
    const wanted = Math.min(this.#block.length, segmentEnd - this.offset)
    const got = await this.#segments.read(this.#block.subarray(0, wanted), this.offset)
    if (got === 0) return { kind: 'end', isTorn: false }
    const isLastOfSegment = this.offset + got === segmentEnd
    let position = 0
    while (position < got) {
      const isCut = got - position < this.#recordBytesMax && !isLastOfSegment
      if (isCut && position > 0) break
      const check = checkRecord(this.#block, position, got)
      if (check.kind === 'end') {
        return this.#atEnd(position, got)
      }
      if (check.kind === 'blank') {
        this.offset = segmentEnd
        await visitor.blockDone()
        return { kind: 'block' }
      }
      const isMisplaced =
        check.kind === 'record' && this.#statedOffset(position) !== this.offset + position
      if (check.kind === 'damaged' || isMisplaced) {
        return this.#atDamage(position, got, check.kind === 'damaged' ? check.reason : 'misplaced')
      }
      visitor.record(this.#block, position, this.offset + position)
      position += check.kind === 'record' ? check.size : 0
    }
    this.offset += position
    await visitor.blockDone()
    return { kind: 'block' }
  }

  #statedOffset(position: number): number {
    return readInt64Loose(this.#block, position + RECORD_COMMIT_LOG_OFFSET)
  }

  /** Zeros: the end, unless whole records follow (their lost neighbour was never answered). */
  #atEnd(position: number, got: number): Step {
    this.offset += position
    const isTorn = this.#block.subarray(position, got).some(byte => byte !== 0)
    return { kind: 'end', isTorn }
  }

  #atDamage(position: number, got: number, reason: string): Step {
    const from = this.offset + position
    if (this.#looksTorn(position, got)) {
      this.offset = from
      return { kind: 'end', isTorn: true }
    }
    for (let next = position + 1; next + RECORD_BYTES_MIN <= got; next++) {
      if (this.#statedOffset(next) !== this.offset + next) continue
      if (checkRecord(this.#block, next, got).kind !== 'record') continue
      const to = this.offset + next
      this.offset = to
      return { kind: 'damaged', from, to, reason }
    }
    // Nothing whole follows: this was the last record.
    this.offset = from
    return { kind: 'end', isTorn: true }
  }

  /**
   * Whether a sector that the record reaches into holds nothing but zeros, as if never written.
   * (Its first sector shows as the end of the log instead, since its size is missing then.)
   */
  #looksTorn(position: number, got: number): boolean {
    const claimed = recordSize(this.#block, position)
    const isPlausible = claimed >= RECORD_BYTES_MIN && claimed <= this.#recordBytesMax
    const recordEnd = position + (isPlausible ? claimed : RECORD_BYTES_MIN)
    const inSector = (this.offset + position) % SECTOR_BYTES
    let start = position + SECTOR_BYTES - inSector
    if (start - position < SIZE_AND_MAGIC_BYTES && isZero(this.#block, position, start)) return true
    for (; start < recordEnd && start < got; start += SECTOR_BYTES) {
      if (isZero(this.#block, start, Math.min(got, start + SECTOR_BYTES))) return true
    }
    return false
  }
}

function isZero(source: Buffer, start: number, end: number): boolean {
  for (let position = start; position < end; position++) if (source[position] !== 0) return false
  return true
}
