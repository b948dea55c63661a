import type { Platform } from '../../../core/platform/index.ts'
import type { TimerRef } from './chunk-search.ts'
import { type Claim, emptyClaim } from './claim.ts'
import type { FiredAhead } from './fired-ahead.ts'
import type { Overdue } from './overdue.ts'
import type { TakeLimits } from './topic-lanes.ts'
import { IN_LOG, LOG_BLOCK, type Window } from './window.ts'

/** Messages claimed at once: what falls due meanwhile waits for as much at most. */
const BATCH_COUNT_MAX = 512
const BATCH_BYTES_MAX = 1024 * 1024
/** Batches between two looks at the fire position. */
const BATCHES_OF_LOOK = 8
/** A message whose bytes could not be read is claimed again after this. */
const FAILED_PAUSE_MS = 1_000

/** The messages that have left the window and are not delivered yet: one batch, and a few more. */
export class Claims {
  readonly #platform: Platform
  readonly #window: Window
  readonly #ahead: FiredAhead
  readonly #overdue: Overdue
  readonly #claims: Claim[] = []
  #count = 0
  #batchCount = 0
  #done = 0
  /** Claims whose bytes could not be read: they are tried again later, and hold up nobody. */
  #aside: Claim[] = []
  /** Of those: their pause is over. */
  #again: Claim[] = []

  readonly #firePosition: () => number

  /** `firePosition` tells where the fire position would be now. */
  constructor(
    parts: { platform: Platform; window: Window; ahead: FiredAhead; overdue: Overdue },
    firePosition: () => number,
  ) {
    this.#platform = parts.platform
    this.#window = parts.window
    this.#ahead = parts.ahead
    this.#overdue = parts.overdue
    this.#firePosition = firePosition
  }

  /** The next one to deliver; undefined when the batch is done with. */
  get next(): Claim | undefined {
    while (this.#done < this.#count) {
      const claim = this.#claims[this.#done]
      if (claim !== undefined && !claim.isAside) return claim
      this.#done++
    }
    return undefined
  }

  /** What is left of the batch, in order. */
  get rest(): readonly Claim[] {
    return this.#claims.slice(this.#done, this.#count)
  }

  /** `next` is done with. */
  shift(): void {
    const claim = this.#claims[this.#done++]
    if (claim !== undefined) claim.cold = undefined
  }

  /** Claims a batch of what is due, when the last one is done with; false when nothing is due. */
  claim(nowMs: number): boolean {
    this.#count = 0
    this.#done = 0
    for (const claim of this.#again.splice(0, BATCH_COUNT_MAX)) this.#claims[this.#count++] = claim
    this.#overdue.look()
    if (this.#batchCount++ % BATCHES_OF_LOOK === 0) this.#ahead.look(this.#firePosition())
    const isEarliestFirst = this.#ahead.isFull
    const limits: TakeLimits = {
      countMax: BATCH_COUNT_MAX - this.#count,
      bytesMax: BATCH_BYTES_MAX,
      // What everything else is ahead of must not wait then.
      overdueCountMax: isEarliestFirst ? Infinity : this.#overdue.allowedCount(),
      isEarliestFirst,
    }
    const { overdueCount } = this.#window.takeDue(nowMs, limits, slot => this.#claim(slot))
    this.#overdue.took(overdueCount)
    return this.#count > 0
  }

  /** Tries a message that could not be read again after a pause; `wake` is called then. */
  setAside(claim: Claim, wake: () => void): void {
    const waiting = { ...claim }
    this.#aside.push(waiting)
    claim.isAside = true
    this.#platform.timers.after(FAILED_PAUSE_MS, () => {
      this.#aside = this.#aside.filter(other => other !== waiting)
      this.#again.push(waiting)
      wake()
    })
  }

  get count(): number {
    return this.#all().length
  }

  /** All of them, now. */
  refs(): TimerRef[] {
    return this.#all().map(({ timerId, deliverTimeMs }) => ({ timerId, deliverTimeMs }))
  }

  /** Earliest deliver time; Infinity when there is none. */
  get dueMs(): number {
    return this.#all().reduce((min, claim) => Math.min(min, claim.deliverTimeMs), Infinity)
  }

  /** It is about to be delivered, and nothing can stop that any more. */
  has(timerId: number): boolean {
    return this.#all().some(claim => claim.timerId === timerId && !claim.isRemoved)
  }

  /** It was removed: it is passed over, and not read before. */
  remove(timerId: number): void {
    for (const claim of this.#all()) if (claim.timerId === timerId) claim.isRemoved = true
  }

  /** Hands each that is nowhere but in the log, with its bytes, to `keep`, which returns its new block. */
  async keepAll(
    read: (claim: Readonly<Claim>) => Promise<Buffer>,
    keep: (claim: Readonly<Claim>, source: Buffer) => number,
  ): Promise<void> {
    for (const claim of this.#all()) {
      if (claim.block !== LOG_BLOCK || claim.isRemoved) continue
      const source = await read(claim)
      // While it was read it may have been removed: a copy would not know.
      if (!claim.isRemoved) claim.block = keep(claim, source)
    }
  }

  /** Least timer id among those that are read from the log. */
  oldestInLog(): number {
    let oldest = Infinity
    for (const claim of this.#all()) {
      if (claim.position === IN_LOG) oldest = Math.min(oldest, claim.timerId)
    }
    return oldest
  }

  #all(): Claim[] {
    return [...this.#aside, ...this.#again, ...this.rest.filter(claim => !claim.isAside)]
  }

  #claim(slot: number): void {
    let claim = this.#claims[this.#count]
    if (claim === undefined) {
      claim = emptyClaim()
      this.#claims.push(claim)
    }
    const { entries } = this.#window
    claim.deliverTimeMs = entries.deliverTimeMs(slot)
    claim.timerId = entries.timerId(slot)
    claim.sizeBytes = entries.sizeBytes(slot)
    claim.block = entries.block(slot)
    claim.position = entries.position(slot)
    claim.lane = entries.lane(slot)
    claim.cold = undefined
    claim.isAside = false
    claim.isRemoved = entries.isRemoved(slot)
    this.#count++
  }
}
