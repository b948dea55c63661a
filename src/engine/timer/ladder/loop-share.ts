import type { Platform } from '../../../core/platform/index.ts'

/** One step of delivery takes so long, and at most one message longer. */
const STEP_MS = 1
/** Part of the event loop that all other work can have, however much is due. */
const LIVE_SHARE = 0.3
/** A turn of the loop in which others took less than this had little for them to do. */
const IDLE_MS = 0.05

/**
 * Divides the event loop between delivery and all other work: a step of delivery, then the others,
 * until they have used their share or have nothing left to do. Nobody waits for an idle loop.
 */
export class LoopShare {
  readonly #platform: Platform
  #stepBeganAtMs = 0
  /** What the others may still use before the next step. */
  #owedMs = 0
  #othersBeganAtMs = 0

  constructor(platform: Platform) {
    this.#platform = platform
  }

  beginStep(): void {
    this.#stepBeganAtMs = this.#platform.clock.uptimeMs()
  }

  get isStepOver(): boolean {
    return this.#platform.clock.uptimeMs() - this.#stepBeganAtMs >= STEP_MS
  }

  /** The step is over: calls back once the others have had their share. */
  leave(callback: () => void): void {
    this.#othersBeganAtMs = this.#platform.clock.uptimeMs()
    const stepMs = this.#othersBeganAtMs - this.#stepBeganAtMs
    this.#owedMs = (stepMs * LIVE_SHARE) / (1 - LIVE_SHARE)
    this.#leaveTurn(callback)
  }

  #leaveTurn(callback: () => void): void {
    this.#platform.timers.soon(() => {
      const nowMs = this.#platform.clock.uptimeMs()
      const usedMs = nowMs - this.#othersBeganAtMs
      this.#othersBeganAtMs = nowMs
      this.#owedMs -= usedMs
      if (this.#owedMs > 0 && usedMs >= IDLE_MS) this.#leaveTurn(callback)
      else callback()
    })
  }
}
