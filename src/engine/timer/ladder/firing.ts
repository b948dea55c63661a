import type { Platform, Timer } from '../../../core/platform/index.ts'
import { checkRecord } from '../../../model/message/index.ts'
import type { Store } from '../../store/index.ts'
import type { FiredIds } from '../fired-ids.ts'
import type { ParkedStore } from '../parked/parked-store.ts'
import type { Publisher } from '../publisher.ts'
import type { LoadedBlocks } from './loaded-blocks.ts'
import { LOG_BLOCK, PARKED_BLOCK, type Window } from './window.ts'

/** Messages claimed at once; live work gets its turn after each batch. */
const BATCH_COUNT_MAX = 512
/** Pause before a busy log is tried again. */
const BUSY_PAUSE_MS = 2

/** One claimed message. The objects are used again for every batch. */
interface Claim {
  deliverTimeMs: number
  timerId: number
  sizeBytes: number
  block: number
  position: number
  /** Its bytes, once read, when they were in neither a block nor the log's memory. */
  cold: Buffer | undefined
  /** A checkpoint has copied it to a partition. */
  isKept: boolean
}

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
  readonly #claims: Claim[] = []
  #claimCount = 0
  #done = 0
  #timer: Timer | undefined
  #wakeAtMs = Infinity
  #batch: Promise<void> | undefined
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
  }) {
    this.#platform = parts.platform
    this.#store = parts.store
    this.#window = parts.window
    this.#blocks = parts.blocks
    this.#publisher = parts.publisher
    this.#parked = parts.parked
    this.#fired = parts.fired
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
    if (this.#isStarted) this.#platform.timers.soon(() => this.wake())
  }

  /** Earliest deliver time that is claimed and not delivered; Infinity when none is. */
  get claimedDueMs(): number {
    const claim = this.#claims[this.#done]
    return this.#done < this.#claimCount && claim !== undefined ? claim.deliverTimeMs : Infinity
  }

  /** How many are claimed and not delivered. */
  get claimedCount(): number {
    return this.#claimCount - this.#done
  }

  /**
   * For a snapshot: hands each claimed message that is not delivered and is nowhere but in the log
   * to `keep`, once. They have left the window.
   */
  async keepClaimed(keep: (claim: Readonly<Claim>) => Promise<void>): Promise<void> {
    for (const claim of this.#claims.slice(this.#done, this.#claimCount)) {
      if (claim.block !== LOG_BLOCK || claim.isKept) continue
      await keep(claim)
      claim.isKept = true
    }
  }

  /** Something is due at `timeMs`: makes sure to be awake then. */
  wakeBy(timeMs: number): void {
    if (timeMs >= this.#wakeAtMs) return
    this.#timer?.cancel()
    this.#wakeAtMs = timeMs
    this.#timer = this.#platform.timers.at(timeMs, () => this.wake())
  }

  /** Fires what is due now, then sleeps until the next. */
  wake(): void {
    this.#timer?.cancel()
    this.#wakeAtMs = Infinity
    if (!this.#isStarted || this.#isPaused || this.#batch !== undefined) return
    if (this.#done === this.#claimCount && !this.#claimBatch()) return
    if (this.#isAllAtHand()) {
      this.#deliverClaims()
      this.#continue()
      return
    }
    this.#batch = this.#readCold()
      .then(() => this.#deliverClaims())
      .catch((error: unknown) => {
        this.#platform.log.error('due messages could not be read; it is tried again', error)
      })
      .finally(() => {
        this.#batch = undefined
        this.#continue()
      })
  }

  #continue(): void {
    if (!this.#isStarted || this.#isPaused) return
    if (this.#done < this.#claimCount) {
      this.#platform.timers.after(BUSY_PAUSE_MS, () => this.wake())
    } else {
      this.#platform.timers.soon(() => this.wake())
    }
  }

  /** Claims what is due; when that is nothing, goes to sleep until something is. */
  #claimBatch(): boolean {
    this.#claimCount = 0
    this.#done = 0
    if (this.#publisher.isCongested) {
      this.#platform.timers.after(BUSY_PAUSE_MS, () => this.wake())
      return false
    }
    const nowMs = this.#platform.clock.timeMs()
    this.#window.takeDue(nowMs, BATCH_COUNT_MAX, slot => this.#claim(slot))
    if (this.#claimCount > 0) return true
    const nextMs = this.#window.nextDueMs()
    if (nextMs !== Infinity) this.wakeBy(nextMs)
    return false
  }

  #claim(slot: number): void {
    let claim = this.#claims[this.#claimCount]
    if (claim === undefined) {
      claim = {
        deliverTimeMs: 0,
        timerId: 0,
        sizeBytes: 0,
        block: 0,
        position: 0,
        cold: undefined,
        isKept: false,
      }
      this.#claims.push(claim)
    }
    claim.deliverTimeMs = this.#window.deliverTimeMs(slot)
    claim.timerId = this.#window.timerId(slot)
    claim.sizeBytes = this.#window.sizeBytes(slot)
    claim.block = this.#window.block(slot)
    claim.position = this.#window.position(slot)
    claim.cold = undefined
    claim.isKept = false
    this.#claimCount++
  }

  #isAllAtHand(): boolean {
    for (let index = this.#done; index < this.#claimCount; index++) {
      const claim = this.#claims[index]
      if (claim !== undefined && this.#isCold(claim)) return false
    }
    return true
  }

  #isCold(claim: Claim): boolean {
    if (claim.cold !== undefined) return false
    if (claim.block === PARKED_BLOCK) return true
    return claim.block === LOG_BLOCK && !this.#store.log.isInMemory(claim.timerId)
  }

  async #readCold(): Promise<void> {
    for (let index = this.#done; index < this.#claimCount; index++) {
      const claim = this.#claims[index]
      if (claim === undefined || !this.#isCold(claim)) continue
      if (claim.block === PARKED_BLOCK) {
        claim.cold = await this.#parked.readLate(claim.timerId)
        continue
      }
      const record = Buffer.allocUnsafe(claim.sizeBytes)
      const got = await this.#store.log.read(record, claim.timerId)
      claim.cold = record.subarray(0, got)
    }
  }

  /** Delivers claims in order until all are done or the log is busy. */
  #deliverClaims(): void {
    while (this.#done < this.#claimCount) {
      const claim = this.#claims[this.#done]
      if (claim === undefined || !this.#deliver(claim)) return
      if (claim.block !== LOG_BLOCK && claim.block !== PARKED_BLOCK) {
        this.#blocks.release(claim.block)
      }
      claim.cold = undefined
      this.#done++
    }
  }

  /** Returns false when the log is busy or the bytes have left the log's memory meanwhile. */
  #deliver(claim: Claim): boolean {
    if (this.#fired.take(claim.timerId)) {
      this.#parked.lateDone(claim.timerId)
      return true
    }
    if (this.#isCold(claim)) return false
    const { source, position } = this.#bytesOf(claim)
    if (claim.cold !== undefined && checkRecord(source, 0, source.length).kind !== 'record') {
      this.#lost(claim)
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
    if (claim.block === LOG_BLOCK) {
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
