import type { Log, LogFields } from '../../core/platform/index.ts'

/** Keys are counted, so that a client that makes up new ones cannot fill memory or log. */
const KEYS_MAX = 1000

/** Says each thing once: for what a client does again and again. */
export class OnceLog {
  readonly #log: Log
  readonly #said = new Set<string>()

  constructor(log: Log) {
    this.#log = log
  }

  warn(key: string, message: string, fields: LogFields): void {
    if (this.#said.has(key) || this.#said.size >= KEYS_MAX) return
    this.#said.add(key)
    this.#log.warn(message, fields)
  }
}
