import { assert, BrokerError } from '../../core/base/index.ts'
import type { File, Files } from '../../core/platform/index.ts'

const NAME_DIGITS = 20

/**
 * A sequence of files of one length, each named by the offset of its first byte (20 digits), as
 * the commit log and the consume queues of Apache RocketMQ are laid out. New files have their full
 * length from the start (sparse), since Apache refuses others.
 */
export class SegmentFiles {
  readonly directory: string
  readonly segmentBytes: number
  readonly #files: Files
  /** First offsets of the files that exist, ascending. */
  #bases: number[] = []
  readonly #open = new Map<number, Promise<File>>()
  readonly #dirty = new Set<number>()
  #directoryChanged = false

  constructor(files: Files, directory: string, segmentBytes: number) {
    this.#files = files
    this.directory = directory
    this.segmentBytes = segmentBytes
  }

  /** Finds the files that exist. Names that are not ours are left alone. */
  async load(): Promise<void> {
    const names = await this.#files.list(this.directory)
    this.#bases = names
      .filter(name => name.length === NAME_DIGITS && /^\d+$/.test(name))
      .map(Number)
      .filter(base => base % this.segmentBytes === 0)
      .toSorted((a, b) => a - b)
  }

  get isEmpty(): boolean {
    return this.#bases.length === 0
  }

  /** Offset of the first byte that exists; 0 when nothing does. */
  get firstOffset(): number {
    return this.#bases[0] ?? 0
  }

  /** Offset behind the last file; 0 when there is none. */
  get endOffset(): number {
    const last = this.#bases.at(-1)
    return last === undefined ? 0 : last + this.segmentBytes
  }

  get bases(): readonly number[] {
    return this.#bases
  }

  baseOf(offset: number): number {
    return offset - (offset % this.segmentBytes)
  }

  pathOf(base: number): string {
    return `${this.directory}/${String(base).padStart(NAME_DIGITS, '0')}`
  }

  /** Writes all parts at `offset`; they must lie in one segment, which is made when missing. */
  async write(parts: readonly Uint8Array[], offset: number): Promise<void> {
    const base = this.baseOf(offset)
    const file = await this.#fileFor(base)
    this.#dirty.add(base)
    await file.write(parts, offset - base)
  }

  /** Writes bytes that may reach over the end of a segment. */
  async writeAcross(bytes: Uint8Array, offset: number): Promise<void> {
    let done = 0
    while (done < bytes.length) {
      const room = this.segmentBytes - ((offset + done) % this.segmentBytes)
      const count = Math.min(room, bytes.length - done)
      await this.write([bytes.subarray(done, done + count)], offset + done)
      done += count
    }
  }

  /**
   * Fills `target` from `offset`, over segments if need be. Resolves to the bytes read: fewer
   * where files end or are missing.
   */
  async read(target: Uint8Array, offset: number): Promise<number> {
    let done = 0
    while (done < target.length) {
      const base = this.baseOf(offset + done)
      if (!this.#bases.includes(base)) break
      const file = await this.#fileFor(base)
      const position = offset + done - base
      const count = Math.min(target.length - done, this.segmentBytes - position)
      const got = await file.read(target.subarray(done, done + count), position)
      done += got
      if (got < count) break
    }
    return done
  }

  /** Makes everything written so far durable, one file at a time. */
  async sync(): Promise<void> {
    for (const base of [...this.#dirty].toSorted((a, b) => a - b)) {
      this.#dirty.delete(base)
      try {
        await (await this.#fileFor(base)).datasync()
      } catch (error) {
        this.#dirty.add(base)
        throw error
      }
    }
    await this.#syncDirectory()
  }

  /** Gives back all handles; the next access opens them again. */
  async closeHandles(): Promise<void> {
    const handles = [...this.#open.values()]
    this.#open.clear()
    for (const handle of handles) await (await handle).close()
  }

  /** Removes the files that lie wholly below `offset`; keeps at least the last one. */
  async removeBefore(offset: number): Promise<number> {
    let removed = 0
    while (this.#bases.length > 1 && this.firstOffset + this.segmentBytes <= offset) {
      await this.#removeFile(this.firstOffset)
      removed++
    }
    await this.#syncDirectory()
    return removed
  }

  /** Forgets everything from `offset` on: later files go, the rest of its own becomes zeros. */
  async cut(offset: number): Promise<void> {
    for (const base of this.#bases.filter(candidate => candidate >= offset)) {
      if (base === offset && base === this.#bases[0]) break
      await this.#removeFile(base)
    }
    const base = this.baseOf(offset)
    if (this.#bases.includes(base)) {
      const file = await this.#fileFor(base)
      await file.truncate(offset - base)
      await file.truncate(this.segmentBytes)
      await file.datasync()
    }
    await this.#syncDirectory()
  }

  /** Gives a file that a crash left short its full length. */
  async completeLengths(): Promise<void> {
    for (const base of this.#bases) {
      const sizeBytes = await this.#files.sizeOf(this.pathOf(base))
      if (sizeBytes === this.segmentBytes) continue
      if ((sizeBytes ?? 0) > this.segmentBytes) {
        throw new BrokerError('STORE_DAMAGED', {
          file: this.pathOf(base),
          sizeBytes: sizeBytes ?? 0,
          expectedBytes: this.segmentBytes,
          hint: 'set the segment length to the one the store was made with',
        })
      }
      const file = await this.#fileFor(base)
      await file.truncate(this.segmentBytes)
      await file.datasync()
    }
  }

  async removeAll(): Promise<void> {
    for (const base of [...this.#bases]) await this.#removeFile(base)
    await this.#files.remove(this.directory)
  }

  async #syncDirectory(): Promise<void> {
    if (!this.#directoryChanged) return
    this.#directoryChanged = false
    await this.#files.syncDirectory(this.directory)
  }

  async #removeFile(base: number): Promise<void> {
    const handle = this.#open.get(base)
    this.#open.delete(base)
    this.#dirty.delete(base)
    this.#bases = this.#bases.filter(candidate => candidate !== base)
    if (handle !== undefined) await (await handle).close()
    await this.#files.remove(this.pathOf(base))
    this.#directoryChanged = true
  }

  #fileFor(base: number): Promise<File> {
    const known = this.#open.get(base)
    if (known !== undefined) return known
    const opening = this.#bases.includes(base) ? this.#openExisting(base) : this.#create(base)
    this.#open.set(base, opening)
    opening.catch(() => this.#open.delete(base))
    return opening
  }

  #openExisting(base: number): Promise<File> {
    return this.#files.open(this.pathOf(base), 'write')
  }

  async #create(base: number): Promise<File> {
    assert(
      this.#bases.length === 0 || base === this.endOffset,
      'a new segment must follow the last one',
    )
    if (this.#bases.length === 0) await this.#makeDirectory()
    const file = await this.#files.open(this.pathOf(base), 'write')
    await file.truncate(this.segmentBytes)
    await file.datasync()
    await this.#files.syncDirectory(this.directory)
    this.#bases.push(base)
    return file
  }

  async #makeDirectory(): Promise<void> {
    await this.#files.makeDirectory(this.directory)
    const parent = this.directory.slice(0, this.directory.lastIndexOf('/'))
    await this.#files.syncDirectory(parent)
  }
}
