import fs from 'node:fs'
import { assert, BrokerError } from '../../base/index.ts'
import type { File } from '../files.ts'
import { QuickReads } from './quick-reads.ts'
import { fileError } from './system-error.ts'

/** Elsewhere `O_DSYNC` is missing, or promises less than `fdatasync` (macOS). See decision 8. */
const HAS_DSYNC = process.platform === 'linux'

/** One for all files: they share the thread that is not to wait. */
const quickReads = new QuickReads(() => performance.now())

/** An open file of the system, over the callback interface of `node:fs`: no thread hop is added. */
export class RealFile implements File {
  readonly path: string
  readonly #descriptor: number
  readonly #hasDsync: boolean
  /** Of the same file, opened so that a write returns when it is durable; made on first use. */
  #durable: Promise<number> | undefined
  #open = true

  constructor(path: string, descriptor: number, hasDsync: boolean = HAS_DSYNC) {
    this.path = path
    this.#descriptor = descriptor
    this.#hasDsync = hasDsync
  }

  read(target: Uint8Array, position: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#assertOpen()
      const atOnce = quickReads.permits(target.length) ? this.#readAtOnce(target, position) : 0
      if (atOnce === target.length) {
        resolve(atOnce)
        return
      }
      this.#fill(target, position, atOnce, (error, filled) => {
        if (error !== null) reject(fileError(error, this.path))
        else resolve(filled)
      })
    })
  }

  write(parts: readonly Uint8Array[], position: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#assertOpen()
      const done = { descriptor: this.#descriptor, resolve, reject }
      this.#writeFrom(parts, position, done)
    })
  }

  async writeDurably(parts: readonly Uint8Array[], position: number): Promise<void> {
    this.#assertOpen()
    if (!this.#hasDsync) {
      await this.write(parts, position)
      await this.datasync()
      return
    }
    this.#durable ??= this.#openDurable()
    const descriptor = await this.#durable
    await new Promise<void>((resolve, reject) => {
      this.#writeFrom(parts, position, { descriptor, resolve, reject })
    })
  }

  truncate(sizeBytes: number): Promise<void> {
    return this.#call((descriptor, done) => {
      fs.ftruncate(descriptor, sizeBytes, done)
    })
  }

  sizeBytes(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#assertOpen()
      fs.fstat(this.#descriptor, (error, stats) => {
        if (error !== null) reject(fileError(error, this.path))
        else resolve(stats.size)
      })
    })
  }

  datasync(): Promise<void> {
    return this.#call((descriptor, done) => {
      fs.fdatasync(descriptor, done)
    })
  }

  async close(): Promise<void> {
    const durable = this.#durable
    this.#durable = undefined
    if (durable !== undefined) await this.#closeDurable(await durable)
    await this.#call((descriptor, done) => {
      // The number may belong to another file as soon as the system has closed this one.
      this.#open = false
      fs.close(descriptor, done)
    })
  }

  #openDurable(): Promise<number> {
    const { O_RDWR, O_DSYNC } = fs.constants
    return new Promise((resolve, reject) => {
      fs.open(this.path, O_RDWR | O_DSYNC, (error, descriptor) => {
        if (error !== null) reject(fileError(error, this.path))
        else resolve(descriptor)
      })
    })
  }

  #closeDurable(descriptor: number): Promise<void> {
    return this.#call((_, done) => {
      fs.close(descriptor, done)
    })
  }

  #call(
    start: (descriptor: number, done: (error?: NodeJS.ErrnoException | null) => void) => void,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#assertOpen()
      start(this.#descriptor, error => {
        if (error) reject(fileError(error, this.path))
        else resolve()
      })
    })
  }

  /** What is read is read; whatever is missing, or wrong, `#fill` finds out. */
  #readAtOnce(target: Uint8Array, position: number): number {
    try {
      return quickReads.run(() => {
        return fs.readSync(this.#descriptor, target, 0, target.length, position)
      })
    } catch {
      return 0
    }
  }

  #fill(
    target: Uint8Array,
    position: number,
    filled: number,
    done: (error: NodeJS.ErrnoException | null, filled: number) => void,
  ): void {
    const rest = target.length - filled
    fs.read(this.#descriptor, target, filled, rest, position + filled, (error, count) => {
      if (error !== null || count === 0 || count === rest) done(error, filled + count)
      else this.#fill(target, position, filled + count, done)
    })
  }

  #writeFrom(
    parts: readonly Uint8Array[],
    position: number,
    { descriptor, resolve, reject }: WriteCall,
  ): void {
    const total = totalBytes(parts)
    if (total === 0) {
      resolve()
      return
    }
    const done = (error: NodeJS.ErrnoException | null, count: number): void => {
      if (error !== null) reject(fileError(error, this.path))
      else if (count === total) resolve()
      else if (count === 0) reject(noProgress(this.path))
      else {
        const rest = withoutFirst(parts, count)
        this.#writeFrom(rest, position + count, { descriptor, resolve, reject })
      }
    }
    const only = parts.length === 1 ? parts[0] : undefined
    if (only === undefined) fs.writev(descriptor, parts, position, done)
    else fs.write(descriptor, only, 0, total, position, done)
  }

  #assertOpen(): void {
    assert(this.#open, 'a closed file must not be used')
  }
}

/** Where a write goes, and who hears of its end. */
interface WriteCall {
  readonly descriptor: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

function totalBytes(parts: readonly Uint8Array[]): number {
  let total = 0
  for (const part of parts) total += part.length
  return total
}

/** What is left to write after the system took `count` bytes. */
function withoutFirst(parts: readonly Uint8Array[], count: number): readonly Uint8Array[] {
  const left: Uint8Array[] = []
  let skip = count
  for (const part of parts) {
    if (skip < part.length) left.push(part.subarray(skip))
    skip = Math.max(0, skip - part.length)
  }
  return left
}

function noProgress(path: string): BrokerError {
  return new BrokerError('STORE_FAILED', { path, reason: 'the system wrote nothing' })
}
