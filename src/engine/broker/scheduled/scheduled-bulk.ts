import { BrokerError } from '../../../core/base/index.ts'
import { type Clock, type Log, pause, type Timers } from '../../../core/platform/index.ts'
import { TIMER_BULK_QUEUE, TIMER_TOPIC } from '../../../model/message/index.ts'
import type {
  BulkChange,
  BulkOrder,
  ChangeCount,
  ScheduleFilter,
} from '../../../model/schedule/index.ts'
import {
  type BulkJob,
  covers,
  type ListedMessage,
  type ListPosition,
  type ListStep,
  type WaitingQuery,
} from '../../timer/index.ts'
import { bulkRecord } from './change-records.ts'
import { checkFilter } from './scheduled-lists.ts'
import type { ScheduledStore } from './scheduled-parts.ts'

/** Changes by filter that are not carried out yet. */
export const BULK_CHANGES_MAX = 1_000
/** Messages that are moved at the same time. */
const MOVED_AT_ONCE = 256
/** Pause after the store had no room, or a read failed. */
const PAUSE_MS = 500

/** What is asked of the timers. See `TimerStores`. */
export interface BulkTimers {
  readonly bulkJobs: readonly BulkJob[]
  beginBulk(offset: number, order: BulkOrder): BulkJob
  whenSwept(job: BulkJob): Promise<void>
  list(query: WaitingQuery, after: ListPosition | undefined, countMax: number): Promise<ListStep>
}

/** Moves a message if it still waits where it was listed. See `ScheduledMessages.shift`. */
export type ShiftOne = (
  message: ListedMessage,
  shiftMs: number,
) => Promise<'shifted' | 'gone' | 'refused'>

/**
 * Changes of all waiting messages that a filter means. One log record says what is meant; messages
 * accepted or moved behind it are not. A cancel holds from the moment the record is durable. A shift
 * moves message by message, and goes on after a restart: what was moved has a later timer id.
 */
export class ScheduledBulk {
  readonly #parts: {
    readonly timers: BulkTimers
    readonly store: ScheduledStore
    readonly platform: { readonly clock: Clock; readonly timers: Timers; readonly log: Log }
    readonly storeHost: Buffer
    readonly delayMsMax: number
    readonly count: (filter: ScheduleFilter) => Promise<number>
    readonly shiftOne: ShiftOne
  }
  readonly #running = new Set<Promise<ChangeCount>>()
  #isStopped = false

  constructor(parts: {
    timers: BulkTimers
    store: ScheduledStore
    platform: { clock: Clock; timers: Timers; log: Log }
    storeHost: Buffer
    delayMsMax: number
    count: (filter: ScheduleFilter) => Promise<number>
    shiftOne: ShiftOne
  }) {
    this.#parts = parts
  }

  /** Goes on with shifts that an earlier start has left. */
  start(): void {
    for (const job of this.#parts.timers.bulkJobs) {
      const { change } = job.order
      if (change.kind !== 'shift') continue
      void this.#shift(job, change.shiftMs).then(count => {
        this.#parts.platform.log.info('a shift by filter is carried out', { ...count })
      }, ignoreStop)
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.allSettled(this.#running)
  }

  /** See `SchedulePort.changeAll`. */
  async changeAll(
    filter: ScheduleFilter,
    change: BulkChange,
    dryRun: boolean,
  ): Promise<ChangeCount> {
    const { timers, store } = this.#parts
    this.#check(filter, change)
    if (dryRun) return { changedCount: await this.#parts.count(filter), refusedCount: 0 }
    if (timers.bulkJobs.length >= BULK_CHANGES_MAX) {
      throw new BrokerError('BULK_CHANGES_TOO_MANY', { countMax: BULK_CHANGES_MAX })
    }
    const job = this.#append({ filter, change })
    await store.whenApplied(job.offset)
    if (change.kind === 'shift') return this.#shift(job, change.shiftMs)
    await timers.whenSwept(job)
    return { changedCount: job.count, refusedCount: 0 }
  }

  #check(filter: ScheduleFilter, change: BulkChange): void {
    checkFilter(filter)
    if (filter.state !== undefined) {
      const problem = 'a change cannot ask for it: whether a message is parked changes by itself'
      throw new BrokerError('PARAMETER_INVALID', { field: 'state', problem })
    }
    const { delayMsMax } = this.#parts
    if (change.kind === 'cancel') return
    const { shiftMs } = change
    if (Number.isSafeInteger(shiftMs) && shiftMs !== 0 && Math.abs(shiftMs) <= delayMsMax) return
    const problem = `not a whole number other than 0, up to ${delayMsMax} either way`
    throw new BrokerError('PARAMETER_INVALID', { field: 'shiftMs', problem })
  }

  #append(order: BulkOrder): BulkJob {
    const { timers, store, storeHost, platform } = this.#parts
    const nowMs = platform.clock.timeMs()
    const queue = store.queue(TIMER_TOPIC, TIMER_BULK_QUEUE)
    const offset = store.appendDue(bulkRecord(order, { storeHost, nowMs }), queue, 0, nowMs)
    return timers.beginBulk(offset, order)
  }

  #shift(job: BulkJob, shiftMs: number): Promise<ChangeCount> {
    const shifting = this.#shiftAll(job, shiftMs).finally(() => this.#running.delete(shifting))
    this.#running.add(shifting)
    return shifting
  }

  /** Errors: SHUTTING_DOWN; the next start goes on. */
  async #shiftAll(job: BulkJob, shiftMs: number): Promise<ChangeCount> {
    const { fromMs = 0, toMs = Number.MAX_SAFE_INTEGER } = job.order.filter
    const query: WaitingQuery = {
      fromMs,
      toMs,
      isParked: undefined,
      matches: (source, position, ref) => covers(job, ref, source, position),
    }
    let refusedCount = 0
    let next: ListPosition | undefined
    do {
      const step = await this.#trying(() => this.#parts.timers.list(query, next, MOVED_AT_ONCE))
      const outcomes = await Promise.all(
        step.messages.map(message => this.#trying(() => this.#parts.shiftOne(message, shiftMs))),
      )
      job.count += outcomes.filter(outcome => outcome === 'shifted').length
      refusedCount += outcomes.filter(outcome => outcome === 'refused').length
      next = step.next
    } while (next !== undefined)
    job.isDone = true
    return { changedCount: job.count, refusedCount }
  }

  /** Tries again when the store has no room or a read has failed. */
  async #trying<Result>(work: () => Promise<Result>): Promise<Result> {
    for (;;) {
      if (this.#isStopped) throw new BrokerError('SHUTTING_DOWN')
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof BrokerError) || error.code === 'SHUTTING_DOWN') throw error
        this.#parts.platform.log.warn('a shift by filter waits', { code: error.code })
        await pause(this.#parts.platform.timers, PAUSE_MS)
      }
    }
  }
}

function ignoreStop(error: unknown): void {
  if (!(error instanceof BrokerError)) throw error
}
