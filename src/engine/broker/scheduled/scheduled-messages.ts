import type { Gate } from '../../../core/base/index.ts'
import type { Clock } from '../../../core/platform/index.ts'
import { TIMER_CANCEL_QUEUE, TIMER_MOVE_QUEUE, TIMER_TOPIC } from '../../../model/message/index.ts'
import {
  type CancelResult,
  checkAskedText,
  checkedDeliverTime,
  checkOwnKey,
  type DelayLimits,
  type MessageRef,
  type MoveResult,
  type ScheduledState,
  type SchedulePort,
  type WholeMessage,
} from '../../../model/schedule/index.ts'
import type { ListedMessage, TimerRef, TimerState } from '../../timer/index.ts'
import type { LogTrace } from './cancelled-before.ts'
import { cancelRecord, moveRecord } from './change-records.ts'
import { IdTarget } from './id-target.ts'
import { KeyTarget } from './key-target.ts'
import {
  type AcceptSearch,
  handleOf,
  handleOfRecord,
  type HandleSearch,
  ownHandle,
} from './own-handle.ts'
import { wholeMessage } from './scheduled-message.ts'
import type { ScheduledStore, ScheduledTimers, Waiting } from './scheduled-parts.ts'
import type { Refusal, Target } from './target.ts'

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
  /** What was looked up is out of date. */
  | { readonly kind: 'again' }

const SCHEDULED: ScheduledState = 'scheduled'
const PARKED: ScheduledState = 'parked'

type Outcome<Change> =
  | { readonly kind: 'changed'; readonly change: Change }
  | { readonly kind: Refusal }

/** What users do with single waiting messages, on the ladder. */
export class ScheduledMessages implements Pick<SchedulePort, 'cancel' | 'move' | 'find'> {
  readonly #timers: ScheduledTimers
  readonly #store: ScheduledStore
  readonly #clock: Clock
  readonly #brokerName: string
  readonly #storeHost: Buffer
  readonly #limits: DelayLimits
  readonly #search: HandleSearch
  readonly #log: LogTrace

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
    /** That of `listGate`. */
    gate: Gate
  }) {
    this.#timers = parts.timers
    this.#store = parts.store
    this.#clock = parts.clock
    this.#brokerName = parts.brokerName
    this.#storeHost = parts.storeHost
    this.#limits = parts.limits
    const { timers, index, gate } = parts
    this.#log = { store: parts.store, index }
    this.#search = { index, list: (...asked) => timers.list(...asked), gate }
  }

  /** See `SchedulePort.cancel`. */
  async cancel(ref: MessageRef): Promise<CancelResult> {
    const outcome = await this.#change(ref, (at, waiting) => this.#appendCancel(at, waiting))
    return outcome.kind === 'changed' ? 'cancelled' : outcome.kind
  }

  /** See `SchedulePort.move`. */
  async move(ref: MessageRef, deliverTimeMs: number): Promise<MoveResult> {
    checkedDeliverTime(deliverTimeMs, this.#clock.timeMs(), this.#limits)
    const outcome = await this.#change(ref, (at, waiting) => {
      return this.#appendMove(at, waiting, deliverTimeMs)
    })
    if (outcome.kind !== 'changed') return { kind: outcome.kind }
    return { kind: 'moved', deliverTimeMs: outcome.change }
  }

  /** See `SchedulePort.find`. */
  async find(ref: MessageRef): Promise<WholeMessage | undefined> {
    const target = await this.#targetOf(ref)
    if (target === undefined) return undefined
    for (;;) {
      const at = await target.locate()
      if (at === undefined) return undefined
      const found = await this.#timers.find(at, state => {
        if (!target.isCurrent()) return { kind: 'again' }
        if (state.kind === 'removing') return { kind: state.kind, after: state.changeOffset }
        if (state.kind !== 'waiting' || !target.isMeant(state.record)) return { kind: state.kind }
        const { record, isRefused } = state
        const whole = { ...at, record, state: isRefused ? PARKED : SCHEDULED }
        return { kind: state.kind, message: wholeMessage(whole, this.#brokerName) }
      })
      if (found.message !== undefined) return found.message
      if (found.after !== undefined) await this.#store.whenApplied(found.after)
      else if (found.kind === 'again') continue
      else if (found.kind !== 'absent' || !(await target.hasMoved(at))) return undefined
    }
  }

  /**
   * Moves a message by so much if it still waits where it was listed. Errors: those of the store;
   * DELIVER_TIME_TOO_FAR; PROPERTIES_TOO_LARGE when it cannot hold what a move adds.
   */
  async shift(message: ListedMessage, shiftMs: number): Promise<'shifted' | 'gone'> {
    const deliverTimeMs = message.deliverTimeMs + shiftMs
    const changeOffset = await this.#timers.find(message, state => {
      if (state.kind !== 'waiting') return undefined
      const atMs = Math.max(this.#clock.timeMs(), deliverTimeMs)
      return this.#appendMove(message, state, atMs).changeOffset
    })
    if (changeOffset === undefined) return 'gone'
    await this.#store.whenApplied(changeOffset)
    return 'shifted'
  }

  /**
   * Undefined when the message cannot be one of ours. Errors: MESSAGE_ID_INVALID, PARAMETER_INVALID,
   * those of a search.
   */
  async #targetOf(ref: MessageRef): Promise<Target | undefined> {
    if ('key' in ref) {
      checkAskedText('topic', ref.topic)
      checkOwnKey(ref.key, 'PARAMETER_INVALID')
      return new KeyTarget(ref, this.#timers, this.#log)
    }
    const asked = handleOf(ref.id)
    if (asked.brokerName !== this.#brokerName) return undefined
    const handle = await ownHandle(asked, this.#search)
    return handle === undefined ? undefined : new IdTarget(handle, this.#timers, this.#log)
  }

  /** Looks for the message and, when it waits, changes it with `append` in the same step. */
  async #change<Change>(
    ref: MessageRef,
    append: (at: TimerRef, waiting: Waiting) => { change: Change; changeOffset: number },
  ): Promise<Outcome<Change>> {
    const target = await this.#targetOf(ref)
    for (;;) {
      const at = await target?.locate()
      if (target === undefined || at === undefined) return { kind: 'unknown' }
      const decision = await this.#timers.find(at, (state): Decision<Change> => {
        if (!target.isCurrent()) return { kind: 'again' }
        if (state.kind !== 'waiting') return decisionOn(state)
        if (!target.isMeant(state.record)) return { kind: 'unknown' }
        return { kind: 'changed', ...append(at, state) }
      })
      if (decision.kind === 'again') continue
      if (decision.kind === 'changed') {
        await this.#store.whenApplied(decision.changeOffset)
        return decision
      }
      if (decision.kind === 'moving') {
        await this.#store.whenApplied(decision.changeOffset)
        continue
      }
      if (decision.kind === 'absent' && (await target.hasMoved(at))) continue
      if (decision.kind === 'cancelling') await this.#store.whenApplied(decision.changeOffset)
      return { kind: await target.resultOf(decision.kind, at) }
    }
  }

  #appendCancel(
    at: TimerRef,
    { record, place }: Waiting,
  ): { change: undefined; changeOffset: number } {
    const { timerId } = at
    const nowMs = this.#clock.timeMs()
    const handle = handleOfRecord(at, record, this.#brokerName)
    const draft = cancelRecord(handle, at, { storeHost: this.#storeHost, nowMs })
    const queue = this.#store.queue(TIMER_TOPIC, TIMER_CANCEL_QUEUE)
    const changeOffset = this.#store.appendDue(draft, queue, timerId, nowMs)
    this.#timers.beginRemoval({ timerId, removal: 'cancelled', changeOffset, place })
    return { change: undefined, changeOffset }
  }

  #appendMove(
    at: TimerRef,
    waiting: Waiting,
    deliverTimeMs: number,
  ): { change: number; changeOffset: number } {
    const { timerId } = at
    const { record, place } = waiting
    const nowMs = this.#clock.timeMs()
    const change = checkedDeliverTime(deliverTimeMs, nowMs, this.#limits)
    const handle = handleOfRecord(at, record, this.#brokerName)
    const draft = moveRecord(handle, { at, record, deliverTimeMs: change }, this.#storeHost)
    const queue = this.#store.queue(TIMER_TOPIC, TIMER_MOVE_QUEUE)
    const changeOffset = this.#store.appendAgain(draft, queue, change, nowMs)
    this.#timers.beginRemoval({ timerId, removal: 'moved', changeOffset, place })
    return { change, changeOffset }
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
