import { assert, readInt32, readInt64Loose, writeInt32, writeInt64 } from '../../core/base/index.ts'
import type { Files, Log } from '../../core/platform/index.ts'
import { javaHash } from '../../model/message/index.ts'
import { SegmentFiles } from './segment-files.ts'
import type { TopicApplier } from './topic-applier.ts'

/** One unit: commit log offset 8, size 4, tags code 8. See docs/formats/consume-queue.md. */
export const UNIT_BYTES = 20
/** 300,000 units a file, as Apache has it. */
export const QUEUE_SEGMENT_BYTES: number = 300_000 * UNIT_BYTES

const AT_OFFSET = 0
const AT_SIZE = 8
const AT_TAGS = 12
/** A search reads so many units at once when it has come near: a page. */
const SEARCH_UNITS = 204
const TAIL_UNITS_FIRST = 16
/** A tail of this many units is written to the file before the next checkpoint. */
const TAIL_UNITS_LONG = 4096
/** True units are looked for behind so many that are not: more than two sectors hold. */
const DAMAGED_UNITS_MAX = 64

/** Fills the place of units that are not there any more, as Apache marks it. */
export const PADDING_SIZE = 0x7fff_ffff

/**
 * The index of one queue of a topic: where in the commit log each of its messages lies.
 *
 * New units wait in memory (the tail) until `writeTail`; they are durable after `sync`, and
 * rebuilt from the log when a crash comes before it.
 */
export class ConsumeQueue {
  readonly topic: string
  readonly queueId: number
  /** Java's hash of `topic#`: what every key of its messages in the message index begins with. */
  readonly topicKeyHash: number
  /** What else happens to records of this topic when they are applied. */
  readonly applier: TopicApplier | undefined
  /** Offset that the next record appended to the log for this queue gets. */
  nextOffset = 0
  /** Set while it stands in the list of queues that got something in this cycle. */
  hasArrivals = false
  readonly #segments: SegmentFiles
  #tail: Buffer = Buffer.allocUnsafe(TAIL_UNITS_FIRST * UNIT_BYTES)
  #tailCount = 0
  readonly #tailView: QueueTail = {
    commitLogOffset: offset => readInt64Loose(this.#tail, this.#tailPosition(offset) + AT_OFFSET),
    size: offset => readInt32(this.#tail, this.#tailPosition(offset) + AT_SIZE),
    tagsCode: offset => readInt64Loose(this.#tail, this.#tailPosition(offset) + AT_TAGS),
  }
  #writtenCount = 0
  #syncedCount = 0
  #minOffset = 0
  #isCutOff = false
  #writing: Promise<void> | undefined
  /** Set while the file holds units behind `#writtenCount` that are not true. */
  #mustCut = false

  constructor(parts: {
    files: Files
    /** Holds the folders of all topics. */
    root: string
    topic: string
    queueId: number
    applier: TopicApplier | undefined
  }) {
    this.topic = parts.topic
    this.topicKeyHash = javaHash(`${parts.topic}#`)
    this.queueId = parts.queueId
    this.applier = parts.applier
    const directory = `${parts.root}/${parts.topic}/${parts.queueId}`
    this.#segments = new SegmentFiles(parts.files, directory, {
      segmentBytes: QUEUE_SEGMENT_BYTES,
      root: parts.root,
    })
  }

  /** Units that a clean stop had written are gone from its end: the log has to say which. */
  get isCutOff(): boolean {
    return this.#isCutOff
  }

  /** First offset that the log still backs. */
  get minOffset(): number {
    return this.#minOffset
  }

  /** One behind the last visible message; what the next visible one gets. */
  get maxOffset(): number {
    return this.#writtenCount + this.#tailCount
  }

  /** Offset with which the first file begins; 0 when there is none. */
  get firstFileOffset(): number {
    return this.#segments.firstOffset / UNIT_BYTES
  }

  /** Whether nothing is left to write or sync. */
  get isDurable(): boolean {
    return this.#tailCount === 0 && this.#syncedCount === this.#writtenCount
  }

  get isTailLong(): boolean {
    return this.#tailCount >= TAIL_UNITS_LONG
  }

  /** Makes the next message visible. */
  appendUnit(commitLogOffset: number, sizeBytes: number, tagsCode: number): void {
    const position = this.#tailCount * UNIT_BYTES
    if (position === this.#tail.length) this.#growTail()
    writeInt64(this.#tail, commitLogOffset, position + AT_OFFSET)
    writeInt32(this.#tail, sizeBytes, position + AT_SIZE)
    writeInt64(this.#tail, tagsCode, position + AT_TAGS)
    this.#tailCount++
  }

  /**
   * Keeps the numbering where a message is missing: a unit that no reader takes for one, with the
   * place of the next message, since places must not decrease.
   */
  appendPadding(nextCommitLogOffset: number): void {
    this.appendUnit(nextCommitLogOffset, PADDING_SIZE, 0)
    this.nextOffset++
  }

  /** Forgets the units from `offset` on, because the log says that they are not true. */
  rewind(offset: number): void {
    this.#tailCount = Math.max(0, offset - this.#writtenCount)
    if (offset < this.#writtenCount) {
      this.#writtenCount = offset
      this.#syncedCount = Math.min(this.#syncedCount, offset)
      this.#minOffset = Math.min(this.#minOffset, offset)
      this.#mustCut = true
    }
    this.nextOffset = offset
  }

  /** Whether units from `offset` on are in memory. */
  isInTail(offset: number): boolean {
    return offset >= this.#writtenCount
  }

  /** The units in memory, by their offset in the queue; valid until the next change. */
  get tail(): QueueTail {
    return this.#tailView
  }

  /** Up to `countMax` units from `offset` on, from file and memory. */
  async readUnits(offset: number, countMax: number): Promise<UnitBlock> {
    const count = Math.max(0, Math.min(countMax, this.maxOffset - offset))
    const bytes = Buffer.alloc(count * UNIT_BYTES)
    const fromTail = Math.max(offset, this.#writtenCount)
    const tailStart = (fromTail - this.#writtenCount) * UNIT_BYTES
    const inTail = Math.max(0, offset + count - fromTail)
    // The tail first: it moves to the file while the file is being read.
    this.#tail.copy(
      bytes,
      (fromTail - offset) * UNIT_BYTES,
      tailStart,
      tailStart + inTail * UNIT_BYTES,
    )
    const inFile = count - inTail
    if (inFile > 0) {
      await this.#segments.read(bytes.subarray(0, inFile * UNIT_BYTES), offset * UNIT_BYTES)
    }
    return new UnitBlock(bytes, count)
  }

  /** Writes the tail to the file; the system may still lose it. Calls join one under way. */
  async writeTail(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
    if (this.#tailCount === 0) return
    this.#writing = this.#writeTailOnce().finally(() => {
      this.#writing = undefined
    })
    await this.#writing
  }

  /** Makes durable what was written, and gives back the file handles until the next write. */
  async sync(): Promise<void> {
    const count = this.#writtenCount
    await this.#segments.sync()
    this.#syncedCount = Math.max(this.#syncedCount, count)
    await this.closeHandles()
  }

  closeHandles(): Promise<void> {
    return this.#segments.closeHandles()
  }

  async #writeTailOnce(): Promise<void> {
    if (this.#mustCut) {
      await this.#segments.cut(this.#writtenCount * UNIT_BYTES)
      this.#mustCut = false
    }
    if (this.#segments.isEmpty) await this.#padStart()
    const count = this.#tailCount
    const bytes = this.#tail.subarray(0, count * UNIT_BYTES)
    await this.#segments.writeAcross(bytes, this.#writtenCount * UNIT_BYTES)
    const rest = this.#tailCount - count
    const capacity = Math.max(TAIL_UNITS_FIRST, rest)
    const tail = Buffer.allocUnsafe(capacity * UNIT_BYTES)
    this.#tail.copy(tail, 0, count * UNIT_BYTES, this.#tailCount * UNIT_BYTES)
    this.#tail = tail
    this.#tailCount = rest
    this.#writtenCount += count
  }

  /** Fills the first file up to where this queue begins, so that a reader finds no hole. */
  async #padStart(): Promise<void> {
    const base = this.#segments.baseOf(this.#writtenCount * UNIT_BYTES)
    const padding = paddingUnits(this.#writtenCount - base / UNIT_BYTES, 0)
    if (padding.length > 0) await this.#segments.write([padding], base)
  }

  #tailPosition(offset: number): number {
    return (offset - this.#writtenCount) * UNIT_BYTES
  }

  #growTail(): void {
    const grown = Buffer.allocUnsafe(this.#tail.length * 2)
    this.#tail.copy(grown)
    this.#tail = grown
  }

  /**
   * Finds how many units are there that belong to log offsets below `commitLogEnd`, and forgets
   * the rest: recovery applies those again. Units that went bad in between become padding. To be
   * followed by `trim`.
   */
  async load(known: KnownLog): Promise<void> {
    await this.#segments.load()
    if (this.#segments.isEmpty) return
    const shortFrom = await this.#segments.completeLengths()
    if (!known.isClean) await this.#segments.syncNames()
    const first = this.#segments.firstOffset / UNIT_BYTES
    const limit = this.#segments.endOffset / UNIT_BYTES
    let count = first
    let next: number | undefined = first
    while (next !== undefined) {
      const from = count
      count = await this.#partition(next, limit, unit => isBelow(unit, known.commitLogEnd))
      // A torn page can look like an older unit: the record it names must be this very one.
      while (count > from && !(await this.#isUnitTrue(count - 1, known))) count--
      next = await this.#passDamage(count, limit, known)
    }
    const isShort = shortFrom !== undefined || (await this.#hasBytesAt(count, limit))
    this.#isCutOff = known.isClean && isShort
    if (this.#isCutOff) this.#reportCutOff(count, known.log)
    if (!known.isClean || isShort) await this.#segments.cut(count * UNIT_BYTES)
    this.#writtenCount = count
    this.#syncedCount = count
    this.nextOffset = count
    this.#minOffset = first
  }

  /** Behind the last true unit there is nothing, unless a unit has gone bad. */
  async #hasBytesAt(count: number, limit: number): Promise<boolean> {
    if (count >= limit) return false
    const unit = await this.#readUnitsFromFile(count, 1)
    return unit.commitLogOffset(0) !== 0 || unit.size(0) !== 0 || unit.tagsCode(0) !== 0
  }

  #reportCutOff(count: number, log: Log): void {
    const base = this.#segments.baseOf(count * UNIT_BYTES)
    log.error('the end of a queue is damaged; it is made again from the log', undefined, {
      file: this.#segments.pathOf(base),
      fromPosition: count * UNIT_BYTES - base,
      topic: this.topic,
      queueId: this.queueId,
      fromOffset: count,
    })
  }

  /**
   * Where true units go on behind some that are not, as when bits went bad; those become padding.
   * `undefined` when none follow, as at the end.
   */
  async #passDamage(from: number, limit: number, known: KnownLog): Promise<number | undefined> {
    const end = Math.min(limit, from + DAMAGED_UNITS_MAX)
    const units = await this.#readUnitsFromFile(from, Math.max(0, end - from))
    const placeMin = await this.#placeBehind(from)
    for (let next = from + 1; next < end; next++) {
      const unit = units.at(next - from)
      const place = unit.commitLogOffset(0)
      const isNamed = isBelow(unit, known.commitLogEnd) && !unit.isPadding(0)
      if (!isNamed) continue
      const record = await this.#recordOf(unit, next, known)
      if (record === 'other' || (record === 'damaged' && place < placeMin)) continue
      known.log.error('units of a queue are damaged; their messages are passed over', undefined, {
        file: this.#segments.pathOf(this.#segments.baseOf(from * UNIT_BYTES)),
        topic: this.topic,
        queueId: this.queueId,
        fromOffset: from,
        toOffset: next,
      })
      const padding = paddingUnits(next - from, place)
      await this.#segments.writeAcross(padding, from * UNIT_BYTES)
      await this.#segments.sync()
      return next
    }
    return undefined
  }

  /** Behind the last record that the files know, whatever comes after it; 0 for none. */
  async lastRecordEnd(): Promise<number> {
    await this.#segments.load()
    if (this.#segments.isEmpty) return 0
    const first = this.#segments.firstOffset / UNIT_BYTES
    const limit = this.#segments.endOffset / UNIT_BYTES
    const count = await this.#partition(first, limit, unit => unit.size(0) > 0)
    if (count === first) return 0
    const last = await this.#readUnitsFromFile(count - 1, 1)
    return last.isPadding(0) ? 0 : last.commitLogOffset(0) + last.size(0)
  }

  /** Takes note that the log now begins at `commitLogMin`, and gives back what that frees. */
  async trim(commitLogMin: number): Promise<void> {
    const isGone = (unit: UnitBlock): boolean => {
      const place = unit.commitLogOffset(0)
      return place < commitLogMin || (place === 0 && unit.isPadding(0))
    }
    let min = Math.max(this.#minOffset, this.#segments.firstOffset / UNIT_BYTES)
    for (let next: number | undefined = min; next !== undefined;) {
      min = await this.#partition(next, this.maxOffset, isGone)
      next = await this.#goneBehind(min, isGone)
    }
    this.#minOffset = min
    await this.#segments.removeBefore(min * UNIT_BYTES)
  }

  /** Behind the last of the next units that is gone: those before it went bad, and look as new. */
  async #goneBehind(
    offset: number,
    isGone: (unit: UnitBlock) => boolean,
  ): Promise<number | undefined> {
    const count = Math.min(DAMAGED_UNITS_MAX, this.maxOffset - offset)
    const units = await this.#readUnitsAnywhere(offset, count)
    for (let index = count - 1; index > 0; index--) {
      if (isGone(units.at(index))) return offset + index + 1
    }
    return undefined
  }

  /** Begins at `offset`, because what came before is gone from the log. */
  startAt(offset: number): void {
    assert(this.maxOffset === 0, 'only an empty queue can start later')
    this.#writtenCount = offset
    this.#syncedCount = offset
    this.#minOffset = offset
    this.nextOffset = offset
  }

  /** What retention has taken can be read no better than what is damaged. */
  async #recordOf(unit: UnitBlock, offset: number, known: KnownLog): Promise<RecordAt> {
    if (unit.commitLogOffset(0) < known.commitLogMin) return 'damaged'
    return known.recordAt(unit, this, offset)
  }

  async #isUnitTrue(offset: number, known: KnownLog): Promise<boolean> {
    const unit = await this.#readUnitsFromFile(offset, 1)
    if (!isBelow(unit, known.commitLogEnd)) return false
    if (unit.isPadding(0)) return true
    const place = unit.commitLogOffset(0)
    const record = await this.#recordOf(unit, offset, known)
    if (record !== 'damaged') return record === 'own'
    // All that can be said is that places increase.
    return place >= (await this.#placeBehind(offset))
  }

  /** Least place in the log that a unit at `offset` can have, by the one before it. */
  async #placeBehind(offset: number): Promise<number> {
    if (offset * UNIT_BYTES <= this.#segments.firstOffset) return 0
    const before = await this.#readUnitsFromFile(offset - 1, 1)
    const place = before.commitLogOffset(0)
    // Padding has the place of the message that follows it.
    return before.isPadding(0) ? place : place + 1
  }

  async #readUnitsFromFile(offset: number, count: number): Promise<UnitBlock> {
    const bytes = Buffer.alloc(count * UNIT_BYTES)
    await this.#segments.read(bytes, offset * UNIT_BYTES)
    return new UnitBlock(bytes, count)
  }

  /**
   * First offset in [from, to) for which `isBefore` is false; binary search, in memory once what
   * is left is small. A short queue, in its long file, is found with one read.
   */
  async #partition(
    from: number,
    to: number,
    isBefore: (unit: UnitBlock) => boolean,
  ): Promise<number> {
    let low = from
    let high = to
    const start = Math.min(to, from + SEARCH_UNITS)
    if (start < to && !isBefore(await this.#readUnitsAnywhere(start, 1))) high = start
    while (high - low > SEARCH_UNITS) {
      const middle = Math.floor((low + high) / 2)
      if (isBefore(await this.#readUnitsAnywhere(middle, 1))) low = middle + 1
      else high = middle
    }
    const base = low
    const units = await this.#readUnitsAnywhere(base, high - base)
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (isBefore(units.at(middle - base))) low = middle + 1
      else high = middle
    }
    return low
  }

  /** From memory when some are there, else from the file, also behind the last unit known. */
  #readUnitsAnywhere(offset: number, count: number): Promise<UnitBlock> {
    const isKnown = offset + count <= this.maxOffset && offset + count > this.#writtenCount
    return isKnown ? this.readUnits(offset, count) : this.#readUnitsFromFile(offset, count)
  }
}

/** Units that wait in memory, each by its offset in the queue. */
export interface QueueTail {
  commitLogOffset(offset: number): number
  size(offset: number): number
  tagsCode(offset: number): number
}

/** What `load` needs to know of the log. */
export interface KnownLog {
  readonly commitLogMin: number
  /** Units of records from here on are made again. */
  readonly commitLogEnd: number
  /** After a clean stop nothing lies behind the last true unit. */
  readonly isClean: boolean
  readonly log: Log
  /** Tells whether the log record that `unit` names is message `queueOffset` of the queue. */
  readonly recordAt: (
    unit: UnitBlock,
    queue: ConsumeQueue,
    queueOffset: number,
  ) => Promise<RecordAt>
}

/** `damaged`: it may be the one, and nobody can say. */
export type RecordAt = 'own' | 'other' | 'damaged'

function isBelow(unit: UnitBlock, commitLogEnd: number): boolean {
  const place = unit.commitLogOffset(0)
  return unit.size(0) > 0 && place >= 0 && place < commitLogEnd
}

function paddingUnits(count: number, commitLogOffset: number): Buffer {
  const padding = Buffer.alloc(count * UNIT_BYTES)
  for (let position = 0; position < padding.length; position += UNIT_BYTES) {
    writeInt64(padding, commitLogOffset, position + AT_OFFSET)
    writeInt32(padding, PADDING_SIZE, position + AT_SIZE)
  }
  return padding
}

/** Some consecutive units of a queue. */
export class UnitBlock {
  readonly count: number
  readonly #bytes: Buffer

  constructor(bytes: Buffer, count: number) {
    this.#bytes = bytes
    this.count = count
  }

  /** One of them by itself. */
  at(index: number): UnitBlock {
    return new UnitBlock(this.#bytes.subarray(index * UNIT_BYTES, (index + 1) * UNIT_BYTES), 1)
  }

  commitLogOffset(index: number): number {
    return readInt64Loose(this.#bytes, index * UNIT_BYTES + AT_OFFSET)
  }

  size(index: number): number {
    return readInt32(this.#bytes, index * UNIT_BYTES + AT_SIZE)
  }

  /** It stands for a number whose message is missing; its place and tags code say nothing. */
  isPadding(index: number): boolean {
    return this.size(index) === PADDING_SIZE
  }

  tagsCode(index: number): number {
    return readInt64Loose(this.#bytes, index * UNIT_BYTES + AT_TAGS)
  }
}
