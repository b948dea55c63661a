import type { Clock } from '../clock.ts'
import type { Log, LogFields } from '../log.ts'
import type { SimulatedProcess } from './simulated-process.ts'

export interface LogLine {
  readonly timeMs: number
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly fields: LogFields
  readonly error?: unknown
}

/** Older lines are dropped beyond this. */
const LINE_COUNT_MAX = 10_000

/** Keeps the lines of one process in memory, in a list that the world owns. */
export class SimulatedLog implements Log {
  readonly #lines: LogLine[]
  readonly #clock: Clock
  readonly #process: SimulatedProcess

  constructor(lines: LogLine[], clock: Clock, process: SimulatedProcess) {
    this.#lines = lines
    this.#clock = clock
    this.#process = process
  }

  debug(message: string, fields: LogFields = {}): void {
    this.#add({ timeMs: this.#clock.timeMs(), level: 'debug', message, fields })
  }

  info(message: string, fields: LogFields = {}): void {
    this.#add({ timeMs: this.#clock.timeMs(), level: 'info', message, fields })
  }

  warn(message: string, fields: LogFields = {}): void {
    this.#add({ timeMs: this.#clock.timeMs(), level: 'warn', message, fields })
  }

  error(message: string, error?: unknown, fields: LogFields = {}): void {
    this.#add({ timeMs: this.#clock.timeMs(), level: 'error', message, fields, error })
  }

  #add(line: LogLine): void {
    if (!this.#process.alive) return
    this.#lines.push(line)
    if (this.#lines.length > 2 * LINE_COUNT_MAX) {
      this.#lines.splice(0, this.#lines.length - LINE_COUNT_MAX)
    }
  }
}
