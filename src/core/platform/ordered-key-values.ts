import { assert } from '../base/index.ts'
import type { KeyValue, KeyValueChange, KeyValues } from './key-values.ts'

interface WaitingWrite {
  readonly changes: readonly KeyValueChange[]
  readonly isDurable: boolean
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Changes that are written as one, unless a single write has more. */
const GROUP_CHANGES_MAX = 10_000

/**
 * Gives a map the order that `KeyValues` promises: its writes come one at a time, in the order of
 * the calls. Those that wait meanwhile go together, so that many durable ones share one sync.
 */
export class OrderedKeyValues implements KeyValues {
  readonly #map: KeyValues
  readonly #waiting: WaitingWrite[] = []
  #writing = false
  /** Of the write that failed: what is on disk is not known from then on. */
  #failure: unknown
  #underWayCount = 0
  #onIdle: (() => void) | undefined
  #closed = false

  /** `map` gets one write at a time, and none after one has failed. */
  constructor(map: KeyValues) {
    this.#map = map
  }

  get(key: Buffer): Promise<Buffer | undefined> {
    return this.#track(() => this.#map.get(key))
  }

  getMany(keys: readonly Buffer[]): Promise<readonly (Buffer | undefined)[]> {
    return this.#track(() => this.#map.getMany(keys))
  }

  range(from: Buffer, to: Buffer, countMax: number): Promise<readonly KeyValue[]> {
    return this.#track(() => this.#map.range(from, to, countMax))
  }

  write(changes: readonly KeyValueChange[], isDurable: boolean): Promise<void> {
    return this.#track(() => {
      const written = new Promise<void>((resolve, reject) => {
        this.#waiting.push({ changes, isDurable, resolve, reject })
      })
      if (!this.#writing) void this.#writeWaiting()
      return written
    })
  }

  async close(): Promise<void> {
    assert(!this.#closed, 'a closed map must not be used')
    this.#closed = true
    if (this.#underWayCount > 0) {
      await new Promise<void>(resolve => {
        this.#onIdle = resolve
      })
    }
    await this.#map.close()
  }

  async #track<T>(call: () => Promise<T>): Promise<T> {
    assert(!this.#closed, 'a closed map must not be used')
    this.#underWayCount++
    try {
      return await call()
    } finally {
      this.#underWayCount--
      if (this.#underWayCount === 0) this.#onIdle?.()
    }
  }

  async #writeWaiting(): Promise<void> {
    this.#writing = true
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup()
      if (this.#failure === undefined) await this.#writeGroup(group)
      else for (const { reject } of group) reject(this.#failure)
    }
    this.#writing = false
  }

  async #writeGroup(group: readonly WaitingWrite[]): Promise<void> {
    const [first] = group
    const isDurable = group.some(write => write.isDurable)
    const changes = group.length === 1 ? first?.changes : group.flatMap(write => write.changes)
    try {
      await this.#map.write(changes ?? [], isDurable)
      for (const { resolve } of group) resolve()
    } catch (error) {
      this.#failure = error
      for (const { reject } of group) reject(error)
    }
  }

  /** One write at least. */
  #takeGroup(): readonly WaitingWrite[] {
    let count = 0
    let changeCount = 0
    for (const { changes } of this.#waiting) {
      changeCount += changes.length
      if (count > 0 && changeCount > GROUP_CHANGES_MAX) break
      count++
    }
    return this.#waiting.splice(0, count)
  }
}
