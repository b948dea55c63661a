import type { Platform } from '../../../core/platform/index.ts'
import { checkRecord } from '../../../model/message/index.ts'
import type { Store } from '../../store/index.ts'
import type { BulkChanges } from '../bulk-changes.ts'
import type { FiredIds } from '../fired-ids.ts'
import type { ParkedStore } from '../parked/parked-store.ts'
import type { PendingRemovals } from '../pending-removals.ts'
import type { Publisher } from '../publisher.ts'
import type { RecoveredRemovals } from '../recovered-removals.ts'
import type { Claim } from './claim.ts'
import { ColdReader } from './cold-reader.ts'
import type { FiredAhead } from './fired-ahead.ts'
import type { LoadedBlocks } from './loaded-blocks.ts'
import type { Overdue } from './overdue.ts'
import { IN_LOG, LOG_BLOCK, PARKED_BLOCK, type Window } from './window.ts'

/** Copies a message that only the log has; returns its block. */
export type Keep = (claim: Readonly<Claim>, at: { source: Buffer; position: number }) => number

/**
 * What becomes of a claimed message: it is delivered, parked when its topic refuses it, passed over
 * when it was removed, put back when the clock went back.
 */
export class Delivery {
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
  #lostCount = 0

  constructor(parts: DeliveryParts) {
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

  /** Messages whose bytes are damaged. */
  get lostCount(): number {
    return this.#lostCount
  }

  isCold(claim: Readonly<Claim>): boolean {
    return this.#cold.isCold(claim)
  }

  /** See `ColdReader.readStep`. */
  readCold(claims: readonly Claim[]): Promise<readonly Claim[]> {
    return this.#cold.readStep(claims)
  }

  /** Does with a claimed message what there is to do; false when that cannot be done now. */
  settle(claim: Claim, nowMs: number): boolean {
    const removal = this.#removals.find(claim.timerId)
    // Decided, and not durable yet: it is neither delivered nor passed over.
    if (removal?.isApplied === false) return false
    if (claim.isRemoved || removal !== undefined) {
      this.#passOver(claim)
    } else if (claim.deliverTimeMs > nowMs) {
      return this.#putBack(claim)
    } else {
      if (!this.#deliver(claim)) return false
      this.#done(claim)
    }
    return true
  }

  #passOver(claim: Claim): void {
    this.#removals.forget(claim.timerId)
    this.#parked.lateDone(claim.timerId)
    this.#done(claim)
  }

  #done(claim: Claim): void {
    if (claim.block === LOG_BLOCK || claim.block === PARKED_BLOCK) return
    this.#ahead.push(claim, this.#blocks.release(claim.block))
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

export interface DeliveryParts {
  readonly platform: Platform
  readonly store: Store
  readonly window: Window
  readonly blocks: LoadedBlocks
  readonly publisher: Publisher
  readonly parked: ParkedStore
  readonly fired: FiredIds
  readonly recovered: RecoveredRemovals
  readonly removals: PendingRemovals
  readonly bulk: BulkChanges
  readonly ahead: FiredAhead
  readonly overdue: Overdue
  /** Makes a claimed message that goes back to the window independent of the log. */
  readonly keep: Keep
}
