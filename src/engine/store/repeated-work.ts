import type { Platform, Timer } from '../../core/platform/index.ts'

/** Does something again and again: the next time `everyMs` after the last one has ended. */
export class RepeatedWork {
  readonly #platform: Platform
  readonly #everyMs: number
  /** Handles its own errors: what it throws is a broken invariant. */
  readonly #work: () => Promise<void>
  #timer: Timer | undefined
  #working: Promise<void> | undefined
  #isStopped = false

  constructor(platform: Platform, everyMs: number, work: () => Promise<void>) {
    this.#platform = platform
    this.#everyMs = everyMs
    this.#work = work
  }

  start(): void {
    this.#timer = this.#platform.timers.after(this.#everyMs, () => {
      this.#working = this.#workOnce()
    })
  }

  /** Resolves when no work is under way; none begins any more. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    await this.#working
  }

  async #workOnce(): Promise<void> {
    await this.#work()
    if (!this.#isStopped) this.start()
  }
}
