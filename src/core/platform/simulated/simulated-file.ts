import { assert, BrokerError, InvariantError } from '../../base/index.ts'
import type { File } from '../files.ts'
import type { DiskFile } from './disk-file.ts'
import { failed } from './simulated-disk.ts'
import type { CallFacts, SimulatedFiles } from './simulated-files.ts'
import { neverSettled } from './simulated-process.ts'
import { PAGE_BYTES } from './sparse-content.ts'

interface Opened {
  readonly path: string
  readonly files: SimulatedFiles
  readonly node: DiskFile
  readonly writable: boolean
}

/** An open file of the simulated disk. It outlives the removal of its name, as real ones do. */
export class SimulatedFile implements File {
  readonly path: string
  readonly #files: SimulatedFiles
  readonly #node: DiskFile
  readonly #writable: boolean
  #open = true
  #inFlightCount = 0

  constructor({ path, files, node, writable }: Opened) {
    this.path = path
    this.#files = files
    this.#node = node
    this.#writable = writable
  }

  read(target: Uint8Array, position: number): Promise<number> {
    return this.#perform({
      call: 'read',
      path: this.path,
      position,
      sizeBytes: target.length,
      effect: () => this.#node.current.read(target, position),
    })
  }

  write(parts: readonly Uint8Array[], position: number): Promise<void> {
    const bytes = Buffer.concat(parts)
    const { random } = this.#files.setting
    const writeStart = (): void => {
      this.#write(bytes.subarray(0, random.below(bytes.length + 1)), position)
    }
    return this.#perform({
      call: 'write',
      path: this.path,
      position,
      sizeBytes: bytes.length,
      effect: () => {
        this.#checkWritable()
        assert(bytes.equals(Buffer.concat(parts)), 'bytes must not change while they are written')
        this.#write(bytes, position)
      },
      failureEffect: writeStart,
      deathEffect: writeStart,
    })
  }

  /** Two steps here, so that death and faults can come between them. */
  async writeDurably(parts: readonly Uint8Array[], position: number): Promise<void> {
    await this.write(parts, position)
    await this.datasync()
  }

  truncate(sizeBytes: number): Promise<void> {
    return this.#perform({
      call: 'truncate',
      path: this.path,
      position: sizeBytes,
      effect: () => {
        this.#checkWritable()
        this.#node.truncate(sizeBytes)
      },
    })
  }

  sizeBytes(): Promise<number> {
    const effect = (): number => this.#node.current.sizeBytes
    return this.#perform({ call: 'sizeBytes', path: this.path, effect })
  }

  datasync(): Promise<void> {
    const { faults, random } = this.#files.setting
    // Only what was written before the call is promised.
    const changeCount = this.#node.changeCount
    return this.#perform({
      call: 'datasync',
      path: this.path,
      effect: () => {
        if (faults?.ignoreDatasync === true) faults.count('ignoredDatasync')
        else this.#node.sync(changeCount)
      },
      failureEffect: () => {
        this.#node.failSync(changeCount, random)
      },
    })
  }

  close(): Promise<void> {
    if (!this.#files.setting.process.alive) return neverSettled()
    const idle = this.#inFlightCount === 0
    if (!idle) return Promise.reject(new InvariantError('a file in use must not be closed'))
    const closing = this.#perform({ call: 'close', path: this.path, effect: () => undefined })
    this.#open = false
    return closing
  }

  #perform<T>(facts: CallFacts<T>): Promise<T> {
    if (!this.#files.setting.process.alive) return neverSettled()
    if (!this.#open) return Promise.reject(new InvariantError('a closed file must not be used'))
    this.#inFlightCount++
    const done = (): void => {
      this.#inFlightCount--
    }
    const { effect, failureEffect } = facts
    return this.#files.perform({
      ...facts,
      effect: () => {
        done()
        return effect()
      },
      failureEffect: () => {
        done()
        failureEffect?.()
      },
    })
  }

  #checkWritable(): void {
    if (!this.#writable) throw failed(this.path, 'EBADF')
  }

  /** Writes what there is room for; `STORE_FULL` when that is not all. */
  #write(bytes: Uint8Array, position: number): void {
    const { disk, faults } = this.#files.setting
    const roomBytes = disk.capacityBytes - this.#usedBytes()
    const content = this.#node.current
    if (content.pagesMissing(position, bytes.length) * PAGE_BYTES <= roomBytes) {
      this.#node.write(bytes, position)
      return
    }
    const fitting = PAGE_BYTES * Math.max(0, Math.floor(roomBytes / PAGE_BYTES))
    const start = bytes.subarray(0, Math.max(0, fitting - (position % PAGE_BYTES)))
    if (start.length > 0) this.#node.write(start, position)
    faults?.count('diskFull')
    throw new BrokerError('STORE_FULL', { path: this.path, reason: 'ENOSPC' })
  }

  #usedBytes(): number {
    const { disk } = this.#files.setting
    // Counting walks over the whole disk: only where it matters.
    return disk.capacityBytes === Number.POSITIVE_INFINITY ? 0 : disk.usedBytes()
  }
}
