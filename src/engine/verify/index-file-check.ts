import type { File, Files } from '../../core/platform/index.ts'
import {
  decodeIndexHeader,
  INDEX_HEADER_BYTES,
  type IndexGeometry,
  type IndexHeader,
  ITEM_BYTES,
  itemKeyHash,
  itemOffset,
  itemPosition,
  itemPrevious,
  itemSeconds,
} from '../store/index.ts'
import type { Findings } from './findings.ts'
import { checkHeader, checkSlots, type IndexFileFacts, itemsEnd } from './index-file-end.ts'
import { IndexTail } from './index-tail.ts'
import { ItemReader } from './item-reader.ts'
import { ItemSeconds } from './item-seconds.ts'
import type { LogRanges } from './log-ranges.ts'
import type { RecordProbe } from './record-probe.ts'
import type { SegmentReader } from './segment-reader.ts'
import { SlotTable } from './slot-table.ts'

/** What is the same for all files of the index. */
export interface IndexChecks {
  readonly files: Files
  readonly findings: Findings
  readonly geometry: IndexGeometry
  readonly log: SegmentReader
  /** What of the log cannot be read. */
  readonly ranges: LogRanges
  readonly probe: RecordProbe
  readonly isClean: boolean
  /** How far the items have come that could be believed: they stand in the order of the log. */
  readonly order: { lastOffset: number; hasMatch: boolean }
}

export interface IndexFilePlace {
  readonly path: string
  /** What the manifest says of it. */
  readonly known: IndexHeader | undefined
  /** Store time of the last item of the file before. */
  readonly beforeMs: number | undefined
  /** There may have been one that was removed: Apache counts the first item's seconds from its end. */
  readonly isBeforeGone: boolean
  readonly isNewest: boolean
}

const OTHER_SECONDS = 'the item has other seconds than its message'
const UNKNOWN_SECONDS = 'the first item counts seconds from a file that is gone, or is damaged'

/** An item that the log asks for. */
export interface ExpectedItem {
  readonly keyHash: number
  readonly commitLogOffset: number
  readonly storeTimeMs: number
  /** Not missed when it is not there. */
  readonly isOptional: boolean
}

/**
 * `gone`: its record is not in the log any more, or damaged there. `again`: Apache has repeated the
 * last ones of the file before. `ahead`: of a later record. `alone`: damaged, and the next one is
 * what is expected. `damaged`: stands where the expected one should.
 */
type Verdict = 'gone' | 'again' | 'ahead' | 'alone' | 'damaged'

/**
 * Holds the items of one file of the message index against what the records of the log ask for, one
 * after the other. See docs/formats/message-index.md.
 */
export class IndexFileCheck {
  /** Store time of its last item, as far as it is known. */
  lastTimeMs: number | undefined
  readonly #all: IndexChecks
  readonly #place: IndexFilePlace
  readonly #file: File
  readonly #items: ItemReader
  readonly #table: SlotTable
  readonly #header: IndexHeader
  readonly #seconds: ItemSeconds
  /** Number behind the last item. */
  readonly #end: number
  #next = 1
  /** Was found to belong to a later record. */
  #aheadItem = 0
  #hasMatch = false
  /** Of the record of item 1, and of the last item; `undefined` when nobody knows. */
  #firstOffset: number | undefined
  #lastOffset: number | undefined

  private constructor(
    parts: { all: IndexChecks; place: IndexFilePlace; file: File; items: ItemReader },
    found: { readonly header: IndexHeader; readonly end: number },
  ) {
    const { all, place } = parts
    this.#all = all
    this.#place = place
    this.#file = parts.file
    this.#items = parts.items
    this.#table = new SlotTable(all.geometry.slotCount)
    this.#header = found.header
    this.#end = found.end
    const { beginTimeMs } = place.known ?? found.header
    const { beforeMs } = place
    this.#seconds = new ItemSeconds(beginTimeMs, { isSure: place.known !== undefined, beforeMs })
  }

  static async open(all: IndexChecks, place: IndexFilePlace): Promise<IndexFileCheck> {
    const file = await all.files.open(place.path, 'read')
    const bytes = Buffer.alloc(INDEX_HEADER_BYTES)
    await file.read(bytes, 0)
    const header = decodeIndexHeader(bytes)
    const items = new ItemReader(file, all.geometry)
    const mayHaveMore = place.isNewest && !all.isClean
    const known = place.known?.nextItem
    const end = known ?? (await itemsEnd(items, { header, geometry: all.geometry, mayHaveMore }))
    const check = new IndexFileCheck({ all, place, file, items }, { header, end })
    await check.#checkUnused()
    return check
  }

  get hasItem(): boolean {
    return this.#next < this.#end
  }

  /** Whether the next item is in memory and as expected: then `take` it. */
  isNext(expected: ExpectedItem): boolean {
    const item = this.#next
    return item < this.#end && this.#items.holds(item) && this.#matches(item, expected)
  }

  take({ commitLogOffset, storeTimeMs, keyHash }: ExpectedItem): void {
    const { order } = this.#all
    const item = this.#next
    if (item === 1) this.#seconds.beginAt(storeTimeMs)
    const seconds = itemSeconds(this.#items.block, this.#items.at(item))
    if (!this.#seconds.accepts(item, seconds, storeTimeMs)) {
      if (item === 1 && this.#place.isBeforeGone) this.#note(item, UNKNOWN_SECONDS)
      else this.#damage(item, OTHER_SECONDS)
    }
    this.#reportDoubt(false)
    this.#link(item, keyHash)
    this.#hasMatch = order.hasMatch = true
    this.#pass(commitLogOffset, storeTimeMs)
  }

  /** Takes the next item; true when the expected one has had its turn by that, or is missing. */
  async step(expected: ExpectedItem): Promise<boolean> {
    const item = this.#next
    await this.#items.load(item)
    if (this.#matches(item, expected)) {
      this.take(expected)
      return true
    }
    const verdict = await this.#judge(item, expected)
    if (verdict === 'ahead') {
      this.#aheadItem = item
      if (!expected.isOptional) this.noteMissing()
      return true
    }
    if (verdict === 'gone' || verdict === 'again') {
      if (verdict === 'again') this.#note(item, 'the item repeats one of the file before')
      this.#takeByItself(item)
      return false
    }
    this.#damage(item, 'the item is not that of its message')
    this.#table.setUnsure(item)
    if (verdict === 'alone') {
      this.#passUnknown()
      return false
    }
    this.#table.set(expected.keyHash % this.#table.slotCount, item)
    this.#pass(expected.commitLogOffset, expected.storeTimeMs)
    return true
  }

  /** Messages of the log have no item, which would stand before the next one. */
  noteMissing(): void {
    this.#note(this.#next, 'messages of the log in front of this place have no item')
  }

  /** The log is read, or the next file begins: what is left are items without a record. */
  async finish(): Promise<void> {
    for (; this.#next < this.#end;) {
      const item = this.#next
      await this.#items.load(item)
      if (this.#isGone(item, Infinity)) this.#takeByItself(item)
      else {
        this.#damage(item, 'the item names no message of the log')
        this.#table.setUnsure(item)
        this.#passUnknown()
      }
    }
    this.#reportDoubt(true)
    const facts = this.#facts()
    const tail = await IndexTail.read(this.#items, { from: this.#end, ...this.#all.geometry })
    checkHeader(facts, tail)
    await checkSlots(facts, tail)
    await this.#file.close()
  }

  #facts(): IndexFileFacts {
    const { path, known } = this.#place
    const { beginTimeMs } = this.#seconds
    return {
      file: this.#file,
      path,
      findings: this.#all.findings,
      geometry: this.#all.geometry,
      table: this.#table,
      header: this.#header,
      isKnown: known !== undefined,
      expected: {
        beginTimeMs,
        endTimeMs: known?.endTimeMs ?? this.lastTimeMs,
        beginOffset: known?.beginOffset ?? this.#firstOffset,
        endOffset: known?.endOffset ?? this.#lastOffset,
        nextItem: this.#end,
      },
    }
  }

  async #checkUnused(): Promise<void> {
    const bytes = Buffer.alloc(ITEM_BYTES)
    await this.#file.read(bytes, itemPosition(this.#all.geometry, 0))
    if (bytes.some(byte => byte !== 0)) this.#note(0, 'bytes in item 0, which no reader uses')
  }

  #matches(item: number, expected: ExpectedItem): boolean {
    const { block } = this.#items
    const at = this.#items.at(item)
    return (
      itemKeyHash(block, at) === expected.keyHash &&
      itemOffset(block, at) === expected.commitLogOffset
    )
  }

  async #judge(item: number, expected: ExpectedItem): Promise<Verdict> {
    if (this.#aheadItem === item) return 'ahead'
    if (this.#isGone(item, expected.commitLogOffset)) return 'gone'
    const { order } = this.#all
    const offset = itemOffset(this.#items.block, this.#items.at(item))
    const isRepeated = !this.#hasMatch && offset === order.lastOffset
    const isAhead = offset >= expected.commitLogOffset && !this.#isBehindNext(item, offset)
    if ((isAhead || isRepeated) && (await this.#isSound(item))) return isAhead ? 'ahead' : 'again'
    if (item + 1 >= this.#end) return 'damaged'
    const next = item + 1
    const isLater = this.#isGone(next, expected.commitLogOffset) || this.#matches(next, expected)
    return isLater ? 'alone' : 'damaged'
  }

  /** The next item speaks against this one: it leads to an older record, and not one too old. */
  #isBehindNext(item: number, offset: number): boolean {
    if (item + 1 >= this.#end) return false
    const after = itemOffset(this.#items.block, this.#items.at(item + 1))
    return after < offset && after >= this.#all.order.lastOffset
  }

  /** Leads to a record that was removed, or is damaged, in front of `beforeOffset`. */
  #isGone(item: number, beforeOffset: number): boolean {
    const { order, log, ranges } = this.#all
    const offset = itemOffset(this.#items.block, this.#items.at(item))
    if (offset < order.lastOffset || offset >= beforeOffset) return false
    if (this.#items.isZero(item) && item > 1) return false
    return offset < log.firstOffset ? !order.hasMatch : ranges.at(offset) !== undefined
  }

  /** Whether it is the item of a record that it leads to. */
  async #isSound(item: number): Promise<boolean> {
    const { block } = this.#items
    const at = this.#items.at(item)
    const storeTimeMs = await this.#all.probe.storeTimeOf(
      itemKeyHash(block, at),
      itemOffset(block, at),
    )
    if (storeTimeMs === undefined) return false
    return item === 1 || this.#seconds.fits(item, itemSeconds(block, at), storeTimeMs)
  }

  /** Nothing tells whether it is right but its link. */
  #takeByItself(item: number): void {
    const at = this.#items.at(item)
    this.#link(item, itemKeyHash(this.#items.block, at))
    this.#pass(itemOffset(this.#items.block, at), undefined)
  }

  #link(item: number, keyHash: number): void {
    const slot = Math.abs(keyHash) % this.#table.slotCount
    const previous = itemPrevious(this.#items.block, this.#items.at(item))
    if (keyHash < 0) this.#damage(item, 'the item has a key hash below 0')
    else if (!this.#table.accepts(slot, previous)) {
      this.#damage(item, 'the item has a link to another item than the one before it in its slot')
    }
    this.#table.set(slot, item)
  }

  #pass(offset: number, storeTimeMs: number | undefined): void {
    this.#all.order.lastOffset = offset
    if (this.#next === 1) this.#firstOffset = offset
    this.#lastOffset = offset
    this.lastTimeMs = storeTimeMs
    this.#next++
  }

  #passUnknown(): void {
    this.#lastOffset = undefined
    this.lastTimeMs = undefined
    this.#next++
  }

  #reportDoubt(isEnd: boolean): void {
    const item = this.#seconds.takeDamaged(isEnd)
    if (item > 0) this.#damage(item, OTHER_SECONDS)
  }

  #rangeOf(item: number): readonly [number, number] {
    const position = itemPosition(this.#all.geometry, item)
    return [position, position + ITEM_BYTES]
  }

  #damage(item: number, what: string): void {
    this.#all.findings.damage(this.#place.path, this.#rangeOf(item), what)
  }

  #note(item: number, what: string): void {
    this.#all.findings.note(this.#place.path, this.#rangeOf(item), what)
  }
}
