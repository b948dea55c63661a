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
    const more = this.#moreFields(key)
    if (more !== undefined) this.#log.info(message, { ...fields, ...more })
  }

  /** As `info`; the line has the error's stack. */
  error(key: string, message: string, error: unknown, fields: LogFields): void {
    const more = this.#moreFields(key)
    if (more !== undefined) this.#log.error(message, error, { ...fields, ...more })
  }

  /** `undefined`: the line is to be left out. */
  #moreFields(key: string): LogFields | undefined {
    const nowMs = this.#clock.uptimeMs()
    const line = this.#lines.get(key)
    if (line !== undefined && nowMs - line.saidUptimeMs < INTERVAL_MS) {
      line.leftOutCount++
      return undefined
    }
    const leftOut = line?.leftOutCount ?? 0
    this.#lines.set(key, { saidUptimeMs: nowMs, leftOutCount: 0 })
    return leftOut === 0 ? {} : { leftOut }
  }
}
