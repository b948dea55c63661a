import type { TimerRef } from '../ladder/chunk-search.ts'

/** Where messages are, by what leads to them, in memory. */
export class RefTable<Key> {
  readonly #places = new Map<Key, number>()
  readonly #timerIds: number[] = []
  readonly #deliverTimesMs: number[] = []

  get size(): number {
    return this.#places.size
  }

  get(key: Key): TimerRef | undefined {
    const place = this.#places.get(key)
    return place === undefined ? undefined : this.#refAt(place)
  }

  /** What was there before is forgotten. */
  set(key: Key, ref: TimerRef): void {
    const place = this.#places.get(key) ?? this.#places.size
    this.#places.set(key, place)
    this.#timerIds[place] = ref.timerId
    this.#deliverTimesMs[place] = ref.deliverTimeMs
  }

  *entries(): IterableIterator<[key: Key, ref: TimerRef]> {
    for (const [key, place] of this.#places) yield [key, this.#refAt(place)]
  }

  #refAt(place: number): TimerRef {
    return {
      timerId: this.#timerIds[place] ?? 0,
      deliverTimeMs: this.#deliverTimesMs[place] ?? 0,
    }
  }
}
