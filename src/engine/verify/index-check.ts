import type { Files } from '../../core/platform/index.ts'
import { recordStoreTimeMs } from '../../model/message/index.ts'
import { type IndexGeometry, indexFileBytes, type IndexSection } from '../store/index.ts'
import { EntryReader } from './entry-reader.ts'
import type { Findings } from './findings.ts'
import { type ExpectedItem, type IndexChecks, IndexFileCheck } from './index-file-check.ts'
import type { LogRanges } from './log-ranges.ts'
import { RecordProbe } from './record-probe.ts'
import type { SegmentReader } from './segment-reader.ts'

const NAME = /^\d{17}$/

export interface IndexParts {
  readonly files: Files
  readonly findings: Findings
  readonly geometry: IndexGeometry
  readonly log: SegmentReader
  readonly ranges: LogRanges
  readonly isClean: boolean
  /** What the manifest says of the index; `undefined` when it does not name it. */
  readonly section: IndexSection | undefined
  /** No manifest tells whose files these are. */
  readonly isForeign: boolean
  /** Every record of the log below this should have its items on the disk. */
  readonly itemsTo: number
  /** The next start removes all files and builds the index again from the log. */
  readonly isBuiltAgain: boolean
}

type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] }

/** All files of the message index, against the records of the log in their order. */
export class IndexCheck {
  readonly #directory: string
  readonly #parts: IndexParts
  readonly #checks: IndexChecks
  readonly #entries = new EntryReader()
  readonly #expected: Mutable<ExpectedItem> = {
    keyHash: 0,
    commitLogOffset: 0,
    storeTimeMs: 0,
    isOptional: false,
  }
  /** Names of the files that are read, the oldest first. */
  #names: string[] = []
  #opened = 0
  #file: IndexFileCheck | undefined
  /** The last file can be read, so that it can be said what it lacks. */
  #isWhole = true
  #isMissingNoted = false

  constructor(directory: string, parts: IndexParts) {
    this.#directory = directory
    this.#parts = parts
    const { files, findings, geometry, log, ranges, isClean } = parts
    const probe = new RecordProbe(log, new EntryReader())
    const order = { lastOffset: 0, hasMatch: false }
    this.#checks = { files, findings, geometry, log, ranges, probe, isClean, order }
  }

  get fileCount(): number {
    return this.#names.length
  }

  /** Finds the files, and reports those that a start does not read. */
  async discover(): Promise<void> {
    const { files, findings, geometry, section, isForeign, isBuiltAgain } = this.#parts
    const full = indexFileBytes(geometry)
    const names = (await files.list(this.#directory)).filter(name => NAME.test(name))
    for (const name of names) {
      const path = `${this.#directory}/${name}`
      const size = (await files.sizeOf(path)) ?? 0
      const isUnnamed = section !== undefined && name > section.lastName
      if (isUnnamed || isBuiltAgain) {
        const what = isUnnamed
          ? 'the manifest does not name this file of the index'
          : 'another broker was not stopped cleanly: the next start builds the index again'
        findings.note(path, [0, size], what)
        continue
      }
      this.#isWhole = size === full
      if (this.#isWhole) {
        this.#names.push(name)
        continue
      }
      const range = [Math.min(size, full), Math.max(size, full)] as const
      const what = 'a file of the message index has another length: it is not searched'
      if (isForeign) findings.note(path, range, what)
      else findings.damage(path, range, what)
    }
    const newest = section?.fileName ?? ''
    if (newest !== '' && !names.includes(newest)) {
      this.#isWhole = false
      const what = 'the newest file of the message index is missing'
      findings.damage(`${this.#directory}/${newest}`, [0, full], what)
    }
  }

  /** The next record of the log. Returns a promise only when it has to read. */
  record(source: Buffer, position: number, commitLogOffset: number): Promise<void> | undefined {
    if (this.#names.length === 0) return undefined
    this.#entries.read(source, position)
    const { hashes, isOptional } = this.#entries
    if (hashes.count === 0) return undefined
    const expected = this.#expected
    expected.commitLogOffset = commitLogOffset
    expected.storeTimeMs = recordStoreTimeMs(source, position)
    expected.isOptional = isOptional
    const done = this.#takeHeld(0)
    return done === hashes.count ? undefined : this.#takeSlowly(done)
  }

  /** The log is read: what is left must belong to no record. */
  async end(): Promise<void> {
    while ((await this.#advance()) !== undefined) await this.#close()
    await this.#close()
  }

  /** Number of the first entry, from `from` on, whose item is not in memory or another one. */
  #takeHeld(from: number): number {
    const { hashes } = this.#entries
    const expected = this.#expected
    for (let index = from; index < hashes.count; index++) {
      expected.keyHash = hashes.at(index)
      if (this.#file?.isNext(expected) !== true) return index
      this.#file.take(expected)
    }
    return hashes.count
  }

  async #takeSlowly(from: number): Promise<void> {
    const { hashes } = this.#entries
    for (let index = from; index < hashes.count; index = this.#takeHeld(index)) {
      const file = await this.#advance()
      if (file === undefined) {
        this.#noteMissing()
        return
      }
      if (await file.step(this.#expected)) index++
    }
  }

  /** The file with the next item; `undefined` when there is no item any more. */
  async #advance(): Promise<IndexFileCheck | undefined> {
    while (this.#file?.hasItem !== true && this.#opened < this.#names.length) {
      const beforeMs = this.#file?.lastTimeMs
      await this.#close()
      const name = this.#names[this.#opened++] ?? ''
      const { section } = this.#parts
      const isNewest = this.#opened === this.#names.length
      this.#file = await IndexFileCheck.open(this.#checks, {
        path: `${this.#directory}/${name}`,
        known: section?.fileName === name ? section.header : undefined,
        beforeMs,
        isBeforeGone: this.#opened === 1 && this.#parts.log.firstOffset > 0,
        isNewest,
      })
    }
    return this.#file?.hasItem === true ? this.#file : undefined
  }

  async #close(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    await file?.finish()
  }

  /** Said once, of the place where the next item would stand. */
  #noteMissing(): void {
    const { commitLogOffset, isOptional } = this.#expected
    if (this.#isMissingNoted || isOptional || !this.#isWhole) return
    if (commitLogOffset >= this.#parts.itemsTo) return
    this.#isMissingNoted = true
    this.#file?.noteMissing()
  }
}
