import type { TimerMap } from '../timer-map.ts'

/** Keys of one read: enough that what it costs by itself does not count. */
const BATCH_COUNT_MAX = 64
/** Reads at the same time. */
const READ_COUNT_MAX = 2

interface Asked {
  readonly key: Buffer
  readonly resolve: (value: Buffer | undefined) => void
  readonly reject: (error: unknown) => void
}

/** Reads single values, those that are asked for at about the same time together. */
export class ValueReads {
  readonly #map: TimerMap
  #asked: Asked[] = []
  #readCount = 0
  #isComing = false

  constructor(map: TimerMap) {
    this.#map = map
  }

  get(key: Buffer): Promise<Buffer | undefined> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ key, resolve, reject })
      if (this.#isComing || this.#readCount === READ_COUNT_MAX) return
      this.#isComing = true
      // When all who ask in this turn have done so.
      void Promise.resolve().then(() => this.#begin())
    })
  }

  #begin(): void {
    this.#isComing = false
    while (this.#asked.length > 0 && this.#readCount < READ_COUNT_MAX) void this.#read()
  }

  async #read(): Promise<void> {
    const batch = this.#asked.splice(0, BATCH_COUNT_MAX)
    this.#readCount++
    try {
      const values = await this.#map.getMany(batch.map(({ key }) => key))
      for (const [index, { resolve }] of batch.entries()) resolve(values[index])
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      this.#readCount--
    }
    this.#begin()
  }
}
