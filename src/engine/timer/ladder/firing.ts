import type { Platform, Timer } from '../../../core/platform/index.ts'
import { checkRecord } from '../../../model/message/index.ts'
import type { Store } from '../../store/index.ts'
import type { BulkChanges } from '../bulk-changes.ts'
import type { ParkedStore } from '../parked/parked-store.ts'
import type { PendingRemovals } from '../pending-removals.ts'
import type { Publisher } from '../publisher.ts'
import type { RecoveredRemovals } from '../recovered-removals.ts'
import type { FiredIds } from '../fired-ids.ts'
import type { TimerRef } from './chunk-search.ts'
import { type Claim, emptyClaim } from './claim.ts'
import { ColdReader } from './cold-reader.ts'
import type { FiredAhead } from './fired-ahead.ts'
import type { LoadedBlocks } from './loaded-blocks.ts'
import { IN_LOG, LOG_BLOCK, PARKED_BLOCK, type Window } from './window.ts'

/** Messages claimed at once; live work gets its turn after each batch. */
const BATCH_COUNT_MAX = 512
/** Pause before a busy log is tried again. */
const BUSY_PAUSE_MS = 2
/** A message whose bytes could not be read is claimed again after this. */
const FAILED_PAUSE_MS = 1_000
/** Copies a message that only the log has; returns its block. */
type Keep = (claim: Readonly<Claim>, at: { source: Buffer; position: number }) => number

/**
 * Fires what the window says is due: one timer for the process, batches in order of deliver time
 * and id. What a topic refuses is parked; when the log is busy, the rest of a batch waits.
 */
export class Firing {
  readonly #platform: Platform
  readonly #store: Store
  readonly #window: Window
  readonly #blocks: LoadedBlocks
  readonly #publisher: Publisher
  readonly #parked: ParkedStore
  readonly #fired: FiredIds
  readonly #recovered: RecoveredRemovals
  readonly #removals: PendingRemovals
  readonly #bulk: BulkChanges
  readonly #keep: Keep
  readonly #cold: ColdReader
  readonly #ahead: FiredAhead
  readonly #claims: Claim[] = []
  #claimCount = 0
  #done = 0
  /** Claims whose bytes could not be read: they are tried again later, and hold up nobody. */
  #aside: Claim[] = []
  /** Of those: their pause is over. */
  #again: Claim[] = []
  #timer: Timer | undefined
  #wakeAtMs = Infinity
  #batch: Promise<void> | undefined
  /** The next turn is asked for already: one at a time, whoever wakes it. */
  #isTurnAsked = false
  #isStarted = false
  #isPaused = false
  #lostCount = 0

  constructor(parts: {
    platform: Platform
    store: Store
    window: Window
    blocks: LoadedBlocks
    publisher: Publisher
    parked: ParkedStore
    fired: FiredIds
    recovered: RecoveredRemovals
    removals: PendingRemovals
    bulk: BulkChanges
    ahead: FiredAhead
    /** Makes a claimed message that goes back to the window independent of the log. */
    keep: Keep
  }) {
    this.#platform = parts.platform
    this.#store = parts.store
    this.#window = parts.window
    this.#blocks = parts.blocks
    this.#publisher = parts.publisher
    this.#parked = parts.parked
    this.#fired = parts.fired
    this.#recovered = parts.recovered
    this.#removals = parts.removals
    this.#bulk = parts.bulk
    this.#ahead = parts.ahead
    this.#keep = parts.keep
    this.#cold = new ColdReader({
      store: parts.store,
      parked: parts.parked,
      log: parts.platform.log,
    })
  }

  get lostCount(): number {
    return this.#lostCount
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

  /** Earliest deliver time that is claimed and not delivered; Infinity when none is. */
  get claimedDueMs(): number {
    return this.#claimed().reduce((min, claim) => Math.min(min, claim.deliverTimeMs), Infinity)
  }

  /** It is about to be delivered, and nothing can stop that any more. */
  isClaimed(timerId: number): boolean {
    return this.#claimed().some(claim => claim.timerId === timerId && !claim.isRemoved)
  }

  /** A claimed message was removed: it is passed over, and not read before. */
  removeClaimed(timerId: number): void {
    for (const claim of this.#claimed()) if (claim.timerId === timerId) claim.isRemoved = true
  }

  /** Those that are claimed now. */
  claimedRefs(): TimerRef[] {
    return this.#claimed().map(({ timerId, deliverTimeMs }) => ({ timerId, deliverTimeMs }))
  }

  /** How many are claimed and not delivered. */
  get claimedCount(): number {
    return this.#claimed().length
  }

  /**
   * For a snapshot: hands each claimed message that is not delivered and is nowhere but in the log
   * to `keep`. They have left the window.
   */
  async keepClaimed(keep: (claim: Readonly<Claim>) => Promise<number>): Promise<void> {
    for (const claim of this.#claimed()) {
      if (claim.block === LOG_BLOCK && !claim.isRemoved) claim.block = await keep(claim)
    }
  }

  /** Least timer id among the claimed messages that are read from the log. */
  oldestInLog(): number {
    let oldest = Infinity
    for (const claim of this.#claimed()) {
      if (claim.position === IN_LOG) oldest = Math.min(oldest, claim.timerId)
    }
    return oldest
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
    if (this.#done === this.#claimCount && !this.#claimBatch()) return
    if (!this.#isNextCold()) {
      this.#deliverClaims()
      this.#continue()
      return
    }
    this.#batch = this.#readCold()
      .then(() => this.#deliverClaims())
      .finally(() => {
        this.#batch = undefined
        this.#continue()
      })
  }

  #continue(): void {
    if (!this.#isStarted || this.#isPaused) return
    const isBusy = this.#done < this.#claimCount && !this.#isNextCold()
    this.#askTurn(isBusy ? BUSY_PAUSE_MS : 0)
  }

  /** Wakes after other work had its turn, or after a pause. */
  #askTurn(pauseMs: number): void {
    if (this.#isTurnAsked) return
    this.#isTurnAsked = true
    this.#timer?.cancel()
    this.#wakeAtMs = Infinity
    const turn = (): void => {
      this.#isTurnAsked = false
      this.wake()
    }
    if (pauseMs === 0) this.#platform.timers.soon(turn)
    else this.#timer = this.#platform.timers.after(pauseMs, turn)
  }

  /** Claims what is due; when that is nothing, goes to sleep until something is. */
  #claimBatch(): boolean {
    this.#claimCount = 0
    this.#done = 0
    if (this.#publisher.isCongested) {
      this.#askTurn(BUSY_PAUSE_MS)
      return false
    }
    const nowMs = this.#platform.clock.timeMs()
    for (const claim of this.#again.splice(0, BATCH_COUNT_MAX)) {
      this.#claims[this.#claimCount++] = claim
    }
    this.#window.takeDue(nowMs, BATCH_COUNT_MAX, slot => this.#claim(slot))
    if (this.#claimCount > 0) return true
    const nextMs = this.#window.nextDueMs()
    if (nextMs !== Infinity) this.wakeBy(nextMs)
    return false
  }

  #claimed(): Claim[] {
    const batch = this.#claims.slice(this.#done, this.#claimCount)
    return [...this.#aside, ...this.#again, ...batch.filter(claim => !claim.isAside)]
  }

  #claim(slot: number): void {
    let claim = this.#claims[this.#claimCount]
    if (claim === undefined) {
      claim = emptyClaim()
      this.#claims.push(claim)
    }
    claim.deliverTimeMs = this.#window.deliverTimeMs(slot)
    claim.timerId = this.#window.timerId(slot)
    claim.sizeBytes = this.#window.sizeBytes(slot)
    claim.block = this.#window.block(slot)
    claim.position = this.#window.position(slot)
    claim.cold = undefined
    claim.isAside = false
    claim.isRemoved = this.#window.isRemoved(slot)
    this.#claimCount++
  }

  /** The next one to deliver has to be read first. */
  #isNextCold(): boolean {
    for (let index = this.#done; index < this.#claimCount; index++) {
      const claim = this.#claims[index]
      if (claim !== undefined && !claim.isAside) return this.#cold.isCold(claim)
    }
    return false
  }

  /** What cannot be read is set aside. */
  async #readCold(): Promise<void> {
    const failed = await this.#cold.readStep(this.#claims.slice(this.#done, this.#claimCount))
    for (const claim of failed) this.#setAside(claim)
  }

  #setAside(claim: Claim): void {
    const waiting = { ...claim }
    this.#aside.push(waiting)
    claim.isAside = true
    this.#platform.timers.after(FAILED_PAUSE_MS, () => {
      this.#aside = this.#aside.filter(other => other !== waiting)
      this.#again.push(waiting)
      this.wake()
    })
  }

  /** Delivers claims in order until all are done, one has to be read, or the log is busy. */
  #deliverClaims(): void {
    const nowMs = this.#platform.clock.timeMs()
    while (this.#done < this.#claimCount) {
      const claim = this.#claims[this.#done]
      if (claim === undefined) return
      if (claim.isAside) {
        this.#done++
        continue
      }
      const removal = this.#removals.find(claim.timerId)
      // Decided, and not durable yet: it is neither delivered nor passed over.
      if (removal?.isApplied === false) return
      if (claim.isRemoved || removal !== undefined) {
        this.#passOver(claim)
      } else if (claim.deliverTimeMs > nowMs) {
        if (!this.#putBack(claim)) return
      } else {
        if (!this.#deliver(claim)) return
        this.#settle(claim)
      }
      claim.cold = undefined
      this.#done++
    }
  }

  #passOver(claim: Claim): void {
    this.#removals.forget(claim.timerId)
    this.#parked.lateDone(claim.timerId)
    this.#settle(claim)
  }

  #settle(claim: Claim): void {
    if (claim.block === LOG_BLOCK || claim.block === PARKED_BLOCK) return
    this.#ahead.push(claim.deliverTimeMs, claim.timerId, this.#blocks.release(claim.block))
  }

  /** The clock went back after the claim: it waits again. */
  #putBack(claim: Claim): boolean {
    if (claim.block === LOG_BLOCK) {
      if (this.#cold.isCold(claim)) return false
      claim.block = this.#keep(claim, this.#bytesOf(claim))
    }
    this.#window.add(claim)
    return true
  }

  /** Returns false when the log is busy or the bytes have left the log's memory meanwhile. */
  #deliver(claim: Claim): boolean {
    const isOfChunk = claim.block !== LOG_BLOCK && claim.block !== PARKED_BLOCK
    if (isOfChunk && this.#ahead.take(claim.timerId)) return true
    if (this.#fired.take(claim.timerId) || this.#recovered.take(claim.timerId) !== undefined) {
      this.#parked.lateDone(claim.timerId)
      return true
    }
    if (this.#cold.isCold(claim)) return false
    const { source, position } = this.#bytesOf(claim)
    if (claim.cold !== undefined && checkRecord(source, 0, source.length).kind !== 'record') {
      this.#lost(claim)
      return true
    }
    const cancel = this.#bulk.cancelOf(claim, source, position)
    if (cancel !== undefined) {
      cancel.count++
      this.#parked.lateDone(claim.timerId)
      return true
    }
    const outcome = this.#publisher.deliver(source, position, claim.timerId)
    if (outcome === 'busy') return false
    if (outcome === 'refused') {
      this.#parked.park({
        timerId: claim.timerId,
        deliverTimeMs: claim.deliverTimeMs,
        source,
        position,
        recordBytes: claim.sizeBytes,
      })
    } else {
      this.#parked.lateDone(claim.timerId)
    }
    return true
  }

  #bytesOf(claim: Claim): { source: Buffer; position: number } {
    if (claim.cold !== undefined) return { source: claim.cold, position: 0 }
    if (claim.position === IN_LOG) {
      const { log } = this.#store
      return { source: log.memory, position: log.memoryPosition(claim.timerId) }
    }
    return { source: this.#blocks.bytesOf(claim.block), position: claim.position }
  }

  #lost(claim: Claim): void {
    this.#lostCount++
    this.#platform.log.error('a waiting message cannot be read; it is lost', undefined, {
      commitLogOffset: claim.timerId,
      deliverTimeMs: claim.deliverTimeMs,
    })
    this.#parked.lateDone(claim.timerId)
  }
}
