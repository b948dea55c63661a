import type { KeyValue, KeyValueChange, KeyValues } from '../../core/platform/index.ts'

/**
 * A map of the timers on disk, which is opened when it is first used: most brokers never need it.
 * After a write that has failed it is opened anew, so that the next one can be tried.
 */
export class TimerMap {
  readonly #open: () => Promise<KeyValues>
  #values: Promise<KeyValues> | undefined
  #exists: boolean

  constructor(parts: {
    open: () => Promise<KeyValues>
    /** It is there from an earlier start. */
    exists: boolean
  }) {
    this.#open = parts.open
    this.#exists = parts.exists
  }

  /** False as long as nothing was ever written: then reads find nothing, and open nothing. */
  get exists(): boolean {
    return this.#exists
  }

  async get(key: Buffer): Promise<Buffer | undefined> {
    return this.#exists ? (await this.#opened()).get(key) : undefined
  }

  async getMany(keys: readonly Buffer[]): Promise<readonly (Buffer | undefined)[]> {
    return this.#exists ? (await this.#opened()).getMany(keys) : keys.map(() => undefined)
  }

  async range(from: Buffer, to: Buffer, countMax: number): Promise<readonly KeyValue[]> {
    return this.#exists ? (await this.#opened()).range(from, to, countMax) : []
  }

  /** Errors: those of `KeyValues.write`; what it did is known to who reads next. */
  async write(changes: readonly KeyValueChange[], isDurable: boolean): Promise<void> {
    this.#exists = true
    const values = await this.#opened()
    try {
      await values.write(changes, isDurable)
    } catch (error) {
      this.#values = this.#watched(values.close().then(() => this.#open()))
      throw error
    }
  }

  async close(): Promise<void> {
    await (await this.#values)?.close()
    this.#values = undefined
  }

  async #opened(): Promise<KeyValues> {
    for (;;) {
      this.#values ??= this.#watched(this.#open())
      const opening = this.#values
      const values = await opening
      // It may have been opened anew meanwhile.
      if (opening === this.#values) return values
    }
  }

  /** When it cannot be opened, the next who needs it tries again. */
  #watched(opening: Promise<KeyValues>): Promise<KeyValues> {
    opening.catch(() => {
      if (this.#values === opening) this.#values = undefined
    })
    return opening
  }
}
