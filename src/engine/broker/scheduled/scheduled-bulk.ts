import { BrokerError, operatingError } from '../../../core/base/index.ts'
import type { Clock, Log, Timers } from '../../../core/platform/index.ts'
import { TIMER_BULK_QUEUE, TIMER_TOPIC } from '../../../model/message/index.ts'
import type {
  BulkChange,
  BulkOrder,
  ChangeCount,
  ScheduleFilter,
} from '../../../model/schedule/index.ts'
import type { BulkJob, ListPosition, ListStep, WaitingQuery } from '../../timer/index.ts'
import { BulkShifts, type ShiftOne } from './bulk-shifts.ts'
import { bulkRecord } from './change-records.ts'
import { checkFilter } from './scheduled-lists.ts'
import type { ScheduledStore } from './scheduled-parts.ts'

/** Changes by filter that are not carried out yet. */
export const BULK_CHANGES_MAX = 1_000

/** What is asked of the timers. See `TimerStores`. */
export interface BulkTimers {
  readonly bulkJobs: readonly BulkJob[]
  beginBulk(offset: number, order: BulkOrder): BulkJob
  whenSwept(job: BulkJob): Promise<void>
  list(query: WaitingQuery, after: ListPosition | undefined, countMax: number): Promise<ListStep>
}

/**
 * Changes of all waiting messages that a filter means. One log record says what is meant; messages
 * accepted or moved behind it are not. A cancel holds from the moment the record is durable. A shift
 * goes on after a restart: what was moved has a later timer id.
 */
export class ScheduledBulk {
  readonly #parts: {
    readonly timers: BulkTimers
    readonly store: ScheduledStore
    readonly platform: { readonly clock: Clock; readonly timers: Timers; readonly log: Log }
    readonly storeHost: Buffer
    readonly delayMsMax: number
    readonly count: (filter: ScheduleFilter) => Promise<number>
  }
  readonly #shifts: BulkShifts

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
    const { timers, store, platform, shiftOne } = parts
    this.#shifts = new BulkShifts({
      list: (query, after, countMax) => timers.list(query, after, countMax),
      store,
      platform,
      shiftOne,
    })
  }

  /** Goes on with shifts that an earlier start has left. */
  start(): void {
    for (const job of this.#parts.timers.bulkJobs) {
      const { change } = job.order
      if (change.kind !== 'shift') continue
      void this.#shifts.run(job, change.shiftMs).then(count => {
        this.#parts.platform.log.info('a shift by filter is carried out', { ...count })
      }, ignoreStop)
    }
  }

  stop(): Promise<void> {
    return this.#shifts.stop()
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
    if (change.kind === 'shift') return this.#shifts.run(job, change.shiftMs)
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
}

function ignoreStop(error: unknown): void {
  operatingError(error)
}
