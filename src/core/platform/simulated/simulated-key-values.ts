import { assert, BrokerError } from '../../base/index.ts'
import { makeDurableDirectory } from '../durable-directory.ts'
import type { KeyValue, KeyValueChange, KeyValues, KeyValueStores } from '../key-values.ts'
import { OrderedKeyValues } from '../ordered-key-values.ts'
import { DiskKeyValues } from './disk-key-values.ts'
import { failed } from './simulated-disk.ts'
import type { SimulatedFiles } from './simulated-files.ts'

/** The name by which the files of a process see the map in its folder: a map is one name here. */
const NAME = 'CURRENT'

/** The sorted maps of the simulated disk as one process sees them. */
export class SimulatedKeyValueStores implements KeyValueStores {
  readonly #files: SimulatedFiles

  constructor(files: SimulatedFiles) {
    this.#files = files
  }

  async open(directory: string): Promise<KeyValues> {
    await makeDurableDirectory(this.#files, directory)
    const map = await this.#files.perform({
      call: 'keyValueOpen',
      path: directory,
      effect: () => this.#open(directory),
    })
    return new OrderedKeyValues(map)
  }

  #open(directory: string): KeyValues {
    const { disk, process } = this.#files.setting
    const path = `${directory}/${NAME}`
    let node = disk.find(path)
    if (node === undefined) {
      node = disk.createKeyValues(path)
      disk.syncDirectory(directory)
    }
    if (!(node instanceof DiskKeyValues)) throw failed(path, 'EEXIST')
    if (node.owner?.alive === true) {
      throw new BrokerError('STORE_LOCKED', { path: directory, reason: 'EAGAIN' })
    }
    // A process that has just died in this call has not opened anything.
    if (process.alive) node.owner = process
    node.reveal()
    return new SimulatedKeyValues(directory, this.#files, node)
  }
}

/** Its writes come one at a time. */
class SimulatedKeyValues implements KeyValues {
  readonly #path: string
  readonly #files: SimulatedFiles
  readonly #node: DiskKeyValues

  constructor(path: string, files: SimulatedFiles, node: DiskKeyValues) {
    this.#path = path
    this.#files = files
    this.#node = node
  }

  get(key: Buffer): Promise<Buffer | undefined> {
    return this.#files.perform({
      call: 'keyValueRead',
      path: this.#path,
      sizeBytes: key.length,
      effect: () => this.#node.current.get(key),
    })
  }

  getMany(keys: readonly Buffer[]): Promise<readonly (Buffer | undefined)[]> {
    return this.#files.perform({
      call: 'keyValueRead',
      path: this.#path,
      sizeBytes: keys.reduce((sum, key) => sum + key.length, 0),
      effect: () => keys.map(key => this.#node.current.get(key)),
    })
  }

  range(from: Buffer, to: Buffer, countMax: number): Promise<readonly KeyValue[]> {
    return this.#files.perform({
      call: 'keyValueRead',
      path: this.#path,
      sizeBytes: from.length + to.length,
      effect: () => this.#node.current.range(from, to, countMax),
    })
  }

  write(changes: readonly KeyValueChange[], isDurable: boolean): Promise<void> {
    const batch = changes.map(copyOf)
    const { random } = this.#files.setting
    return this.#files.perform({
      call: 'keyValueWrite',
      path: this.#path,
      sizeBytes: sizeBytesOf(batch),
      effect: () => {
        assert(areEqual(batch, changes), 'changes must not change while they are written')
        this.#checkRoom(batch)
        this.#node.write(batch)
        if (isDurable) this.#node.sync()
      },
      failureEffect: () => {
        if (random.chance(0.5)) this.#node.writeHidden(batch)
      },
      // Written, and not synced yet.
      deathEffect: () => {
        this.#node.write(batch)
      },
    })
  }

  close(): Promise<void> {
    const effect = (): void => {
      this.#node.owner = undefined
    }
    return this.#files.perform({ call: 'keyValueClose', path: this.#path, effect })
  }

  #checkRoom(batch: readonly KeyValueChange[]): void {
    const { disk, faults } = this.#files.setting
    // Counting walks over the whole disk: only where it matters.
    if (disk.capacityBytes === Number.POSITIVE_INFINITY) return
    if (disk.usedBytes() + sizeBytesOf(batch) <= disk.capacityBytes) return
    faults?.count('diskFull')
    throw new BrokerError('STORE_FULL', { path: this.#path, reason: 'ENOSPC' })
  }
}

function copyOf({ key, value }: KeyValueChange): KeyValueChange {
  return { key: Buffer.from(key), value: value === undefined ? undefined : Buffer.from(value) }
}

function sizeBytesOf(batch: readonly KeyValueChange[]): number {
  return batch.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0)
}

function areEqual(some: readonly KeyValueChange[], others: readonly KeyValueChange[]): boolean {
  if (some.length !== others.length) return false
  return some.every(({ key, value }, index) => {
    const other = others[index]
    if (other === undefined || !key.equals(other.key)) return false
    if (value === undefined || other.value === undefined) return value === other.value
    return value.equals(other.value)
  })
}
