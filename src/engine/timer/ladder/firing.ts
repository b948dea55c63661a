import type { Platform, Timer } from '../../../core/platform/index.ts'
import type { Publisher } from '../publisher.ts'
import { Claims } from './claims.ts'
import { Delivery, type DeliveryParts } from './delivery.ts'
import { LoopShare } from './loop-share.ts'
import type { Window } from './window.ts'

/** Pause before a busy log is tried again. */
const BUSY_PAUSE_MS = 2
/** Pause while the rate of what is overdue is used up. */
const OVERDUE_PAUSE_MS = 10
/** Messages between two looks at the clock. */
const LOOK_COUNT = 16

/**
 * Fires what the window says is due: one timer for the process; topics by turns, in batches, and
 * in steps that leave other work its share. When the log is busy, the rest of a batch waits.
 */
export class Firing {
  /** What has left the window. */
  readonly claims: Claims
  readonly #platform: Platform
  readonly #window: Window
  readonly #publisher: Publisher
  readonly #delivery: Delivery
  readonly #share: LoopShare
  #timer: Timer | undefined
  #wakeAtMs = Infinity
  #batch: Promise<void> | undefined
  /** The next turn is asked for already: one at a time, whoever wakes it. */
  #isTurnAsked = false
  #isStarted = false
  #isPaused = false
  /** The last step ended because its time was up. */
  #isStepOver = false
  readonly #turn = (): void => {
    this.#isTurnAsked = false
    this.wake()
  }

  /** `firePosition` tells where the fire position would be now. */
  constructor(parts: DeliveryParts, firePosition: () => number) {
    this.#platform = parts.platform
    this.#window = parts.window
    this.#publisher = parts.publisher
    this.#delivery = new Delivery(parts)
    this.#share = new LoopShare(parts.platform)
    this.claims = new Claims(parts, firePosition)
  }

  get lostCount(): number {
    return this.#delivery.lostCount
  }

  start(): void {
    this.#isStarted = true
    this.wake()
  }

  async stop(): Promise<void> {
    this.#isStarted = false
    this.#timer?.cancel()
    await this.#batch
  }

  /** For a snapshot: everything claimed is durable when it resolves; nothing fires until `resume`. */
  async pause(): Promise<void> {
    this.#isPaused = true
    await this.#batch
    await this.#publisher.drained()
  }

  resume(): void {
    this.#isPaused = false
    if (this.#isStarted) this.#askTurn(0)
  }

  /** Something is due at `timeMs`: makes sure to be awake then. */
  wakeBy(timeMs: number): void {
    if (!this.#isStarted || this.#isTurnAsked || timeMs >= this.#wakeAtMs) return
    this.#timer?.cancel()
    this.#wakeAtMs = timeMs
    this.#timer = this.#platform.timers.at(timeMs, () => {
      this.#wakeAtMs = Infinity
      this.wake()
    })
  }

  /** Fires what is due now, then sleeps until the next. */
  wake(): void {
    if (!this.#isStarted || this.#isPaused || this.#isTurnAsked) return
    if (this.#batch !== undefined) return
    this.#share.beginStep()
    if (this.claims.next === undefined && !this.#claimBatch()) return
    if (!this.#isNextCold()) {
      this.#deliverClaims()
      this.#continue()
      return
    }
    this.#batch = this.#readCold()
      .then(() => {
        this.#share.beginStep()
        this.#deliverClaims()
      })
      .finally(() => {
        this.#batch = undefined
        this.#continue()
      })
  }

  #continue(): void {
    if (!this.#isStarted || this.#isPaused) return
    const isBusy = this.claims.next !== undefined && !this.#isNextCold() && !this.#isStepOver
    this.#askTurn(isBusy ? BUSY_PAUSE_MS : 0)
  }

  /** Wakes after other work had its share, or after a pause. */
  #askTurn(pauseMs: number): void {
    if (this.#isTurnAsked) return
    this.#isTurnAsked = true
    this.#timer?.cancel()
    this.#wakeAtMs = Infinity
    if (pauseMs === 0) this.#share.leave(this.#turn)
    else this.#timer = this.#platform.timers.after(pauseMs, this.#turn)
  }

  /** Claims what is due; when that is nothing, goes to sleep until something is. */
  #claimBatch(): boolean {
    if (this.#publisher.isCongested) {
      this.#askTurn(BUSY_PAUSE_MS)
      return false
    }
    const nowMs = this.#platform.clock.timeMs()
    if (this.claims.claim(nowMs)) return true
    const nextMs = this.#window.nextDueMs()
    if (this.#window.hasOverdue) this.wakeBy(Math.min(nextMs, nowMs + OVERDUE_PAUSE_MS))
    else if (nextMs !== Infinity) this.wakeBy(nextMs)
    return false
  }

  /** The next one to deliver has to be read first. */
  #isNextCold(): boolean {
    const { next } = this.claims
    return next !== undefined && this.#delivery.isCold(next)
  }

  /** What cannot be read is set aside. */
  async #readCold(): Promise<void> {
    const failed = await this.#delivery.readCold(this.claims.rest)
    for (const claim of failed) this.claims.setAside(claim, () => this.wake())
  }

  /** Delivers until the batch or the step is over, one has to be read, or the log is busy. */
  #deliverClaims(): void {
    const nowMs = this.#platform.clock.timeMs()
    this.#isStepOver = false
    for (let count = 1; ; count++) {
      const { next } = this.claims
      if (next === undefined || !this.#delivery.settle(next, nowMs)) return
      this.claims.shift()
      if (count % LOOK_COUNT === 0 && this.#share.isStepOver) {
        this.#isStepOver = true
        return
      }
    }
  }
}
