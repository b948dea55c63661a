import { assert } from '../../base/index.ts'
import type { Clock, Timer, Timers } from '../clock.ts'

/** The system's clocks. */
export class RealClock implements Clock {
  timeMs(): number {
    return Date.now()
  }

  uptimeMs(): number {
    return performance.now()
  }
}

/** The system's timers, which may fire a little early: every call back checks its clock first. */
export class RealTimers implements Timers {
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  at(timeMs: number, callback: () => void): Timer {
    return new RealTimer(() => timeMs - this.#clock.timeMs(), callback)
  }

  after(delayMs: number, callback: () => void): Timer {
    const due = this.#clock.uptimeMs() + delayMs
    return new RealTimer(() => due - this.#clock.uptimeMs(), callback)
  }

  soon(callback: () => void): void {
    setImmediate(callback)
  }
}

/** The wall clock may be stepped while a timer waits: it is looked at this often. */
const WAIT_MS_MAX = 1_000

class RealTimer implements Timer {
  readonly #restMs: () => number
  readonly #callback: () => void
  #timeout: NodeJS.Timeout

  constructor(restMs: () => number, callback: () => void) {
    const rest = restMs()
    assert(!Number.isNaN(rest), 'a timer needs a number')
    this.#restMs = restMs
    this.#callback = callback
    this.#timeout = this.#arm(rest)
  }

  cancel(): void {
    clearTimeout(this.#timeout)
  }

  #arm(restMs: number): NodeJS.Timeout {
    const waitMs = Math.min(Math.max(Math.ceil(restMs), 0), WAIT_MS_MAX)
    return setTimeout(() => {
      this.#wake()
    }, waitMs)
  }

  #wake(): void {
    const rest = this.#restMs()
    if (rest > 0) this.#timeout = this.#arm(rest)
    else this.#callback()
  }
}
