import type { KeyValueChange } from '../key-values.ts'
import type { Faults } from './faults.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import { SortedEntries } from './sorted-entries.ts'

type Batch = readonly KeyValueChange[]

/** A sorted map as processes see it, as the medium holds it, and what lies between the two. */
export class DiskKeyValues {
  /** Who has it open, dead or alive. */
  owner: SimulatedProcess | undefined
  #current = new SortedEntries()
  #durable = new SortedEntries()
  #unsynced: Batch[] = []
  /** On the disk and not seen: writes that failed. */
  #hidden: Batch[] = []

  get current(): SortedEntries {
    return this.#current
  }

  /** The changes must not change any more. */
  write(batch: Batch): void {
    this.#current.apply(batch)
    this.#unsynced.push(batch)
  }

  /** A write that failed and will be there when the map is opened again. */
  writeHidden(batch: Batch): void {
    this.#hidden.push(batch)
  }

  reveal(): void {
    for (const batch of this.#hidden.splice(0)) this.write(batch)
  }

  sync(): void {
    for (const batch of this.#unsynced.splice(0)) this.#durable.apply(batch)
  }

  /** Only the medium is left: of the batches since the last sync the first few, all or none. */
  cutPower(random: SeededRandom, faults: Faults): void {
    const batches = [...this.#unsynced.splice(0), ...this.#hidden.splice(0)]
    const keptCount = random.pick([0, random.below(batches.length + 1), batches.length])
    for (const batch of batches.slice(0, keptCount)) this.#durable.apply(batch)
    for (let index = keptCount; index < batches.length; index++) faults.count('lostBatch')
    this.#current = this.#durable.copy()
  }
}
