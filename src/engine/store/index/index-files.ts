import { assert } from '../../../core/base/index.ts'
import type { Platform } from '../../../core/platform/index.ts'
import type { IndexBatch } from './index-batch.ts'
import { IndexFile } from './index-file.ts'
import { emptyIndexHeader, type IndexGeometry, type IndexHeader } from './index-layout.ts'
import { indexSectionOf } from './index-section.ts'

const NAME_DIGITS = 17
const HEAD_DIGITS = 8
const TAIL_DIGITS: number = NAME_DIGITS - HEAD_DIGITS

/** A file, and up to where in the log it leads; the newest one's grows. */
interface Entry {
  readonly file: IndexFile
  endOffset: number
}

/**
 * The files of the message index, each named by the time of its making. Only the newest one is
 * written, up to its last item.
 */
export class IndexFiles {
  readonly #platform: Platform
  readonly #directory: string
  readonly #geometry: IndexGeometry
  /** The oldest first; also those that are only in memory yet. */
  #entries: Entry[] = []
  /** What the newest file holds, with what waits to be written to it. */
  #header: IndexHeader = emptyIndexHeader()
  #knownOffset = -1
  /** In memory only, until the first batch is written. */
  readonly #unmade = new Set<string>()
  /** Greatest name there is, also of files that we cannot read. */
  #lastName = ''

  constructor(platform: Platform, directory: string, geometry: IndexGeometry) {
    this.#platform = platform
    this.#directory = directory
    this.#geometry = geometry
  }

  /** Of the newest file; changed by whoever adds to it. */
  get header(): IndexHeader {
    return this.#header
  }

  /** Records of the log up to here are in the files that were found; -1: none are. */
  get knownOffset(): number {
    return this.#knownOffset
  }

  newestFirst(): readonly IndexFile[] {
    const made = this.#entries.filter(({ file }) => !this.#unmade.has(file.name))
    return made.map(({ file }) => file).toReversed()
  }

  has(file: IndexFile): boolean {
    return this.#entries.some(entry => entry.file === file)
  }

  /** Finds the files; `isLost`: they are not to be trusted and are removed. */
  async load(known: {
    section: unknown
    store: { readonly isForeign: boolean; readonly isClean: boolean }
    isLost: boolean
  }): Promise<void> {
    const { store } = known
    const section = store.isForeign ? undefined : indexSectionOf(known.section)
    this.#lastName = section?.lastName ?? ''
    const names = await this.#platform.files.list(this.#directory)
    for (const name of names.filter(each => /^\d{17}$/.test(each))) {
      const isNew = section !== undefined && name > section.lastName
      const file = new IndexFile(this.#platform.files, this.#directory, name, this.#geometry)
      if (known.isLost || isNew) await this.#remove(file)
      else await this.#take(file)
    }
    const newest = this.#entries.at(-1)
    if (section !== undefined && section.fileName !== (newest?.file.name ?? '')) {
      const path = `${this.#directory}/${section.fileName}`
      this.#platform.log.error('a file of the message index is missing', undefined, { file: path })
      // Nothing is added to the one before it.
      this.#header = { ...emptyIndexHeader(), nextItem: this.#geometry.itemCount }
      return
    }
    if (newest === undefined) return
    if (section !== undefined) this.#header = { ...section.header }
    if (!store.isClean && !store.isForeign) {
      await newest.file.mend(this.#header.nextItem)
    }
    newest.endOffset = this.#header.endOffset
    if (this.#header.nextItem > 1) this.#knownOffset = this.#header.endOffset
  }

  async #take(file: IndexFile): Promise<void> {
    if (file.name > this.#lastName) this.#lastName = file.name
    const header = await file.readHeader()
    if (header === undefined) {
      const path = `${this.#directory}/${file.name}`
      const reason = 'a file of the message index has another length; it is left alone'
      this.#platform.log.warn(reason, { file: path })
      return
    }
    file.usedSlotCount = header.usedSlotCount
    this.#header = header
    this.#entries.push({ file, endOffset: header.endOffset })
  }

  /** The file to add to, a new one when there is none or it is full. */
  current(timeMs: number): { fileName: string; header: IndexHeader; geometry: IndexGeometry } {
    const geometry = this.#geometry
    if (this.#entries.length === 0 || this.#header.nextItem >= geometry.itemCount) {
      this.#begin(timeMs)
    }
    const newest = this.#entries.at(-1)
    assert(newest !== undefined, 'there is a file to add to')
    return { fileName: newest.file.name, header: this.#header, geometry }
  }

  #begin(timeMs: number): void {
    const before = this.#entries.at(-1)
    if (before !== undefined) {
      before.endOffset = Math.max(before.endOffset, this.#header.endOffset)
    }
    const name = nameAfter(this.#lastName, timeMs)
    this.#lastName = name
    const file = new IndexFile(this.#platform.files, this.#directory, name, this.#geometry)
    this.#unmade.add(name)
    this.#entries.push({ file, endOffset: 0 })
    this.#header = emptyIndexHeader()
  }

  /** Writes a batch to its file and makes it durable. Errors: STORE_FULL, STORE_FAILED. */
  async write(batch: IndexBatch): Promise<void> {
    const entry = this.#entries.find(({ file }) => file.name === batch.fileName)
    // Retention may have removed it: what the batch leads to is gone too.
    if (entry === undefined) return
    const { file } = entry
    if (this.#unmade.has(file.name)) {
      await file.create()
      await this.#platform.files.syncDirectory(this.#directory)
      this.#unmade.delete(file.name)
    }
    await file.write(batch)
  }

  /** For the manifest: which file is the newest, and what it holds with all that was added. */
  section(): unknown {
    const newest = this.#entries.at(-1)
    const lastName = this.#lastName
    if (newest === undefined) return { lastName }
    const { beginTimeMs, endTimeMs, beginOffset, endOffset, nextItem } = this.#header
    const fileName = newest.file.name
    return {
      lastName,
      newest: { fileName, beginTimeMs, endTimeMs, beginOffset, endOffset, nextItem },
    }
  }

  /** Removes the files that lead to nothing from `minLogOffset` on; never the newest. */
  async removeBelow(minLogOffset: number): Promise<void> {
    const old = this.#entries.slice(0, -1).filter(({ endOffset }) => endOffset < minLogOffset)
    if (old.length === 0) return
    this.#entries = this.#entries.filter(entry => !old.includes(entry))
    for (const { file } of old) await file.remove()
    await this.#platform.files.syncDirectory(this.#directory)
  }

  async #remove(file: IndexFile): Promise<void> {
    await file.remove()
    await this.#platform.files.syncDirectory(this.#directory)
  }
}

/** `yyyyMMddHHmmssSSS` in UTC, and in any case greater than the name before: they must ascend. */
export function nameAfter(lastName: string, timeMs: number): string {
  const name = new Date(timeMs).toISOString().replace(/\D/g, '').slice(0, NAME_DIGITS)
  if (name > lastName) return name
  // More digits than a number holds exactly, so in two halves.
  const head = Number(lastName.slice(0, HEAD_DIGITS))
  const tail = Number(lastName.slice(HEAD_DIGITS)) + 1
  const carry = tail === 10 ** TAIL_DIGITS ? 1 : 0
  const tailText = String(carry === 1 ? 0 : tail).padStart(TAIL_DIGITS, '0')
  return String(head + carry).padStart(HEAD_DIGITS, '0') + tailText
}
