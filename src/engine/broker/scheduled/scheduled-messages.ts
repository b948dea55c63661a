import { BrokerError } from '../../../core/base/index.ts'
import type { Clock } from '../../../core/platform/index.ts'
import {
  recordTopic,
  TIMER_CANCEL_QUEUE,
  TIMER_MOVE_QUEUE,
  TIMER_TOPIC,
  type RecordDraft,
} from '../../../model/message/index.ts'
import {
  type CancelResult,
  checkedDeliverTime,
  type DelayLimits,
  type MessageRef,
  type MoveResult,
  type ScheduledState,
  type SchedulePort,
  type WholeMessage,
} from '../../../model/schedule/index.ts'
import type { ConsumeQueue } from '../../store/index.ts'
import type { ListedMessage, NewRemoval, TimerRef, TimerState } from '../../timer/index.ts'
import { cancelRecord, moveRecord } from './change-records.ts'
import { wholeMessage } from './scheduled-message.ts'
import {
  type AcceptSearch,
  handleOf,
  handleOfRecord,
  isOf,
  ownHandle,
  type OwnHandle,
  type HandleSearch,
} from './own-handle.ts'

/** What is asked of the timers. See `TimerStores`. */
export interface ScheduledTimers extends Pick<HandleSearch, 'list'> {
  find<Result>(ref: TimerRef, decide: (state: TimerState) => Result): Promise<Result>
  beginRemoval(removal: NewRemoval): void
  movedTo(firstTimerId: number): Promise<TimerRef | undefined>
}

/** What is asked of the store. */
export interface ScheduledStore {
  queue(topic: string, queueId: number): ConsumeQueue
  append(draft: RecordDraft, queue: ConsumeQueue, tagsCode: number, storeTimeMs: number): number
  /** See `Store.appendDue`: also while space is low, since cancelling makes room. */
  appendDue(draft: RecordDraft, queue: ConsumeQueue, tagsCode: number, storeTimeMs: number): number
  readRecord(commitLogOffset: number): Promise<Buffer | undefined>
  whenApplied(commitLogOffset: number): Promise<void>
}

type Waiting = Extract<TimerState, { kind: 'waiting' }>

/** Decided in the step of the look. */
type Decision<Change> =
  /** Appended; it counts once the record at `changeOffset` is durable. */
  | { readonly kind: 'changed'; readonly change: Change; readonly changeOffset: number }
  /** Somebody else has decided to cancel it. */
  | { readonly kind: 'cancelling'; readonly changeOffset: number }
  /** Somebody else moves it: it is to be looked for again when that is done. */
  | { readonly kind: 'moving'; readonly changeOffset: number }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'too-late' }
  | { readonly kind: 'unknown' }
  /** It does not wait there: whether it ever did is in the log. */
  | { readonly kind: 'absent' }

/** Of the newest cancels, and at once; each takes 20 bytes. */
const CANCELS_LOOKED_AT_MAX = 1_000_000
const CANCELS_READ_COUNT = 10_000

/** Of single messages that are shifted with others. */
const REFUSALS: ReadonlySet<string> = new Set(['DELIVER_TIME_TOO_FAR', 'PROPERTIES_TOO_LARGE'])
const SCHEDULED: ScheduledState = 'scheduled'
const PARKED: ScheduledState = 'parked'

type Outcome<Change> =
  | { readonly kind: 'changed'; readonly change: Change }
  | { readonly kind: 'cancelled' | 'too-late' | 'unknown' }

/** What users do with single waiting messages, on the ladder. */
export class ScheduledMessages implements Pick<SchedulePort, 'cancel' | 'move' | 'find'> {
  readonly #timers: ScheduledTimers
  readonly #store: ScheduledStore
  readonly #clock: Clock
  readonly #brokerName: string
  readonly #storeHost: Buffer
  readonly #limits: DelayLimits
  readonly #search: HandleSearch

  constructor(parts: {
    timers: ScheduledTimers
    store: ScheduledStore
    clock: Clock
    brokerName: string
    /** As in `PutOptions`. */
    storeHost: Buffer
    limits: DelayLimits
    /** Of the log: finds what Apache's handles name. */
    index: AcceptSearch | undefined
  }) {
    this.#timers = parts.timers
    this.#store = parts.store
    this.#clock = parts.clock
    this.#brokerName = parts.brokerName
    this.#storeHost = parts.storeHost
    this.#limits = parts.limits
    const { timers, index } = parts
    this.#search = { index, list: (...asked) => timers.list(...asked) }
  }

  async cancel(ref: MessageRef): Promise<CancelResult> {
    const outcome = await this.#change(ref, (handle, at, { place }) => {
      return this.#appendCancel(handle, at, place)
    })
    return outcome.kind === 'changed' ? 'cancelled' : outcome.kind
  }

  async move(ref: MessageRef, deliverTimeMs: number): Promise<MoveResult> {
    checkedDeliverTime(deliverTimeMs, this.#clock.timeMs(), this.#limits)
    const outcome = await this.#change(ref, (handle, at, waiting) => {
      return this.#appendMove(handle, at, { waiting, deliverTimeMs })
    })
    if (outcome.kind !== 'changed') return { kind: outcome.kind }
    return { kind: 'moved', deliverTimeMs: outcome.change }
  }

  async find(ref: MessageRef): Promise<WholeMessage | undefined> {
    const handle = await this.#handleOf(ref)
    if (handle === undefined) return undefined
    for (;;) {
      const at = (await this.#timers.movedTo(handle.timerId)) ?? handle
      const found = await this.#timers.find(at, state => {
        if (state.kind === 'removing') return { kind: state.kind, after: state.changeOffset }
        if (state.kind !== 'waiting' || !isOf(handle, state.record)) return { kind: state.kind }
        const { record, isRefused } = state
        const whole = { ...at, record, state: isRefused ? PARKED : SCHEDULED }
        return { kind: state.kind, message: wholeMessage(whole, this.#brokerName) }
      })
      if (found.message !== undefined) return found.message
      if (found.after !== undefined) {
        await this.#store.whenApplied(found.after)
        continue
      }
      if (found.kind !== 'absent' || !(await this.#hasMoved(handle, at))) return undefined
    }
  }

  /**
   * Moves a message by so much if it still waits where it was listed: `refused` beyond the longest
   * delay, or when it could not hold what a move adds. Errors: those of the store.
   */
  async shift(message: ListedMessage, shiftMs: number): Promise<'shifted' | 'gone' | 'refused'> {
    const handle = handleOfRecord(message, message.record, this.#brokerName)
    const deliverTimeMs = message.deliverTimeMs + shiftMs
    try {
      const changeOffset = await this.#timers.find(message, state => {
        if (state.kind !== 'waiting') return undefined
        const when = {
          waiting: state,
          deliverTimeMs: Math.max(this.#clock.timeMs(), deliverTimeMs),
        }
        return this.#appendMove(handle, message, when).changeOffset
      })
      if (changeOffset === undefined) return 'gone'
      await this.#store.whenApplied(changeOffset)
      return 'shifted'
    } catch (error) {
      if (error instanceof BrokerError && REFUSALS.has(error.code)) return 'refused'
      throw error
    }
  }

  /** The handle as we make it; undefined when the message cannot be one of ours. */
  #handleOf(ref: MessageRef): Promise<OwnHandle | undefined> {
    const asked = handleOf(ref.id)
    if (asked.brokerName !== this.#brokerName) return Promise.resolve(undefined)
    return ownHandle(asked, this.#search)
  }

  /** Looks for the message and, when it waits, changes it with `append` in the same step. */
  async #change<Change>(
    ref: MessageRef,
    append: (
      handle: OwnHandle,
      at: TimerRef,
      waiting: Waiting,
    ) => { change: Change; changeOffset: number },
  ): Promise<Outcome<Change>> {
    const handle = await this.#handleOf(ref)
    if (handle === undefined) return { kind: 'unknown' }
    for (;;) {
      const at = (await this.#timers.movedTo(handle.timerId)) ?? handle
      const decision = await this.#timers.find(at, (state): Decision<Change> => {
        if (state.kind !== 'waiting') return decisionOn(state)
        if (!isOf(handle, state.record)) return { kind: 'unknown' }
        return { kind: 'changed', ...append(handle, at, state) }
      })
      if (decision.kind === 'changed') {
        await this.#store.whenApplied(decision.changeOffset)
        return decision
      }
      if (decision.kind === 'moving') {
        await this.#store.whenApplied(decision.changeOffset)
        continue
      }
      if (decision.kind === 'absent' && (await this.#hasMoved(handle, at))) continue
      if (decision.kind === 'cancelling') await this.#store.whenApplied(decision.changeOffset)
      return { kind: await this.#resultOf(decision.kind, handle, at) }
    }
  }

  /** Somebody moved it between the look at where it is and the look there. */
  async #hasMoved(handle: OwnHandle, from: TimerRef): Promise<boolean> {
    const now = await this.#timers.movedTo(handle.timerId)
    return now !== undefined && now.timerId !== from.timerId
  }

  #appendCancel(
    handle: OwnHandle,
    at: TimerRef,
    place: Waiting['place'],
  ): { change: undefined; changeOffset: number } {
    const { timerId } = at
    const nowMs = this.#clock.timeMs()
    const draft = cancelRecord(handle, at, { storeHost: this.#storeHost, nowMs })
    const queue = this.#store.queue(TIMER_TOPIC, TIMER_CANCEL_QUEUE)
    const changeOffset = this.#store.appendDue(draft, queue, timerId, nowMs)
    this.#timers.beginRemoval({ timerId, removal: 'cancelled', changeOffset, place })
    return { change: undefined, changeOffset }
  }

  #appendMove(
    handle: OwnHandle,
    at: TimerRef,
    { waiting, deliverTimeMs }: { waiting: Waiting; deliverTimeMs: number },
  ): { change: number; changeOffset: number } {
    const { timerId } = at
    const { record, place } = waiting
    const nowMs = this.#clock.timeMs()
    const change = checkedDeliverTime(deliverTimeMs, nowMs, this.#limits)
    const draft = moveRecord(handle, { at, record, deliverTimeMs: change }, this.#storeHost)
    const queue = this.#store.queue(TIMER_TOPIC, TIMER_MOVE_QUEUE)
    const changeOffset = this.#store.append(draft, queue, change, nowMs)
    this.#timers.beginRemoval({ timerId, removal: 'moved', changeOffset, place })
    return { change, changeOffset }
  }

  /** Of a message that does not wait. What the log has of it shows whether the handle is its own. */
  async #resultOf(
    kind: 'cancelling' | 'cancelled' | 'too-late' | 'unknown' | 'absent',
    handle: OwnHandle,
    at: TimerRef,
  ): Promise<'cancelled' | 'too-late' | 'unknown'> {
    const record = await this.#store.readRecord(handle.timerId)
    const isAccepted = record !== undefined && recordTopic(record, 0) === TIMER_TOPIC
    const isOwn = isAccepted && isOf(handle, record)
    if (record !== undefined && !isOwn) return 'unknown'
    if (kind === 'cancelling') return 'cancelled'
    if (kind !== 'absent') return kind
    if (!isOwn) return 'unknown'
    return (await this.#wasCancelled(at.timerId)) ? 'cancelled' : 'too-late'
  }

  /**
   * Whether the log has a record that cancels it, for what left no other trace: looked for from the
   * newest on, in the queue of such records, and back to where the message was accepted.
   */
  async #wasCancelled(timerId: number): Promise<boolean> {
    const queue = this.#store.queue(TIMER_TOPIC, TIMER_CANCEL_QUEUE)
    const last = Math.max(queue.minOffset, queue.maxOffset - CANCELS_LOOKED_AT_MAX)
    for (let end = queue.maxOffset; end > last;) {
      const from = Math.max(last, end - CANCELS_READ_COUNT)
      const units = await queue.readUnits(from, end - from)
      for (let index = units.count - 1; index >= 0; index--) {
        if (units.commitLogOffset(index) < timerId) return false
        if (units.tagsCode(index) === timerId) return true
      }
      end = from
    }
    return false
  }
}

/** The rule for what does not simply wait. */
function decisionOn(state: Exclude<TimerState, Waiting>): Decision<never> {
  switch (state.kind) {
    case 'removing': {
      const { removal, changeOffset } = state
      return { kind: removal === 'cancelled' ? 'cancelling' : 'moving', changeOffset }
    }
    case 'cancelled':
      return { kind: 'cancelled' }
    case 'claimed':
      return { kind: 'too-late' }
    case 'absent':
      return { kind: 'absent' }
  }
}
