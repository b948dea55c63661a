import { readInt64Loose } from '../../core/base/index.ts'
import {
  BLANK_MAGIC,
  checkRecord,
  RECORD_COMMIT_LOG_OFFSET,
  RECORD_MAGIC_V1,
  RECORD_MAGIC_V2,
  RECORD_SIZE_MIN_BYTES,
  recordMagic,
  recordSize,
} from '../../model/message/index.ts'
import { RECORD_BYTES_MAX } from '../store/index.ts'
import type { Findings } from './findings.ts'
import { LogRanges } from './log-ranges.ts'
import type { SegmentReader } from './segment-reader.ts'
import { endOfNonZero, firstNonZero, isZero } from './zeros.ts'

const BLOCK_BYTES = 1024 * 1024
/** What tells a record, or the end of a segment, from other bytes. */
const HEAD_BYTES = 36
const BLANK_BYTES = 8

export interface LogExpectation {
  /** The log reaches at least up to here. */
  readonly endMin: number
  /** It ends there exactly, after a clean stop. */
  readonly isExact: boolean
}

export interface LogVisitor {
  /** A whole record; `source` holds it at `position` during the call only. */
  record(source: Buffer, position: number, commitLogOffset: number): Promise<void> | undefined
  /** Up to here all has been read. */
  progress(commitLogOffset: number): void
}

type Step =
  | { readonly kind: 'record'; readonly size: number; readonly position: number }
  | { readonly kind: 'blank'; readonly size: number }
  | { readonly kind: 'broken'; readonly reason: string }

/** Reads the whole commit log, record by record. See docs/formats/commit-log.md. */
export class LogCheck {
  /** What of the log cannot be read; complete up to where the check has come. */
  readonly ranges: LogRanges = new LogRanges()
  /** Where the log ends, once it was read. */
  endOffset = 0
  recordCount = 0
  readonly #log: SegmentReader
  readonly #expected: LogExpectation
  readonly #findings: Findings
  #block: Buffer = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  #start = 0
  #length = 0
  /** The latest search for something whole came by a byte that is not zero. */
  #hasBytesBehind = false

  constructor(log: SegmentReader, expected: LogExpectation, findings: Findings) {
    this.#log = log
    this.#expected = expected
    this.#findings = findings
  }

  async run(visitor: LogVisitor): Promise<void> {
    let offset = this.#log.firstOffset
    while (offset < this.#log.endOffset) {
      const step = await this.#stepAt(offset)
      if (step.kind === 'record') {
        const visiting = visitor.record(this.#block, step.position, offset)
        if (visiting !== undefined) await visiting
        this.recordCount++
        offset += step.size
        if (offset >= this.#start + this.#length) visitor.progress(offset)
        continue
      }
      if (step.kind === 'blank') {
        await this.#checkBlank(offset, step.size)
        offset = this.#segmentEnd(offset)
        continue
      }
      this.#hasBytesBehind = false
      const next = await this.#nextWhole(offset + 1)
      if (next === undefined) {
        await this.#end(offset, step.reason)
        return
      }
      await this.#passOver(offset, next, step.reason)
      offset = next
    }
    await this.#end(offset, 'the file is missing')
  }

  #segmentEnd(offset: number): number {
    return this.#log.baseOf(offset) + this.#log.segmentBytes
  }

  /** What lies at `offset`. The block holds all of it. */
  async #stepAt(offset: number): Promise<Step> {
    const rest = this.#segmentEnd(offset) - offset
    if (rest < BLANK_BYTES) return { kind: 'broken', reason: 'no room for a record' }
    let position = await this.#view(offset, Math.min(rest, HEAD_BYTES))
    const size = recordSize(this.#block, position)
    const magic = recordMagic(this.#block, position)
    if (magic === BLANK_MAGIC && size >= BLANK_BYTES) return { kind: 'blank', size }
    const isRecord = magic === RECORD_MAGIC_V1 || magic === RECORD_MAGIC_V2
    if (!isRecord) {
      return { kind: 'broken', reason: size === 0 ? 'nothing was written here' : 'unknown magic' }
    }
    if (size < RECORD_SIZE_MIN_BYTES || size > Math.min(rest, RECORD_BYTES_MAX)) {
      return { kind: 'broken', reason: 'size out of range' }
    }
    position = await this.#view(offset, size)
    const check = checkRecord(this.#block, position, position + size)
    if (check.kind === 'damaged') return { kind: 'broken', reason: check.reason }
    if (check.kind !== 'record') return { kind: 'broken', reason: 'unknown magic' }
    const place = readInt64Loose(this.#block, position + RECORD_COMMIT_LOG_OFFSET)
    return place === offset ? { kind: 'record', size, position } : MISPLACED
  }

  /** Position in the block of the bytes at `offset`; it holds at least `count` of them. */
  async #view(offset: number, count: number): Promise<number> {
    const isThere = offset >= this.#start && offset + count <= this.#start + this.#length
    if (!isThere) {
      if (count > this.#block.length) this.#block = Buffer.allocUnsafeSlow(count)
      const rest = this.#segmentEnd(offset) - offset
      this.#length = Math.min(this.#block.length, rest)
      this.#start = offset
      await this.#log.read(this.#block.subarray(0, this.#length), offset)
    }
    return offset - this.#start
  }

  async #checkBlank(offset: number, size: number): Promise<void> {
    const end = this.#segmentEnd(offset)
    if (size !== end - offset) {
      this.#damage(offset, offset + BLANK_BYTES, 'the end of the segment has another size')
    }
    const behind = offset + BLANK_BYTES
    await this.#noteNonZero(behind, end, 'bytes in the unused end of the segment')
  }

  /** Where the next record begins that is whole, or the next end of a segment; from `from` on. */
  async #nextWhole(from: number): Promise<number | undefined> {
    let offset = from
    while (offset < this.#log.endOffset) {
      const rest = this.#segmentEnd(offset) - offset
      if (rest < BLANK_BYTES) {
        offset += rest
        continue
      }
      const position = await this.#view(offset, Math.min(rest, HEAD_BYTES))
      const end = this.#length
      const candidate = this.#candidateIn(position, end)
      if (candidate === undefined) {
        const isLast = this.#start + end === this.#segmentEnd(offset)
        offset = this.#start + (isLast ? end : end - HEAD_BYTES + 1)
        continue
      }
      offset = this.#start + candidate
      const step = await this.#stepAt(offset)
      if (step.kind === 'record') return offset
      if (step.kind === 'blank' && step.size === this.#segmentEnd(offset) - offset) return offset
      offset++
    }
    return undefined
  }

  /** Position of the first bytes in the block that may be the beginning of something whole. */
  #candidateIn(from: number, end: number): number | undefined {
    const block = this.#block
    // Zeros are passed over fast: there may be a gibibyte of them. A size may begin with three.
    const written = firstNonZero(block, from, end)
    if (written < end) this.#hasBytesBehind = true
    let position = Math.max(from, written - 3)
    for (; position + BLANK_BYTES <= end; position++) {
      const magic = recordMagic(block, position)
      if (magic === BLANK_MAGIC) return position
      if (magic !== RECORD_MAGIC_V1 && magic !== RECORD_MAGIC_V2) continue
      if (position + HEAD_BYTES > end) continue
      const place = readInt64Loose(block, position + RECORD_COMMIT_LOG_OFFSET)
      if (place === this.#start + position) return position
    }
    return undefined
  }

  async #passOver(from: number, to: number, reason: string): Promise<void> {
    const hasBytes = (await this.#nonZeroRange(from, to)) !== undefined
    const what = hasBytes
      ? `the commit log is damaged: ${reason}`
      : 'a piece of the commit log was never written'
    const range = { from, to, isZero: !hasBytes, what, isNamed: false }
    if (!this.ranges.add(range)) this.#damage(from, to, what)
  }

  /**
   * Tells what was passed over, once the units of all queues were looked at. A power cut leaves
   * pieces of which nothing was answered: where every record has its unit, no unit names them.
   */
  tellRanges(unitsTo: number): void {
    for (const range of this.ranges.all()) {
      const { from, to, what } = range
      const isEndOfSegment = to === this.#segmentEnd(from)
      const isLost = range.isNamed || (!range.isZero && (to > unitsTo || isEndOfSegment))
      if (isLost) this.#damage(from, to, what)
      else {
        const text = `${what}; no queue has a message there, as after a power cut`
        this.#eachFile(from, to, (file, place) => this.#findings.note(file, place, text))
      }
    }
  }

  /** Nothing whole lies at `offset` or behind it. */
  async #end(offset: number, reason: string): Promise<void> {
    const { endMin, isExact } = this.#expected
    this.endOffset = offset
    const behind = Math.max(offset, endMin)
    if (offset < endMin) {
      const what = `the end of the commit log is damaged or missing: ${reason}`
      const range = { from: offset, to: endMin, isZero: false, what, isNamed: true }
      if (!this.ranges.add(range)) this.#damage(offset, endMin, what)
    } else if (isExact && offset > endMin) {
      this.#eachFile(endMin, offset, (file, range) =>
        this.#findings.note(file, range, 'another broker has written behind the end of the log'),
      )
    }
    const what = isExact
      ? 'bytes behind the end of the log'
      : 'bytes behind the last whole record: a write that was cut off, or damage'
    // The search has seen all but the first byte.
    const end = this.#log.endOffset
    await this.#noteNonZero(behind, this.#hasBytesBehind ? end : Math.min(end, behind + 1), what)
  }

  async #noteNonZero(from: number, to: number, what: string): Promise<void> {
    const written = await this.#nonZeroRange(from, to)
    if (written !== undefined) {
      this.#eachFile(written[0], written[1], (file, range) =>
        this.#findings.note(file, range, what),
      )
    }
  }

  /** From the first to behind the last byte that is not zero. */
  async #nonZeroRange(from: number, to: number): Promise<readonly [number, number] | undefined> {
    let first: number | undefined
    let last = from
    for (let offset = from; offset < to;) {
      const position = await this.#view(offset, 1)
      const end = Math.min(this.#length, to - this.#start)
      if (!isZero(this.#block, position, end)) {
        first ??= this.#start + firstNonZero(this.#block, position, end)
        last = this.#start + endOfNonZero(this.#block, position, end)
      }
      offset = this.#start + end
    }
    return first === undefined ? undefined : [first, last]
  }

  #damage(from: number, to: number, what: string): void {
    this.#eachFile(from, to, (file, range) => this.#findings.damage(file, range, what))
  }

  #eachFile(
    from: number,
    to: number,
    tell: (file: string, range: readonly [number, number]) => void,
  ): void {
    eachFileOf(this.#log, { from, to }, tell)
  }
}

const MISPLACED: Step = { kind: 'broken', reason: 'misplaced' }

/** A range of the log, file by file, in positions of the files. */
function eachFileOf(
  log: SegmentReader,
  { from, to }: { readonly from: number; readonly to: number },
  tell: (file: string, range: readonly [number, number]) => void,
): void {
  for (let start = from; start < to;) {
    const base = log.baseOf(start)
    const end = Math.min(to, base + log.segmentBytes)
    tell(log.pathOf(base), [start - base, end - base])
    start = end
  }
}
