import { assert, BrokerError } from '../../core/base/index.ts'
import type { File, Files } from '../../core/platform/index.ts'
import { ByteChanges, CHANGE_BYTES } from './byte-changes.ts'
import type { PagePool } from './page-pool.ts'

interface Page {
  readonly bytes: Buffer
  /** File position of its first byte. */
  readonly start: number
  used: number
}

/**
 * An append-only file whose newest part is in memory until `write`. Appending never waits; what
 * was appended can be read at once, from memory or file. Durable after `sync`.
 */
export class StagedFile {
  readonly path: string
  readonly #files: Files
  readonly #pool: PagePool
  #pages: Page[] = []
  #writing: Page[] = []
  #sizeBytes: number
  #writtenBytes: number
  #syncedBytes: number
  /** Bytes to be written over in the part that is in the file, by position; not in it yet. */
  #changes = new ByteChanges()
  /** Of these, what the next `writeChanges` writes. */
  #frozen = new ByteChanges()
  /** Some were written and are not durable yet. */
  #hasUnsyncedChanges = false
  /** The name is durable: the folder was synced since the file was made. */
  #isNamed: boolean
  #isRemoved = false
  #file: Promise<File> | undefined
  #working: Promise<void> = Promise.resolve()

  /** `sizeBytes` of a file that exists; 0 for a new one. */
  constructor(parts: { files: Files; pool: PagePool; path: string; sizeBytes: number }) {
    this.#files = parts.files
    this.#pool = parts.pool
    this.path = parts.path
    this.#sizeBytes = parts.sizeBytes
    this.#writtenBytes = parts.sizeBytes
    this.#syncedBytes = parts.sizeBytes
    this.#isNamed = parts.sizeBytes > 0
  }

  /** Folder of the file. */
  get directory(): string {
    return this.path.slice(0, this.path.lastIndexOf('/'))
  }

  /** With what is staged. */
  get sizeBytes(): number {
    return this.#sizeBytes
  }

  get stagedBytes(): number {
    return this.#sizeBytes - this.#writtenBytes
  }

  get isDurable(): boolean {
    if (this.#changes.count + this.#frozen.count > 0 || this.#hasUnsyncedChanges) return false
    return this.#syncedBytes === this.#sizeBytes
  }

  /** False from its making until its folder was synced. */
  get isNamed(): boolean {
    return this.#isNamed
  }

  /** The folder was synced, after the file was written. */
  markNamed(): void {
    if (this.#writtenBytes > 0) this.#isNamed = true
  }

  /** Place in memory for the next `sizeBytes` of the file; the caller fills it at once. */
  reserve(sizeBytes: number): { readonly bytes: Buffer; readonly position: number } {
    let page = this.#pages.at(-1)
    if (page === undefined || page.bytes.length - page.used < sizeBytes) {
      page = { bytes: this.#pool.take(sizeBytes), start: this.#sizeBytes, used: 0 }
      this.#pages.push(page)
    }
    const position = page.used
    page.used += sizeBytes
    this.#sizeBytes += sizeBytes
    return { bytes: page.bytes, position }
  }

  /**
   * Writes over one byte inside `sizeBytes`: at once for reads that begin later, in the file with
   * `freezeChanges` and `writeChanges`.
   */
  change(position: number, byte: number): void {
    assert(position < this.#sizeBytes, 'changing behind the end')
    if (this.#isRemoved) return
    if (this.#changes.set(position, byte)) this.#pool.countChanged(CHANGE_BYTES)
  }

  /** Fills `target` from `position`; the range must lie inside `sizeBytes`. */
  async read(target: Buffer, position: number): Promise<void> {
    assert(position + target.length <= this.#sizeBytes, 'reading behind the end')
    const end = position + target.length
    // Taken before: they may be written, and forgotten, while the file is being read.
    const changes = [...this.#frozen.within(position, end), ...this.#changes.within(position, end)]
    // Memory first: pages leave it while the file is being read.
    const fromMemory = Math.min(end, Math.max(position, this.#writtenBytes))
    this.#copyStaged(target.subarray(fromMemory - position), fromMemory)
    const inFile = fromMemory - position
    if (inFile > 0) {
      const file = await this.#opened()
      const got = await file.read(target.subarray(0, inFile), position)
      if (got < inFile) {
        const reason = 'shorter than the manifest says'
        throw new BrokerError('STORE_DAMAGED', { file: this.path, reason })
      }
    }
    for (const [at, byte] of changes) target[at - position] = byte
  }

  /** Writes what is staged now to the file; what is appended meanwhile stays staged. */
  write(): Promise<void> {
    return this.#serially(async () => {
      if (this.#isRemoved) return
      if (this.#pages.length === 0) return
      const file = await this.#opened()
      this.#writing = this.#pages
      this.#pages = []
      const parts = this.#writing.map(page => page.bytes.subarray(0, page.used))
      const sizeBytes = parts.reduce((sum, part) => sum + part.length, 0)
      try {
        await file.write(parts, this.#writtenBytes)
      } catch (error) {
        this.#pages = [...this.#writing, ...this.#pages]
        this.#writing = []
        throw error
      }
      this.#writtenBytes += sizeBytes
      for (const page of this.#writing) this.#pool.give(page.bytes)
      this.#writing = []
    })
  }

  /** What `change` has written over so far is what the next `writeChanges` writes. */
  freezeChanges(): void {
    if (this.#changes.count === 0) return
    for (const [position, byte] of this.#changes.inOrder()) this.#frozen.set(position, byte)
    this.#changes = new ByteChanges()
  }

  /** Writes over the bytes that were frozen. */
  writeChanges(): Promise<void> {
    return this.#serially(async () => {
      if (this.#isRemoved || this.#frozen.count === 0) return
      const file = await this.#opened()
      for (const [position, byte] of this.#frozen.inOrder()) {
        await file.write([Buffer.from([byte])], position)
        this.#hasUnsyncedChanges = true
        this.#frozen.delete(position)
        this.#pool.countChanged(-CHANGE_BYTES)
      }
    })
  }

  /**
   * Makes durable what was written.
   *
   * @throws BrokerError `STORE_FAILED`, also for lack of space: trying again would prove nothing
   */
  sync(): Promise<void> {
    return this.#serially(async () => {
      const end = this.#writtenBytes
      if (this.#isRemoved || (this.#syncedBytes >= end && !this.#hasUnsyncedChanges)) return
      const file = await this.#opened()
      this.#hasUnsyncedChanges = false
      try {
        await file.datasync()
      } catch (error) {
        // The system may have dropped what it could not write, and says yes the next time.
        throw new BrokerError('STORE_FAILED', { file: this.path }, error)
      }
      this.#syncedBytes = end
    })
  }

  /** Gives the file the length that a manifest names: drops what is behind, or adds zeros. */
  async cut(): Promise<void> {
    await (await this.#opened()).truncate(this.#sizeBytes)
  }

  async close(): Promise<void> {
    await this.#working.catch(() => undefined)
    const file = this.#file
    this.#file = undefined
    if (file !== undefined) await (await file).close()
  }

  /** Gives back memory and file handle, and removes the file. */
  async remove(): Promise<void> {
    this.#isRemoved = true
    await this.close()
    for (const page of this.#pages.splice(0)) this.#pool.give(page.bytes)
    this.#writtenBytes = this.#sizeBytes
    this.#syncedBytes = this.#sizeBytes
    this.#pool.countChanged(-CHANGE_BYTES * (this.#changes.count + this.#frozen.count))
    this.#changes.clear()
    this.#frozen.clear()
    this.#hasUnsyncedChanges = false
    await this.#files.remove(this.path)
  }

  #copyStaged(target: Buffer, position: number): void {
    const end = position + target.length
    for (const page of [...this.#writing, ...this.#pages]) {
      const from = Math.max(position, page.start)
      const to = Math.min(end, page.start + page.used)
      if (from < to) page.bytes.copy(target, from - position, from - page.start, to - page.start)
    }
  }

  #opened(): Promise<File> {
    if (this.#file === undefined) {
      const opening = this.#files.open(this.path, 'write')
      this.#file = opening
      opening.catch(() => {
        this.#file = undefined
      })
    }
    return this.#file
  }

  /** One write or sync at a time; a failed one does not stop the next. */
  #serially(work: () => Promise<void>): Promise<void> {
    const next = this.#working.then(work, work)
    this.#working = next
    return next
  }
}
