import { assert, BrokerError } from '../../core/base/index.ts'
import type { File, Files } from '../../core/platform/index.ts'

const NAME_DIGITS = 20

/** An open file, closed when nobody uses it any more and it is not wanted. */
interface Handle {
  readonly opening: Promise<File>
  useCount: number
  isRetired: boolean
}

/**
 * A sequence of files of one length, each named by the offset of its first byte (20 digits), as
 * the commit log and the consume queues of Apache RocketMQ are laid out. New files have their full
 * length from the start (sparse), since Apache refuses others.
 */
export class SegmentFiles {
  readonly directory: string
  readonly segmentBytes: number
  readonly #files: Files
  /** Holds the directory, perhaps with others between; its own name is durable. */
  readonly #root: string
  /** First offsets of the files that exist, ascending. */
  #bases: number[] = []
  readonly #open = new Map<number, Handle>()
  /** Files with writes that are done and not durable. */
  readonly #dirty = new Set<number>()
  /** No later sync may say yes to what one could not make durable. */
  #syncFailure: BrokerError | undefined
  #isRemovalUnsynced = false
  #syncing: Promise<void> | undefined

  constructor(files: Files, directory: string, parts: { segmentBytes: number; root: string }) {
    this.#files = files
    this.directory = directory
    this.segmentBytes = parts.segmentBytes
    this.#root = parts.root
  }

  /**
   * Finds the files that exist. Names that are not ours are left alone.
   *
   * @throws BrokerError `STORE_DAMAGED` when one between others is missing: we remove them in order
   */
  async load(): Promise<void> {
    const names = await this.#files.list(this.directory)
    this.#bases = names
      .filter(name => name.length === NAME_DIGITS && /^\d+$/.test(name))
      .map(Number)
      .filter(base => base % this.segmentBytes === 0)
      .toSorted((a, b) => a - b)
    for (const base of this.#bases.slice(1)) {
      const before = base - this.segmentBytes
      if (this.#bases.includes(before)) continue
      throw new BrokerError('STORE_DAMAGED', { file: this.pathOf(before), reason: 'is missing' })
    }
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
    await this.#use(base, file => file.write(parts, offset - base))
    // Not before: a sync that runs meanwhile must not take the mark for a write it does not cover.
    this.#dirty.add(base)
  }

  /** As `write`, and durable when it resolves. */
  async writeDurably(parts: readonly Uint8Array[], offset: number): Promise<void> {
    const base = this.baseOf(offset)
    await this.#use(base, file => file.writeDurably(parts, offset - base))
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
      const position = offset + done - base
      const count = Math.min(target.length - done, this.segmentBytes - position)
      const part = target.subarray(done, done + count)
      const got = await this.#use(base, file => file.read(part, position))
      done += got
      if (got < count) break
    }
    return done
  }

  /** Makes everything written so far durable, one file at a time; after a sync under way. */
  async sync(): Promise<void> {
    while (this.#syncing !== undefined) await this.#syncing.catch(() => undefined)
    if (this.#syncFailure !== undefined) throw this.#syncFailure
    if (this.#dirty.size === 0) return
    this.#syncing = this.#syncDirty().finally(() => {
      this.#syncing = undefined
    })
    await this.#syncing
  }

  /** Gives back all handles, those in use when they are done; the next access opens again. */
  async closeHandles(): Promise<void> {
    for (const base of [...this.#open.keys()]) await this.#retire(base)
  }

  /** Removes the files that lie wholly below `offset`; keeps at least the last one. */
  async removeBefore(offset: number): Promise<number> {
    let removed = 0
    while (this.#bases.length > 1 && this.firstOffset + this.segmentBytes <= offset) {
      await this.#removeFile(this.firstOffset)
      removed++
    }
    return removed
  }

  /** Forgets everything from `offset` on: later files go, the rest of its own becomes zeros. */
  async cut(offset: number): Promise<void> {
    for (const base of this.#bases.filter(candidate => candidate >= offset).toReversed()) {
      if (base === offset && base === this.#bases[0]) break
      await this.#removeFile(base)
    }
    const base = this.baseOf(offset)
    if (!this.#bases.includes(base)) return
    await this.#use(base, async file => {
      await file.truncate(offset - base)
      await file.truncate(this.segmentBytes)
      await file.datasync()
    })
  }

  /**
   * Makes the names of the files that were found durable: a process that was killed, or failed,
   * between making a file and syncing its folder has left one that a power cut would take.
   */
  async syncNames(): Promise<void> {
    if (this.#bases.length > 0) await this.#files.syncDirectory(this.directory)
  }

  /**
   * Gives a file that a crash left short its full length. Returns the offset from which on the
   * first of them had nothing; `undefined` when all were whole.
   */
  async completeLengths(): Promise<number | undefined> {
    let shortFrom: number | undefined
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
      shortFrom ??= base + (sizeBytes ?? 0)
      await this.#use(base, async file => {
        await file.truncate(this.segmentBytes)
        await file.datasync()
      })
    }
    return shortFrom
  }

  async #syncDirty(): Promise<void> {
    for (const base of [...this.#dirty].toSorted((a, b) => a - b)) {
      this.#dirty.delete(base)
      if (!this.#bases.includes(base)) continue
      try {
        await this.#use(base, file => file.datasync())
      } catch (error) {
        // Also for lack of space: the system may have dropped what it could not write.
        this.#syncFailure = new BrokerError('STORE_FAILED', { file: this.pathOf(base) }, error)
        throw this.#syncFailure
      }
    }
  }

  /** One removal is durable before the next: a power cut must not leave a hole between files. */
  async #removeFile(base: number): Promise<void> {
    // An earlier one may have been removed without that.
    if (this.#isRemovalUnsynced) await this.#syncRemoval()
    this.#dirty.delete(base)
    this.#bases = this.#bases.filter(candidate => candidate !== base)
    try {
      await this.#retire(base)
      await this.#files.remove(this.pathOf(base))
    } catch (error) {
      this.#bases = [...this.#bases, base].toSorted((a, b) => a - b)
      throw error
    }
    this.#isRemovalUnsynced = true
    await this.#syncRemoval()
  }

  async #syncRemoval(): Promise<void> {
    await this.#files.syncDirectory(this.directory)
    this.#isRemovalUnsynced = false
  }

  async #use<Result>(base: number, action: (file: File) => Promise<Result>): Promise<Result> {
    const handle = this.#open.get(base) ?? this.#openHandle(base)
    handle.useCount++
    try {
      return await action(await handle.opening)
    } finally {
      handle.useCount--
      if (handle.isRetired && handle.useCount === 0) await closeOpened(handle)
    }
  }

  /** Lets go of the handle: whoever uses it now may finish. */
  async #retire(base: number): Promise<void> {
    const handle = this.#open.get(base)
    if (handle === undefined) return
    this.#open.delete(base)
    handle.isRetired = true
    if (handle.useCount === 0) await closeOpened(handle)
  }

  #openHandle(base: number): Handle {
    const opening = this.#bases.includes(base)
      ? this.#files.open(this.pathOf(base), 'write')
      : this.#create(base)
    const handle: Handle = { opening, useCount: 0, isRetired: false }
    this.#open.set(base, handle)
    opening.catch(() => {
      if (this.#open.get(base) === handle) this.#open.delete(base)
    })
    return handle
  }

  async #create(base: number): Promise<File> {
    const isNext = this.#bases.length === 0 || base === this.endOffset
    assert(isNext, 'a new segment must follow the last one')
    if (this.#bases.length === 0) await this.#makeDirectory()
    const file = await this.#files.open(this.pathOf(base), 'write')
    try {
      await file.truncate(this.segmentBytes)
      await file.datasync()
      await this.#files.syncDirectory(this.directory)
    } catch (error) {
      await file.close()
      throw error
    }
    this.#bases.push(base)
    return file
  }

  async #makeDirectory(): Promise<void> {
    await this.#files.makeDirectory(this.directory)
    // A killed process may have made some of them: that they exist does not make them durable.
    let end = this.#root.length
    for (; end >= 0 && end < this.directory.length; end = this.directory.indexOf('/', end + 1)) {
      await this.#files.syncDirectory(this.directory.slice(0, end))
    }
  }
}

async function closeOpened(handle: Handle): Promise<void> {
  const file = await handle.opening.catch(() => undefined)
  await file?.close()
}
