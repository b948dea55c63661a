import type { TimerRef } from '../ladder/chunk-search.ts'

/** Waiting messages by the digests of their own keys, in memory. */
export class KeyTable {
  readonly #places = new Map<string, number>()
  readonly #timerIds: number[] = []
  readonly #deliverTimesMs: number[] = []

  get size(): number {
    return this.#places.size
  }

  get(digest: string): TimerRef | undefined {
    const place = this.#places.get(digest)
    return place === undefined ? undefined : this.#refAt(place)
  }

  /** What was there before is forgotten. */
  set(digest: string, ref: TimerRef): void {
    const place = this.#places.get(digest) ?? this.#places.size
    this.#places.set(digest, place)
    this.#timerIds[place] = ref.timerId
    this.#deliverTimesMs[place] = ref.deliverTimeMs
  }

  *entries(): IterableIterator<[digest: string, ref: TimerRef]> {
    for (const [digest, place] of this.#places) yield [digest, this.#refAt(place)]
  }

  #refAt(place: number): TimerRef {
    return {
      timerId: this.#timerIds[place] ?? 0,
      deliverTimeMs: this.#deliverTimesMs[place] ?? 0,
    }
  }
}
