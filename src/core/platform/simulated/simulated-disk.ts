import { assert, BrokerError } from '../../base/index.ts'
import { DiskFile } from './disk-file.ts'
import { DiskKeyValues } from './disk-key-values.ts'
import type { Faults } from './faults.ts'
import type { SeededRandom } from './seeded-random.ts'
import { PAGE_BYTES } from './sparse-content.ts'

export class DiskDirectory {
  /** Names as a process sees them. */
  current: Map<string, DiskNode> = new Map()
  /** Names on the medium. */
  readonly durable: Map<string, DiskNode> = new Map()
}

export type DiskNode = DiskFile | DiskKeyValues | DiskDirectory

interface Edit {
  readonly directory: DiskDirectory
  readonly name: string
  /** `undefined` takes the name away. */
  readonly node: DiskNode | undefined
}

/** Happens as a whole or not at all. */
interface DirectoryChange {
  readonly edits: readonly Edit[]
  /** What is created, removed or renamed. */
  readonly subject: DiskNode
}

export interface FlippedBit {
  readonly path: string
  readonly position: number
  readonly bit: number
}

const SPACE_BYTES_UNLIMITED = 2 ** 40

/** A disk in memory: the tree of names and files, and what of it would outlive a power cut. */
export class SimulatedDisk {
  /** May change at any time; pages beyond it are refused with `STORE_FULL`. */
  capacityBytes: number = Number.POSITIVE_INFINITY
  readonly #root = new DiskDirectory()
  readonly #random: SeededRandom
  readonly #faults: Faults
  #journal: DirectoryChange[] = []

  constructor(random: SeededRandom, faults: Faults) {
    this.#random = random
    this.#faults = faults
  }

  usedBytes(): number {
    let pageCount = 0
    for (const { node } of this.#leaves()) {
      if (node instanceof DiskFile) pageCount += node.current.pageCount
      else pageCount += Math.ceil(node.current.sizeBytes / PAGE_BYTES)
    }
    return pageCount * PAGE_BYTES
  }

  space(): { readonly freeBytes: number; readonly totalBytes: number } {
    const totalBytes = Math.min(this.capacityBytes, SPACE_BYTES_UNLIMITED)
    // Counting walks over the whole disk: only where it matters.
    if (totalBytes === SPACE_BYTES_UNLIMITED) return { freeBytes: totalBytes, totalBytes }
    return { freeBytes: Math.max(0, totalBytes - this.usedBytes()), totalBytes }
  }

  find(path: string): DiskNode | undefined {
    let node: DiskNode | undefined = this.#root
    for (const name of namesOf(path)) {
      if (!(node instanceof DiskDirectory)) return undefined
      node = node.current.get(name)
    }
    return node
  }

  createFile(path: string): DiskFile {
    const file = new DiskFile()
    this.#create(path, file)
    return file
  }

  createKeyValues(path: string): DiskKeyValues {
    const map = new DiskKeyValues()
    this.#create(path, map)
    return map
  }

  makeDirectory(path: string): void {
    let directory = this.#root
    for (const name of namesOf(path)) {
      let node = directory.current.get(name)
      if (node === undefined) {
        node = new DiskDirectory()
        this.#change({ edits: [{ directory, name, node }], subject: node })
      }
      if (!(node instanceof DiskDirectory)) throw failed(path, 'ENOTDIR')
      directory = node
    }
  }

  remove(path: string): void {
    const node = this.find(path)
    if (node === undefined) return
    if (node instanceof DiskDirectory && node.current.size > 0) throw failed(path, 'ENOTEMPTY')
    const { directory, name } = this.#placeOf(path)
    this.#change({ edits: [{ directory, name, node: undefined }], subject: node })
  }

  rename(from: string, to: string): void {
    const node = this.find(from)
    if (node === undefined) throw failed(from, 'ENOENT')
    const source = this.#placeOf(from)
    const target = this.#placeOf(to)
    const replaced = target.directory.current.get(target.name)
    if (replaced === node) return
    if (replaced instanceof DiskDirectory) {
      if (!(node instanceof DiskDirectory)) throw failed(from, 'EISDIR')
      if (replaced.current.size > 0) throw failed(from, 'ENOTEMPTY')
    } else if (replaced !== undefined && node instanceof DiskDirectory) {
      throw failed(from, 'ENOTDIR')
    }
    this.#change({
      edits: [
        { ...source, node: undefined },
        { ...target, node },
      ],
      subject: node,
    })
  }

  /** Makes the names of the directory durable, with all earlier changes that these rest on. */
  syncDirectory(path: string): void {
    const node = this.find(path)
    if (!(node instanceof DiskDirectory)) throw failed(path, 'ENOENT')
    const directories = new Set<DiskDirectory>([node])
    const synced = new Set<DirectoryChange>()
    for (const change of this.#journal.toReversed()) {
      if (!change.edits.some(({ directory }) => directories.has(directory))) continue
      for (const { directory } of change.edits) directories.add(directory)
      synced.add(change)
    }
    for (const change of this.#journal) {
      if (synced.has(change)) makeDurable(change)
    }
    this.#journal = this.#journal.filter(change => !synced.has(change))
  }

  /** Only the medium is left; each unsynced change is kept or lost. */
  cutPower(): void {
    const keepRate = this.#random.pick([0, 0.5, 1])
    const lostSubjects = new Set<DiskNode>()
    for (const change of this.#journal) {
      // A second rename of a file cannot be kept without the first.
      if (this.#random.chance(keepRate) && !lostSubjects.has(change.subject)) {
        makeDurable(change)
      } else {
        lostSubjects.add(change.subject)
        this.#faults.count('lostDirectoryChange')
      }
    }
    this.#journal = []
    this.#forget(this.#root)
    if (this.#random.chance(this.#faults.rates.bitFlip)) this.flipRandomBit()
  }

  flipBit(path: string, position: number, bit: number): void {
    const file = this.find(path)
    assert(file instanceof DiskFile, 'there must be such a file')
    file.flipBit(position, bit)
    this.#faults.count('bitFlip')
  }

  /** Flips a bit that was written once, in a file whose path matches; tells which, if any. */
  flipRandomBit(pattern: RegExp = /^/): FlippedBit | undefined {
    const candidates = this.#files().filter(({ path, file }) => {
      return file.current.pageCount > 0 && pattern.test(path)
    })
    if (candidates.length === 0) return undefined
    const { path, file } = this.#random.pick(candidates)
    const start = this.#random.pick(file.current.pageIndexes()) * PAGE_BYTES
    const length = Math.min(PAGE_BYTES, file.current.sizeBytes - start)
    if (length <= 0) return undefined
    const flipped = {
      path,
      position: start + this.#random.below(length),
      bit: this.#random.below(8),
    }
    this.flipBit(path, flipped.position, flipped.bit)
    return flipped
  }

  #placeOf(path: string): { readonly directory: DiskDirectory; readonly name: string } {
    const names = namesOf(path)
    const name = names.at(-1)
    assert(name !== undefined, 'the root is not a name')
    const directory = this.find(names.slice(0, -1).join('/'))
    if (!(directory instanceof DiskDirectory)) throw failed(path, 'ENOENT')
    return { directory, name }
  }

  #create(path: string, node: DiskNode): void {
    const { directory, name } = this.#placeOf(path)
    this.#change({ edits: [{ directory, name, node }], subject: node })
  }

  #change(change: DirectoryChange): void {
    for (const { directory, name, node } of change.edits) {
      if (node === undefined) directory.current.delete(name)
      else directory.current.set(name, node)
    }
    this.#journal.push(change)
  }

  #forget(directory: DiskDirectory): void {
    directory.current = new Map(directory.durable)
    for (const node of directory.current.values()) {
      if (node instanceof DiskDirectory) this.#forget(node)
      else node.cutPower(this.#random, this.#faults)
    }
  }

  #files(): readonly { readonly path: string; readonly file: DiskFile }[] {
    return this.#leaves().flatMap(({ path, node }) => {
      return node instanceof DiskFile ? [{ path, file: node }] : []
    })
  }

  /** All that are not directories. */
  #leaves(): readonly { readonly path: string; readonly node: DiskFile | DiskKeyValues }[] {
    const found: { path: string; node: DiskFile | DiskKeyValues }[] = []
    const walk = (directory: DiskDirectory, prefix: string): void => {
      for (const [name, node] of directory.current) {
        const path = `${prefix}/${name}`
        if (node instanceof DiskDirectory) walk(node, path)
        else found.push({ path, node })
      }
    }
    walk(this.#root, '')
    return found
  }
}

function makeDurable(change: DirectoryChange): void {
  for (const { directory, name, node } of change.edits) {
    if (node === undefined) directory.durable.delete(name)
    else directory.durable.set(name, node)
  }
}

function namesOf(path: string): readonly string[] {
  return path.split('/').filter(name => name !== '' && name !== '.')
}

/** With the code that the real disk gives to the system's word. */
export function failed(path: string, reason: string): BrokerError {
  const isRefusal = ['EACCES', 'EEXIST', 'EISDIR', 'ENOTDIR'].includes(reason)
  return new BrokerError(isRefusal ? 'STORE_NOT_ACCESSIBLE' : 'STORE_FAILED', { path, reason })
}
