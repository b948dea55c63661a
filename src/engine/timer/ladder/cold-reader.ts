import { assert, operatingError } from '../../../core/base/index.ts'
import type { Log } from '../../../core/platform/index.ts'
import type { Store } from '../../store/index.ts'
import type { ParkedStore } from '../parked/parked-store.ts'
import type { Claim } from './claim.ts'
import { IN_LOG, PARKED_BLOCK } from './window.ts'

/** Messages nearer to each other in the log than this are read together. */
const GAP_BYTES_MAX = 16 * 1024
const RUN_BYTES_MAX = 1024 * 1024
/** Memory for what is read at once, the gaps between messages included. */
const STEP_BYTES_MAX = 4 * 1024 * 1024

/** Reads the bytes of claimed messages that are on disk only. */
export class ColdReader {
  readonly #store: Store
  readonly #parked: ParkedStore
  readonly #log: Log

  constructor(parts: { store: Store; parked: ParkedStore; log: Log }) {
    this.#store = parts.store
    this.#parked = parts.parked
    this.#log = parts.log
  }

  isCold(claim: Readonly<Claim>): boolean {
    if (claim.isAside || claim.isRemoved || claim.cold !== undefined) return false
    if (claim.block === PARKED_BLOCK) return true
    return claim.position === IN_LOG && !this.#store.log.isInMemory(claim.timerId)
  }

  /**
   * Reads the first cold ones of `claims`, which are in the order of delivery: as many as memory
   * should hold until they are delivered, and at least one. Returns those that could not be read.
   */
  async readStep(claims: readonly Claim[]): Promise<readonly Claim[]> {
    const step = this.#stepOf(claims)
    const failed: Claim[] = []
    for (const claim of step) {
      if (claim.block !== PARKED_BLOCK) continue
      await this.#guarded([claim], failed, () => this.#readParked(claim))
    }
    const inLog = step.filter(claim => claim.block !== PARKED_BLOCK)
    inLog.sort((a, b) => a.timerId - b.timerId)
    for (let first = 0, end = 0; first < inLog.length; first = end) {
      end = endOfRun(inLog, first)
      const run = inLog.slice(first, end)
      await this.#guarded(run, failed, () => this.#readRun(run))
    }
    return failed
  }

  /** What earlier steps have read and is not delivered yet counts too. */
  #stepOf(claims: readonly Claim[]): Claim[] {
    const step: Claim[] = []
    let bytes = 0
    for (const claim of claims) {
      const isCold = this.isCold(claim)
      if (!isCold && claim.cold === undefined) continue
      bytes += claim.sizeBytes + GAP_BYTES_MAX
      if (bytes > STEP_BYTES_MAX && step.length > 0) break
      if (isCold) step.push(claim)
    }
    return step
  }

  async #readParked(claim: Claim): Promise<void> {
    const record = await this.#parked.readLate(claim.timerId)
    // Removed meanwhile: nobody needs it.
    if (claim.isRemoved) return
    assert(record !== undefined, 'what is kept late has a place')
    claim.cold = record
  }

  /** Reads messages that lie near each other in the log. */
  async #readRun(run: readonly Claim[]): Promise<void> {
    const start = run[0]?.timerId ?? 0
    const last = run.at(-1)
    const bytes = Buffer.allocUnsafe((last?.timerId ?? start) + (last?.sizeBytes ?? 0) - start)
    const got = await this.#store.log.read(bytes, start)
    for (const claim of run) {
      const from = Math.min(got, claim.timerId - start)
      claim.cold = bytes.subarray(from, Math.min(got, from + claim.sizeBytes))
    }
  }

  async #guarded(
    claims: readonly Claim[],
    failed: Claim[],
    read: () => Promise<void>,
  ): Promise<void> {
    try {
      await read()
    } catch (error) {
      const facts = { commitLogOffset: claims[0]?.timerId ?? 0, count: claims.length }
      const reason = operatingError(error)
      this.#log.error('due messages could not be read; it is tried again', reason, facts)
      failed.push(...claims)
    }
  }
}

function endOfRun(claims: readonly Claim[], first: number): number {
  const start = claims[first]?.timerId ?? 0
  let endOffset = start
  let index = first
  for (; index < claims.length; index++) {
    const claim = claims[index]
    if (claim === undefined) break
    const nextEnd = claim.timerId + claim.sizeBytes
    const isNear = claim.timerId - endOffset <= GAP_BYTES_MAX && nextEnd - start <= RUN_BYTES_MAX
    if (index > first && !isNear) break
    endOffset = nextEnd
  }
  return index
}
