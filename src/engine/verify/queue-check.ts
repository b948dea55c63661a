import { readInt32, readInt64Loose } from '../../core/base/index.ts'
import { PADDING_SIZE, QUEUE_SEGMENT_BYTES, UNIT_BYTES } from '../store/index.ts'
import { LevelDelays } from './expected-tags.ts'
import type { Findings } from './findings.ts'
import type { LogRanges } from './log-ranges.ts'
import type { SegmentReader } from './segment-reader.ts'
import type { BlockHolder, UnitBlocks } from './unit-blocks.ts'
import { isZero } from './zeros.ts'

const AT_SIZE = 8
const AT_TAGS = 12
/** Read at once: about a page. */
const UNITS_IN_BLOCK = 204

/** What is the same for all queues. */
export interface QueueChecks {
  readonly blocks: UnitBlocks
  readonly findings: Findings
  readonly log: SegmentReader
  /** What of the log cannot be read. */
  readonly ranges: LogRanges
  /** Every record of the log below this has its unit on the disk. */
  readonly unitsTo: number
  /** The units are those of another broker: they count wherever they are. */
  readonly isForeign: boolean
  /** Delay of each level in milliseconds, level 1 first. */
  readonly levelsMs: readonly number[]
}

/** The record of a message, as its unit must name it. */
export interface RecordFacts {
  readonly commitLogOffset: number
  readonly sizeBytes: number
  readonly queueOffset: number
  /** Not compared for a delay level. */
  readonly tagsCode: number
  readonly source: Buffer
  readonly position: number
}

interface Unit {
  readonly place: number
  readonly size: number
  readonly tagsCode: number
}

/**
 * Holds the units of one queue against the records of the log, in the order of the log. See
 * docs/formats/consume-queue.md.
 */
export class QueueCheck implements BlockHolder {
  readonly topic: string
  readonly queueId: number
  readonly #files: SegmentReader
  readonly #all: QueueChecks
  readonly #delays: LevelDelays | undefined
  /** Number of the first unit that was not looked at. */
  #next: number
  #hasRecord = false
  #block: Buffer | undefined
  /** Number of the first unit in the block. */
  #blockFrom = 0
  #lastPlace = 0

  constructor(
    queue: { readonly topic: string; readonly queueId: number; readonly files: SegmentReader },
    all: QueueChecks,
  ) {
    this.topic = queue.topic
    this.queueId = queue.queueId
    this.#files = queue.files
    this.#all = all
    this.#next = queue.files.firstOffset / UNIT_BYTES
    const isLevel = LevelDelays.isLevel(queue.topic)
    this.#delays = isLevel ? new LevelDelays(all.levelsMs[queue.queueId]) : undefined
  }

  /** Reports files that are not as long as they must be. */
  checkLengths(isClean: boolean): void {
    for (const base of this.#files.bases) {
      const size = this.#files.sizeOf(base)
      if (size === QUEUE_SEGMENT_BYTES) continue
      const isNew = !isClean && base === this.#files.bases.at(-1)
      const [from, to] = [Math.min(Math.max(size, 0), QUEUE_SEGMENT_BYTES), QUEUE_SEGMENT_BYTES]
      const range = { fromPosition: from, toPosition: Math.max(to, size) }
      const what =
        size < to ? 'the file of the queue is missing or cut off' : 'the file is too long'
      this.#all.findings.add({
        kind: isNew ? 'note' : 'damage',
        file: this.#files.pathOf(base),
        ...range,
        what,
      })
    }
  }

  /** The next record of this queue in the log. Returns a promise only when it has to read. */
  record(facts: RecordFacts): Promise<void> | undefined {
    const { queueOffset } = facts
    const held = this.#held(queueOffset)
    if (held === undefined || queueOffset !== this.#next) return this.#recordSlowly(facts)
    this.#compare(facts, held)
    return undefined
  }

  async #recordSlowly(facts: RecordFacts): Promise<void> {
    if (facts.queueOffset > this.#next) await this.#checkWithoutRecord(facts)
    this.#compare(facts, await this.#unit(facts.queueOffset))
  }

  #compare(facts: RecordFacts, unit: Unit): void {
    const { commitLogOffset, sizeBytes, queueOffset, tagsCode } = facts
    this.#hasRecord = true
    this.#next = Math.max(this.#next, queueOffset + 1)
    this.#lastPlace = commitLogOffset
    const { place, size } = unit
    if (isNothing(unit)) {
      this.#report(queueOffset, commitLogOffset, 'a message of the log has no unit here')
      return
    }
    if (place !== commitLogOffset || size !== sizeBytes) {
      const isPadding = size === PADDING_SIZE && unit.tagsCode === 0
      const what = isPadding
        ? 'a message of the log has padding in place of its unit'
        : 'the unit does not name its message'
      this.#report(queueOffset, commitLogOffset, what)
      return
    }
    const wrong = this.#delays?.next(unit.tagsCode, facts)
    if (wrong !== undefined) this.#reportDelay(wrong)
    if (this.#delays === undefined && unit.tagsCode !== tagsCode) {
      this.#report(queueOffset, commitLogOffset, 'the unit has another tags code than its message')
    }
  }

  #reportDelay(queueOffset: number): void {
    this.#report(queueOffset, -1, 'the unit has another due time than its message')
  }

  /** Units in front of the next record, whose messages are not in the log, or are damaged there. */
  async #checkWithoutRecord({ queueOffset, commitLogOffset }: RecordFacts): Promise<void> {
    for (; this.#next < queueOffset; this.#next++) {
      const unit = await this.#unit(this.#next)
      const isPadding = unit.size === PADDING_SIZE && unit.tagsCode === 0
      if (isPadding && (unit.place === commitLogOffset || this.#isStart(unit))) continue
      if (this.#isGone(unit) || this.#isInRange(unit)) continue
      const what = 'the unit names no message of the log'
      this.#report(this.#next, commitLogOffset, what)
    }
  }

  /** Fills the first file up to where the queue begins. */
  #isStart(unit: Unit): boolean {
    return unit.place === 0 && !this.#hasRecord && this.#lastPlace === 0
  }

  /** Of a message that the log no longer has. */
  #isGone(unit: Unit): boolean {
    const { size, place } = unit
    if (this.#hasRecord || size <= 0 || place < this.#lastPlace) return false
    if (place >= this.#all.log.firstOffset) return false
    this.#lastPlace = place
    return true
  }

  /** Its message is in a damaged part of the log, which is reported as such. */
  #isInRange({ place, size }: Unit): boolean {
    const range = size > 0 ? this.#all.ranges.at(place) : undefined
    if (range === undefined) return false
    if (size !== PADDING_SIZE) range.isNamed = true
    return true
  }

  /** The log is read: what is left must be nothing. `block` is filled again and again. */
  async end(block: Buffer): Promise<void> {
    const wrong = this.#delays?.end()
    if (wrong !== undefined) this.#reportDelay(wrong)
    this.dropBlock()
    const end = this.#files.endOffset
    let isOver = false
    while (this.#next * UNIT_BYTES < end) {
      const start = this.#next * UNIT_BYTES
      const fileEnd = this.#files.baseOf(start) + QUEUE_SEGMENT_BYTES
      const length = Math.min(block.length - (block.length % UNIT_BYTES), fileEnd - start)
      await this.#files.read(block.subarray(0, length), start)
      if (isZero(block, 0, length)) {
        isOver = true
        this.#next += length / UNIT_BYTES
        continue
      }
      for (let at = 0; at < length; at += UNIT_BYTES) {
        const unit = unitAt(block, at)
        if (unit.size === 0) isOver = true
        this.#checkBehind(unit, isOver)
        this.#next++
      }
    }
    await this.#files.close()
  }

  #checkBehind(unit: Unit, isOver: boolean): void {
    if (isNothing(unit)) return
    if (!isOver && (this.#isGone(unit) || this.#isInRange(unit))) return
    const isNamed = !isOver && unit.size > 0 && unit.place > this.#lastPlace
    if (isNamed && unit.place < this.#all.unitsTo) {
      this.#report(this.#next, unit.place, 'the unit names no message of the log')
    } else this.#add('note', this.#next, 'bytes behind the end of the queue')
  }

  /** Gives back memory; the block is read again when it is needed. */
  dropBlock(): void {
    this.#block = undefined
  }

  /** `undefined` when it is not in memory. */
  #held(queueOffset: number): Unit | undefined {
    const at = queueOffset - this.#blockFrom
    if (this.#block === undefined || at < 0 || at >= UNITS_IN_BLOCK) return undefined
    return unitAt(this.#block, at * UNIT_BYTES)
  }

  async #unit(queueOffset: number): Promise<Unit> {
    const held = this.#held(queueOffset)
    if (held !== undefined) return held
    const block = this.#block ?? Buffer.allocUnsafe(UNITS_IN_BLOCK * UNIT_BYTES)
    const offset = queueOffset * UNIT_BYTES
    const length = Math.min(block.length, this.#files.baseOf(offset) + QUEUE_SEGMENT_BYTES - offset)
    block.fill(0, length)
    await this.#files.read(block.subarray(0, length), offset)
    await this.#files.close()
    this.#block = block
    this.#blockFrom = queueOffset
    this.#all.blocks.taken(this)
    return unitAt(block, 0)
  }

  /** Of a message at `commitLogOffset`: what recovery makes anew is not damage. */
  #report(queueOffset: number, commitLogOffset: number, what: string): void {
    const { isForeign, unitsTo } = this.#all
    if (isForeign || commitLogOffset < unitsTo) this.#add('damage', queueOffset, what)
    else this.#add('note', queueOffset, `${what}; it is made again at the next start`)
  }

  #add(kind: 'damage' | 'note', queueOffset: number, what: string): void {
    const offset = queueOffset * UNIT_BYTES
    const base = this.#files.baseOf(offset)
    const fromPosition = offset - base
    const toPosition = fromPosition + UNIT_BYTES
    this.#all.findings.add({ kind, file: this.#files.pathOf(base), fromPosition, toPosition, what })
  }
}

function unitAt(source: Buffer, at: number): Unit {
  return {
    place: readInt64Loose(source, at),
    size: readInt32(source, at + AT_SIZE),
    tagsCode: readInt64Loose(source, at + AT_TAGS),
  }
}

function isNothing({ place, size, tagsCode }: Unit): boolean {
  return size === 0 && place === 0 && tagsCode === 0
}
