import { assert } from '../../base/index.ts'
import type { Clock, Timer, Timers } from '../clock.ts'
import type { ScheduledEvent, Scheduler } from './scheduler.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { SimulatedProcess } from './simulated-process.ts'

/** The time of a world: uptime plus an offset that may be stepped. */
export class WorldClock {
  readonly #scheduler: Scheduler
  readonly #onStep: (() => void)[] = []
  #offsetMs: number

  constructor(scheduler: Scheduler, startTimeMs: number) {
    this.#scheduler = scheduler
    this.#offsetMs = startTimeMs
  }

  timeMs(): number {
    return Math.floor(this.#scheduler.uptimeMs + this.#offsetMs)
  }

  /** Milliseconds, with fraction, until it is `timeMs`; below 0 when it has been. */
  untilMs(timeMs: number): number {
    return timeMs - this.#scheduler.uptimeMs - this.#offsetMs
  }

  step(ms: number): void {
    this.#offsetMs += ms
    for (const action of this.#onStep) action()
  }

  /** Calls back after every step. */
  onStep(action: () => void): void {
    this.#onStep.push(action)
  }
}

/** The clocks of one process: its uptime starts with it. */
export class SimulatedClock implements Clock {
  readonly #world: WorldClock
  readonly #scheduler: Scheduler
  readonly #process: SimulatedProcess

  constructor(world: WorldClock, scheduler: Scheduler, process: SimulatedProcess) {
    this.#world = world
    this.#scheduler = scheduler
    this.#process = process
  }

  timeMs(): number {
    return this.#world.timeMs()
  }

  uptimeMs(): number {
    return this.#scheduler.uptimeMs - this.#process.startedMs
  }
}

/** A timer fires this much late, as real ones do; never early by an error of rounding. */
const LATE_MS_MIN = 0.001
const LATE_MS_MAX = 1.2
/** What a turn of the event loop takes; keeps endless turns from stopping the time. */
const TURN_MS = 0.005
/** A step of the clock is noticed within this time. */
const STEP_NOTICED_MS_MAX = 1_000

/** The timers of one process. */
export class SimulatedTimers implements Timers {
  readonly #world: WorldClock
  readonly #process: SimulatedProcess
  readonly #random: SeededRandom
  readonly #isPrompt: boolean
  readonly #waiting = new Set<WallTimer>()

  constructor(
    world: WorldClock,
    process: SimulatedProcess,
    /** Prompt timers fire as soon as they may. */
    timing: { readonly random: SeededRandom; readonly isPrompt: boolean },
  ) {
    const { random, isPrompt } = timing
    this.#world = world
    this.#process = process
    this.#random = random
    this.#isPrompt = isPrompt
    world.onStep(() => {
      for (const timer of this.#waiting) timer.follow(STEP_NOTICED_MS_MAX * random.fraction())
    })
    process.onDeath(() => {
      this.#waiting.clear()
    })
  }

  at(timeMs: number, callback: () => void): Timer {
    assert(!Number.isNaN(timeMs), 'a timer needs a number')
    const timer = new WallTimer({
      restMs: () => this.#world.untilMs(timeMs),
      schedule: (delayMs, action) => {
        return this.#process.schedule(delayMs + this.#latenessMs(), action)
      },
      nowMs: () => this.#process.nowMs,
      onEnd: () => {
        this.#waiting.delete(timer)
      },
      callback,
    })
    if (this.#process.alive) this.#waiting.add(timer)
    return timer
  }

  after(delayMs: number, callback: () => void): Timer {
    assert(!Number.isNaN(delayMs), 'a timer needs a number')
    const waitMs = Math.max(0, delayMs) + this.#latenessMs()
    if (!Number.isFinite(waitMs)) return { cancel: () => undefined }
    const event = this.#process.schedule(waitMs, callback)
    return {
      cancel: () => {
        event.action = undefined
      },
    }
  }

  soon(callback: () => void): void {
    this.#process.schedule(TURN_MS, callback)
  }

  #latenessMs(): number {
    if (this.#isPrompt) return LATE_MS_MIN
    return LATE_MS_MIN + (LATE_MS_MAX - LATE_MS_MIN) * this.#random.fraction()
  }
}

interface WallTimerParts {
  restMs(): number
  schedule(delayMs: number, action: () => void): ScheduledEvent
  nowMs(): number
  onEnd(): void
  callback(): void
}

/** Waits for a wall-clock time that may come nearer or move away. */
class WallTimer implements Timer {
  readonly #parts: WallTimerParts
  #event: ScheduledEvent | undefined

  constructor(parts: WallTimerParts) {
    this.#parts = parts
    this.#arm(parts.restMs())
  }

  cancel(): void {
    this.#disarm()
    this.#parts.onEnd()
  }

  /** The clock was stepped, which is noticed after `noticedMs`. */
  follow(noticedMs: number): void {
    const waitMs = Math.max(this.#parts.restMs(), noticedMs)
    // Where the time has moved away, the timer finds that out when it wakes.
    if (this.#event !== undefined && this.#parts.nowMs() + waitMs >= this.#event.dueMs) return
    this.#arm(waitMs)
  }

  #arm(waitMs: number): void {
    this.#disarm()
    if (!Number.isFinite(waitMs)) return
    this.#event = this.#parts.schedule(Math.max(0, waitMs), () => {
      this.#wake()
    })
  }

  #disarm(): void {
    if (this.#event !== undefined) this.#event.action = undefined
    this.#event = undefined
  }

  #wake(): void {
    const restMs = this.#parts.restMs()
    if (restMs > 0) {
      this.#arm(restMs)
      return
    }
    this.cancel()
    this.#parts.callback()
  }
}
