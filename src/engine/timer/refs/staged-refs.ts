import type { KeyValueChange } from '../../../core/platform/index.ts'
import type { TimerRef } from '../ladder/chunk-search.ts'
import { valueOf } from './ref-entries.ts'
import { RefTable } from './ref-table.ts'

/** Entries in one write to the map. */
const WRITE_COUNT = 4_096

/** What a map on disk does not have yet, in two parts: what comes in, and what is being written. */
export class StagedRefs<Key> {
  #incoming = new RefTable<Key>()
  #writing = new RefTable<Key>()
  #generation = 0

  /** Entries in memory; one that comes in while it is being written counts twice. */
  get size(): number {
    return this.#incoming.size + this.#writing.size
  }

  /** Entries that are being written, or are to be next. */
  get writingCount(): number {
    return this.#writing.size
  }

  /** Grows whenever something leaves memory: what was read from disk before may be out of date. */
  get generation(): number {
    return this.#generation
  }

  get(key: Key): TimerRef | undefined {
    return this.#incoming.get(key) ?? this.#writing.get(key)
  }

  set(key: Key, ref: TimerRef): void {
    this.#incoming.set(key, ref)
  }

  /** All that came in so far is to be written: nothing is copied, unless the last write failed. */
  swap(): void {
    if (this.#writing.size === 0) this.#writing = this.#incoming
    else for (const [key, ref] of this.#incoming.entries()) this.#writing.set(key, ref)
    this.#incoming = new RefTable()
  }

  /** What is to be written, in pieces. */
  *pieces(keyOf: (key: Key) => Buffer): IterableIterator<readonly KeyValueChange[]> {
    let changes: KeyValueChange[] = []
    for (const [key, ref] of this.#writing.entries()) {
      changes.push({ key: keyOf(key), value: valueOf(ref) })
      if (changes.length < WRITE_COUNT) continue
      yield changes
      changes = []
    }
    if (changes.length > 0) yield changes
  }

  /** It is on disk. */
  written(): void {
    this.#writing = new RefTable()
    this.#generation++
  }

  /** Nobody will read it. */
  clear(): void {
    this.#incoming = new RefTable()
    this.written()
  }
}
