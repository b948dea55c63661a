import { BrokerError } from '../../core/base/index.ts'
import type { KeyValue, KeyValueChange, KeyValues } from '../../core/platform/index.ts'

/**
 * A map of the timers on disk, which is opened when it is first used: most brokers never need it.
 * After a write that has failed it is opened anew, so that the next one can be tried.
 */
export class TimerMap {
  readonly #open: () => Promise<KeyValues>
  #values: Promise<KeyValues> | undefined
  #exists: boolean
  #isClosed = false

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

  get(key: Buffer): Promise<Buffer | undefined> {
    return this.#read(undefined, values => values.get(key))
  }

  getMany(keys: readonly Buffer[]): Promise<readonly (Buffer | undefined)[]> {
    const none = keys.map(() => undefined)
    return this.#read(none, values => values.getMany(keys))
  }

  range(from: Buffer, to: Buffer, countMax: number): Promise<readonly KeyValue[]> {
    return this.#read([], values => values.range(from, to, countMax))
  }

  /** Errors: those of `KeyValues.write`; what it did is known to who reads next. SHUTTING_DOWN. */
  async write(changes: readonly KeyValueChange[], isDurable: boolean): Promise<void> {
    this.#exists = true
    await this.#use(async (values, opening) => {
      try {
        await values.write(changes, isDurable)
      } catch (error) {
        // Of several that fail together the first opens it anew.
        if (opening === this.#values && !this.#isClosed) {
          this.#values = this.#watched(values.close().then(() => this.#open()))
        }
        throw error
      }
    })
  }

  /** Who still reads or writes gets SHUTTING_DOWN. */
  async close(): Promise<void> {
    this.#isClosed = true
    // Who needed it hears that it could not be opened.
    const values = await this.#values?.catch(() => undefined)
    this.#values = undefined
    await values?.close()
  }

  /** Errors: those of the call, and SHUTTING_DOWN. */
  async #read<T>(none: T, call: (values: KeyValues) => Promise<T>): Promise<T> {
    return this.#exists ? this.#use(call) : none
  }

  async #use<T>(call: (values: KeyValues, opening: Promise<KeyValues>) => Promise<T>): Promise<T> {
    for (;;) {
      if (this.#isClosed) throw new BrokerError('SHUTTING_DOWN')
      this.#values ??= this.#watched(this.#open())
      const opening = this.#values
      const values = await opening
      // It may have been opened anew, or closed, meanwhile; nothing comes between this and the use.
      if (opening === this.#values && !this.#isClosed) return call(values, opening)
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
