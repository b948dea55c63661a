import fs from 'node:fs'
import { assert, BrokerError } from '../../base/index.ts'
import type { File } from '../files.ts'
import { fileError } from './system-error.ts'

/** An open file of the system, over the callback interface of `node:fs`: no thread hop is added. */
export class RealFile implements File {
  readonly path: string
  readonly #descriptor: number
  #open = true

  constructor(path: string, descriptor: number) {
    this.path = path
    this.#descriptor = descriptor
  }

  read(target: Uint8Array, position: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#assertOpen()
      this.#fill(target, position, 0, (error, filled) => {
        if (error !== null) reject(fileError(error, this.path))
        else resolve(filled)
      })
    })
  }

  write(parts: readonly Uint8Array[], position: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#assertOpen()
      this.#writeFrom(parts, position, resolve, reject)
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

  close(): Promise<void> {
    return this.#call((descriptor, done) => {
      // The number may belong to another file as soon as the system has closed this one.
      this.#open = false
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
    resolve: () => void,
    reject: (error: unknown) => void,
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
      else this.#writeFrom(withoutFirst(parts, count), position + count, resolve, reject)
    }
    const only = parts.length === 1 ? parts[0] : undefined
    if (only === undefined) fs.writev(this.#descriptor, parts, position, done)
    else fs.write(this.#descriptor, only, 0, total, position, done)
  }

  #assertOpen(): void {
    assert(this.#open, 'a closed file must not be used')
  }
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
