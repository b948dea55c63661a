import type { Clock, Log, LogFields } from '../../core/platform/index.ts'

const INTERVAL_MS = 60_000

interface Line {
  saidUptimeMs: number
  leftOutCount: number
}

/** Says the same thing at most once a minute: for what a client can make happen all the time. */
export class SparseLog {
  readonly #log: Log
  readonly #clock: Clock
  readonly #lines = new Map<string, Line>()

  constructor(log: Log, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  /** `key` is one of a few. What is left out is counted and told with the next line of its key. */
  info(key: string, message: string, fields: LogFields): void {
    const nowMs = this.#clock.uptimeMs()
    const line = this.#lines.get(key)
    if (line !== undefined && nowMs - line.saidUptimeMs < INTERVAL_MS) {
      line.leftOutCount++
      return
    }
    const leftOut = line?.leftOutCount ?? 0
    this.#lines.set(key, { saidUptimeMs: nowMs, leftOutCount: 0 })
    this.#log.info(message, leftOut === 0 ? fields : { ...fields, leftOut })
  }
}
