import type { KeyValue, KeyValueChange } from '../key-values.ts'

/** A sorted map of bytes in memory. What goes in and comes out is copied. */
export class SortedEntries {
  /** As latin1: code units are bytes, so that strings have the order of the bytes. */
  #keys: string[] = []
  #values = new Map<string, Buffer>()
  #sizeBytes = 0

  /** Of all keys and values. */
  get sizeBytes(): number {
    return this.#sizeBytes
  }

  get(key: Buffer): Buffer | undefined {
    const value = this.#values.get(key.toString('latin1'))
    return value === undefined ? undefined : Buffer.from(value)
  }

  range(from: Buffer, to: Buffer, countMax: number): readonly KeyValue[] {
    const start = this.#placeOf(from.toString('latin1'))
    const end = Math.max(start, this.#placeOf(to.toString('latin1')))
    const keys = this.#keys.slice(start, Math.min(end, start + countMax))
    return keys.map(key => ({
      key: Buffer.from(key, 'latin1'),
      value: Buffer.from(this.#values.get(key) ?? ''),
    }))
  }

  apply(changes: readonly KeyValueChange[]): void {
    for (const { key, value } of changes) {
      const text = key.toString('latin1')
      this.#remove(text)
      if (value !== undefined) this.#add(text, Buffer.from(value))
    }
  }

  copy(): SortedEntries {
    const copied = new SortedEntries()
    copied.#keys = [...this.#keys]
    // Values are never written over.
    copied.#values = new Map(this.#values)
    copied.#sizeBytes = this.#sizeBytes
    return copied
  }

  #remove(key: string): void {
    const value = this.#values.get(key)
    if (value === undefined) return
    this.#values.delete(key)
    this.#keys.splice(this.#placeOf(key), 1)
    this.#sizeBytes -= key.length + value.length
  }

  #add(key: string, value: Buffer): void {
    this.#keys.splice(this.#placeOf(key), 0, key)
    this.#values.set(key, value)
    this.#sizeBytes += key.length + value.length
  }

  /** Number of keys before this one. */
  #placeOf(key: string): number {
    let low = 0
    let high = this.#keys.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#keys[middle] ?? '') < key) low = middle + 1
      else high = middle
    }
    return low
  }
}
