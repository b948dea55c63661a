/** Changes of one stretch of a file are kept together: a read looks only at those it covers. */
const STRETCH_BYTES = 8 * 1024

const NONE: readonly (readonly [number, number])[] = []

/** Memory for one change, roughly, in bytes. */
export const CHANGE_BYTES = 64

/** Single bytes that are to be written over in a file, by position. */
export class ByteChanges {
  readonly #stretches = new Map<number, Map<number, number>>()
  #count = 0

  get count(): number {
    return this.#count
  }

  /** True when there was none for this position. */
  set(position: number, byte: number): boolean {
    const number = Math.floor(position / STRETCH_BYTES)
    let stretch = this.#stretches.get(number)
    if (stretch === undefined) this.#stretches.set(number, (stretch = new Map()))
    const isNew = !stretch.has(position)
    stretch.set(position, byte)
    if (isNew) this.#count++
    return isNew
  }

  delete(position: number): void {
    const number = Math.floor(position / STRETCH_BYTES)
    const stretch = this.#stretches.get(number)
    if (stretch?.delete(position) !== true) return
    this.#count--
    if (stretch.size === 0) this.#stretches.delete(number)
  }

  clear(): void {
    this.#stretches.clear()
    this.#count = 0
  }

  /** All changes by position, ascending. */
  inOrder(): [position: number, byte: number][] {
    const all = Array.from(this.#stretches.values(), stretch => [...stretch]).flat()
    return all.toSorted(([a], [b]) => a - b)
  }

  /** The changes from `position` up to `end`. */
  within(position: number, end: number): readonly (readonly [position: number, byte: number])[] {
    if (this.#count === 0) return NONE
    const found: (readonly [number, number])[] = []
    const last = Math.floor((end - 1) / STRETCH_BYTES)
    for (let number = Math.floor(position / STRETCH_BYTES); number <= last; number++) {
      for (const change of this.#stretches.get(number) ?? []) {
        if (change[0] >= position && change[0] < end) found.push(change)
      }
    }
    return found
  }
}
