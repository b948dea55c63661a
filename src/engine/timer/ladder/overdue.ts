import type { Clock } from '../../../core/platform/index.ts'

/** The time has gone on by so much more than the process has run: it was suspended, or set. */
const JUMP_MS = 5_000
/** What was not used of the rate is kept for so long. */
const KEPT_MS = 50

/**
 * What fell due while nobody could deliver it: before the start, or during a jump of the clock. It
 * is delivered oldest first, at a bounded rate, and what falls due meanwhile goes between it.
 */
export class Overdue {
  readonly #clock: Clock
  readonly #rateMax: number
  #untilMs: number
  #timeMs: number
  #uptimeMs: number
  #credit = 0
  #creditAtUptimeMs: number

  /** `rateMax` is in messages a second; 0 for no bound. What is due by now is overdue. */
  constructor(clock: Clock, rateMax: number) {
    this.#clock = clock
    this.#rateMax = rateMax
    this.#timeMs = clock.timeMs()
    this.#untilMs = this.#timeMs
    this.#uptimeMs = clock.uptimeMs()
    this.#creditAtUptimeMs = this.#uptimeMs
  }

  /** What is due at or before this is overdue. */
  get untilMs(): number {
    return this.#untilMs
  }

  /** What is due by now is overdue. */
  begin(): void {
    this.#untilMs = this.#clock.timeMs()
  }

  /** To be called before anything is loaded or taken: notices jumps of the clock. */
  look(): void {
    const timeMs = this.#clock.timeMs()
    const uptimeMs = this.#clock.uptimeMs()
    if (timeMs - this.#timeMs - (uptimeMs - this.#uptimeMs) > JUMP_MS) this.#untilMs = timeMs
    this.#timeMs = timeMs
    this.#uptimeMs = uptimeMs
  }

  /** How many overdue messages may be delivered now. */
  allowedCount(): number {
    if (this.#rateMax === 0) return Infinity
    const uptimeMs = this.#clock.uptimeMs()
    const ratePerMs = this.#rateMax / 1000
    const gained = (uptimeMs - this.#creditAtUptimeMs) * ratePerMs
    this.#creditAtUptimeMs = uptimeMs
    this.#credit = Math.min(this.#credit + gained, Math.max(1, KEPT_MS * ratePerMs))
    return Math.max(0, Math.floor(this.#credit))
  }

  /** So many were taken. */
  took(count: number): void {
    this.#credit -= count
  }
}
