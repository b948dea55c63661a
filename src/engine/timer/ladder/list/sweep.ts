import { BrokerError, operatingError } from '../../../../core/base/index.ts'
import { type Log, pause, type Timers } from '../../../../core/platform/index.ts'
import { type BulkChanges, type BulkJob, covers } from '../../bulk-changes.ts'
import type { WaitingPlace } from '../../pending-removals.ts'
import type { TimerRef } from '../chunk-search.ts'
import type { Finder } from '../finder.ts'
import type { Firing } from '../firing.ts'
import { LOG_BLOCK, PARKED_BLOCK, type Window } from '../window.ts'
import type { MetAt, WaitingWalk } from './waiting-walk.ts'

/** Pause before it is looked again whether what was claimed is delivered. */
const CLAIMED_PAUSE_MS = 20
/** Pause when nothing is left but what has failed. */
const FAILED_PAUSE_MS = 1_000

/**
 * Carries out cancels by filter: marks every message that one covers, where it lies, while other
 * work goes on. Until then the filter itself keeps them from being delivered.
 */
export class Sweep {
  readonly #parts: {
    readonly timers: Timers
    readonly log: Log
    readonly bulk: BulkChanges
    readonly walk: WaitingWalk
    readonly window: Window
    readonly firing: Firing
    readonly finder: Finder
    readonly remove: (ref: TimerRef, place: WaitingPlace) => boolean
  }
  readonly #waiters: { readonly job: BulkJob; readonly settle: (isDone: boolean) => void }[] = []
  #running: Promise<void> | undefined
  #isStopped = false

  constructor(parts: {
    timers: Timers
    log: Log
    bulk: BulkChanges
    walk: WaitingWalk
    window: Window
    firing: Firing
    finder: Finder
    /** Marks a message as cancelled; false when it was removed by somebody else. */
    remove: (ref: TimerRef, place: WaitingPlace) => boolean
  }) {
    this.#parts = parts
  }

  /** Begins to carry out what is applied, unless it does already. */
  start(): void {
    if (this.#running !== undefined || this.#isStopped) return
    this.#running = this.#sweepAll().finally(() => {
      this.#running = undefined
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
    for (const { settle } of this.#waiters.splice(0)) settle(false)
  }

  /** Resolves when the job is carried out. Errors: SHUTTING_DOWN; the next start carries it out. */
  async whenDone(job: BulkJob): Promise<void> {
    if (job.isDone) return
    const isDone =
      !this.#isStopped &&
      (await new Promise<boolean>(settle => {
        this.#waiters.push({ job, settle })
      }))
    if (!isDone) throw new BrokerError('SHUTTING_DOWN')
  }

  /** One after the other; one that cannot be carried out now is tried again behind the others. */
  async #sweepAll(): Promise<void> {
    const failed = new Set<BulkJob>()
    while (!this.#isStopped) {
      const jobs = this.#parts.bulk.active.filter(isToSweep)
      if (jobs.length === 0) return
      const job = jobs.find(each => !failed.has(each))
      if (job === undefined) {
        failed.clear()
        await pause(this.#parts.timers, FAILED_PAUSE_MS)
      } else if (!(await this.#isSwept(job))) {
        failed.add(job)
      }
    }
  }

  async #isSwept(job: BulkJob): Promise<boolean> {
    try {
      await this.#sweep(job)
      if (!this.#isStopped) this.#done(job)
      return true
    } catch (error) {
      const { offset } = job
      const message = 'a cancel by filter is not marked yet; it holds all the same'
      this.#parts.log.error(message, operatingError(error), { offset })
      return false
    }
  }

  #done(job: BulkJob): void {
    job.isDone = true
    const waiters = this.#waiters.splice(0)
    for (const waiter of waiters) {
      if (waiter.job === job) waiter.settle(true)
      else this.#waiters.push(waiter)
    }
  }

  async #sweep(job: BulkJob): Promise<void> {
    const { walk, firing } = this.#parts
    const { fromMs = 0, toMs = Infinity } = job.order.filter
    // They may come back to the window when the clock goes back.
    const claimed = firing.claims.refs()
    const matches = (source: Buffer, position: number, ref: TimerRef): boolean =>
      covers(job, ref, source, position)
    await walk.go(
      { fromMs, toMs, isParked: undefined, matches },
      {
        recounts: job.isRecovered,
        takeWhole: () => this.#isStopped,
        meetInSlot: (ref, slot) => this.#isStopped || this.#meetInSlot(job, ref, slot),
        meet: (ref, at) => (this.#isStopped ? undefined : this.#meet(job, ref, at)),
      },
    )
    for (const ref of claimed) {
      while (firing.claims.has(ref.timerId) && !this.#isStopped)
        await pause(this.#parts.timers, CLAIMED_PAUSE_MS)
      await this.#find(job, ref)
    }
  }

  #meetInSlot(job: BulkJob, ref: TimerRef, slot: number): boolean {
    const block = this.#parts.window.entries.block(slot)
    // It lies in a chunk, which has to be marked.
    if (block !== LOG_BLOCK && block !== PARKED_BLOCK) return false
    this.#remove(job, ref, { kind: 'parked' })
    return true
  }

  #meet(job: BulkJob, ref: TimerRef, at: MetAt): Promise<void> | void {
    if (at.kind === 'chunk') this.#remove(job, ref, at)
    else return this.#find(job, ref)
  }

  #find(job: BulkJob, ref: TimerRef): Promise<void> {
    return this.#parts.finder.findCovered(ref, (place, record) => {
      if (covers(job, ref, record, 0)) this.#remove(job, ref, place)
    })
  }

  #remove(job: BulkJob, ref: TimerRef, place: WaitingPlace): void {
    if (this.#parts.remove(ref, place)) job.count++
  }
}

function isToSweep({ isApplied, order }: BulkJob): boolean {
  return isApplied && order.change.kind === 'cancel'
}
