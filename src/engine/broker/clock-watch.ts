import type { Platform, Timer } from '../../core/platform/index.ts'

const LOOK_MS = 1_000
/** What a clock is put right by in the ordinary way is no step. */
const STEP_MS_MIN = 5_000

/**
 * Notices when the wall clock was stepped, which nothing but a look at the uptime tells: says so
 * once for each step, and counts. Also a machine that slept looks like a step forward, where its
 * uptime stood still meanwhile.
 */
export class ClockWatch {
  /** Steps of more than five seconds since the start. */
  forwardCount = 0
  backCount = 0
  readonly #platform: Pick<Platform, 'clock' | 'timers' | 'log'>
  #timer: Timer | undefined
  #timeMs = 0
  #uptimeMs = 0

  constructor(platform: Pick<Platform, 'clock' | 'timers' | 'log'>) {
    this.#platform = platform
  }

  /** Looks once a second from now on. */
  start(): void {
    this.#timeMs = this.#platform.clock.timeMs()
    this.#uptimeMs = this.#platform.clock.uptimeMs()
    this.#lookLater()
  }

  stop(): void {
    this.#timer?.cancel()
  }

  #lookLater(): void {
    this.#timer = this.#platform.timers.after(LOOK_MS, () => {
      this.#look()
      this.#lookLater()
    })
  }

  #look(): void {
    const { clock, log } = this.#platform
    const timeMs = clock.timeMs()
    const uptimeMs = clock.uptimeMs()
    const expectedMs = Math.round(this.#timeMs + uptimeMs - this.#uptimeMs)
    this.#timeMs = timeMs
    this.#uptimeMs = uptimeMs
    const stepMs = timeMs - expectedMs
    if (Math.abs(stepMs) <= STEP_MS_MIN) return
    const facts = { from: textOf(expectedMs), to: textOf(timeMs), stepMs }
    if (stepMs > 0) {
      this.forwardCount++
      log.warn('the clock went forward: what is due by the new time is delivered now', facts)
    } else {
      this.backCount++
      log.warn('the clock went back: what waits is delivered when it shows its time again', facts)
    }
  }
}

function textOf(timeMs: number): string {
  return new Date(timeMs).toISOString()
}
