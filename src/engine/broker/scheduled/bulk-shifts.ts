import {
  BrokerError,
  type ErrorCode,
  errorSpecs,
  operatingError,
} from '../../../core/base/index.ts'
import { type Log, pause, type Timers } from '../../../core/platform/index.ts'
import type { ChangeCount } from '../../../model/schedule/index.ts'
import {
  type BulkJob,
  covers,
  type ListedMessage,
  type ListPosition,
  type ListStep,
  type WaitingQuery,
} from '../../timer/index.ts'
import type { ScheduledStore } from './scheduled-parts.ts'

/** Messages that are moved at the same time, at most; a step of the list bounds their bytes. */
const MOVED_AT_ONCE = 256
/** Pause after the store had no room, or a read failed. */
const PAUSE_MS = 500
/** So often a message is tried that cannot be moved for a reason of its own. */
const TRIES_MAX = 10
/** What is no matter of one message, and passes. */
const ROOM_IS_SHORT: ReadonlySet<ErrorCode> = new Set(['STORE_BUSY', 'STORE_FULL'])

/** Moves a message if it still waits where it was listed. See `ScheduledMessages.shift`. */
export type ShiftOne = (message: ListedMessage, shiftMs: number) => Promise<'shifted' | 'gone'>

/** See `TimerStores.list`. */
type ListWaiting = (
  query: WaitingQuery,
  after: ListPosition | undefined,
  countMax: number,
) => Promise<ListStep>

interface BulkShiftsParts {
  readonly list: ListWaiting
  readonly store: Pick<ScheduledStore, 'failure'>
  readonly platform: { readonly timers: Timers; readonly log: Log }
  readonly shiftOne: ShiftOne
}

/** One change, and how far it is. */
interface Shift {
  readonly job: BulkJob
  readonly shiftMs: number
  readonly query: WaitingQuery
  next: ListPosition | undefined
  /** How many messages were left as they are, by the error that each met. */
  readonly refused: Map<ErrorCode, number>
  /** It has said that it waits, and has not gone on since. */
  isWaiting: boolean
  readonly resolve: (count: ChangeCount) => void
  readonly reject: (error: unknown) => void
}

/**
 * Carries out shifts by filter, one at a time in the order of the log: each moves message by message.
 * One whose messages cannot be read now is tried again behind the others.
 */
export class BulkShifts {
  readonly #parts: BulkShiftsParts
  readonly #line: Shift[] = []
  #running: Promise<void> | undefined
  #isStopped = false

  constructor(parts: BulkShiftsParts) {
    this.#parts = parts
  }

  /** Resolves when it is carried out. Errors: SHUTTING_DOWN, STORE_FAILED; the next start goes on. */
  run(job: BulkJob, shiftMs: number): Promise<ChangeCount> {
    if (this.#isStopped) return Promise.reject(new BrokerError('SHUTTING_DOWN'))
    const { fromMs = 0, toMs = Number.MAX_SAFE_INTEGER } = job.order.filter
    const query: WaitingQuery = {
      fromMs,
      toMs,
      isParked: undefined,
      matches: (source, position, ref) => covers(job, ref, source, position),
    }
    const begun = { job, shiftMs, query, next: undefined, refused: new Map(), isWaiting: false }
    return new Promise((resolve, reject) => {
      this.#line.push({ ...begun, resolve, reject })
      this.#running ??= this.#runAll()
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
  }

  async #runAll(): Promise<void> {
    for (let shift = this.#line.shift(); shift !== undefined; shift = this.#line.shift()) {
      try {
        if (await this.#isCarriedOut(shift)) this.#done(shift)
        else this.#line.push(shift)
      } catch (error) {
        shift.reject(error)
      }
    }
    // In the step in which the line is empty: what comes next begins anew.
    this.#running = undefined
  }

  /** False when its messages cannot be listed now. */
  async #isCarriedOut(shift: Shift): Promise<boolean> {
    do {
      const step = await this.#step(shift)
      if (step === undefined) return false
      const moving = step.messages.map(message => this.#move(shift, message))
      // All of them, before the next step or the end.
      const outcomes = await Promise.allSettled(moving)
      const failure = outcomes.find(outcome => outcome.status === 'rejected')
      if (failure !== undefined) throw failure.reason
      shift.next = step.next
    } while (shift.next !== undefined)
    return true
  }

  async #step(shift: Shift): Promise<ListStep | undefined> {
    this.#checkGoesOn()
    try {
      const step = await this.#parts.list(shift.query, shift.next, MOVED_AT_ONCE)
      shift.isWaiting = false
      return step
    } catch (error) {
      await this.#pause(shift, this.#codeOf(error))
      return undefined
    }
  }

  async #move(shift: Shift, message: ListedMessage): Promise<void> {
    for (let tries = 1; ; tries++) {
      this.#checkGoesOn()
      try {
        const outcome = await this.#parts.shiftOne(message, shift.shiftMs)
        if (outcome === 'shifted') shift.job.count++
        return
      } catch (error) {
        const code = this.#codeOf(error)
        const isOfMessage = !ROOM_IS_SHORT.has(code)
        if (!errorSpecs[code].retryable || (isOfMessage && tries >= TRIES_MAX)) {
          shift.refused.set(code, (shift.refused.get(code) ?? 0) + 1)
          return
        }
        await this.#pause(shift, code)
      }
    }
  }

  /** Throws what ends the shift, until the next start. */
  #codeOf(error: unknown): ErrorCode {
    const { code } = operatingError(error)
    if (code === 'SHUTTING_DOWN') throw error
    this.#checkGoesOn()
    return code
  }

  async #pause(shift: Shift, code: ErrorCode): Promise<void> {
    const { log, timers } = this.#parts.platform
    const { offset } = shift.job
    if (!shift.isWaiting) log.warn('a shift by filter waits', { offset, code })
    shift.isWaiting = true
    await pause(timers, PAUSE_MS)
  }

  #checkGoesOn(): void {
    if (this.#isStopped) throw new BrokerError('SHUTTING_DOWN')
    const { failure } = this.#parts.store
    if (failure !== undefined) throw failure
  }

  #done({ job, refused, resolve }: Shift): void {
    job.isDone = true
    const refusedCount = [...refused.values()].reduce((sum, count) => sum + count, 0)
    if (refusedCount > 0) {
      const fields = { offset: job.offset, refusedCount, ...Object.fromEntries(refused) }
      this.#parts.platform.log.warn('a shift by filter has left messages as they were', fields)
    }
    resolve({ changedCount: job.count, refusedCount })
  }
}
