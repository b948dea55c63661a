import { BrokerError } from '../../../core/base/index.ts'
import type { Clock } from '../../../core/platform/index.ts'
import {
  decodeRecallHandle,
  findProperty,
  PROPERTY,
  recordProperties,
  recordTopic,
  TIMER_CANCEL_QUEUE,
  TIMER_TOPIC,
  type RecallHandle,
  type RecordDraft,
} from '../../../model/message/index.ts'
import type { CancelResult, MessageRef, SchedulePort } from '../../../model/schedule/index.ts'
import type { ConsumeQueue } from '../../store/index.ts'
import type { CancelPlace, TimerRef, TimerState } from '../../timer/index.ts'
import { cancelRecord } from './cancel-record.ts'

/** What is asked of the timers. See `Finder.find` and `LadderStore.beginCancel`. */
export interface ScheduledTimers {
  find<Result>(ref: TimerRef, decide: (state: TimerState) => Result): Promise<Result>
  beginCancel(timerId: number, changeOffset: number, place: CancelPlace): void
}

/** What is asked of the store. */
export interface ScheduledStore {
  queue(topic: string, queueId: number): ConsumeQueue
  /** See `Store.appendDue`: also while space is low, since cancelling makes room. */
  appendDue(draft: RecordDraft, queue: ConsumeQueue, tagsCode: number, storeTimeMs: number): number
  readRecord(commitLogOffset: number): Promise<Buffer | undefined>
  whenApplied(commitLogOffset: number): Promise<void>
}

/** A handle of our own making: it names the accept record. */
type OwnHandle = RecallHandle & { readonly timerId: number }

/** Decided in the step of the look; durable once the record at `changeOffset` is. */
type Decision =
  | { readonly kind: 'durable-at'; readonly changeOffset: number }
  | { readonly kind: 'answer'; readonly result: CancelResult }
  /** It does not wait: whether it ever did is in the log. */
  | { readonly kind: 'absent' }

const UNKNOWN: Decision = { kind: 'answer', result: 'unknown' }

/** What users do with waiting messages, on the ladder. */
export class ScheduledMessages implements SchedulePort {
  readonly #timers: ScheduledTimers
  readonly #store: ScheduledStore
  readonly #clock: Clock
  readonly #brokerName: string
  readonly #storeHost: Buffer

  constructor(parts: {
    timers: ScheduledTimers
    store: ScheduledStore
    clock: Clock
    brokerName: string
    /** As in `PutOptions`. */
    storeHost: Buffer
  }) {
    this.#timers = parts.timers
    this.#store = parts.store
    this.#clock = parts.clock
    this.#brokerName = parts.brokerName
    this.#storeHost = parts.storeHost
  }

  async cancel(ref: MessageRef): Promise<CancelResult> {
    const handle = ownHandleOf(ref.id)
    if (handle.brokerName !== this.#brokerName) return 'unknown'
    const decision = await this.#timers.find(handle, state => this.#decide(handle, state))
    if (decision.kind === 'answer') return decision.result
    if (decision.kind === 'absent') return this.#absent(handle)
    await this.#store.whenApplied(decision.changeOffset)
    return 'cancelled'
  }

  /** The one rule. In the step of the look: nothing comes between it and the record. */
  #decide(handle: OwnHandle, state: TimerState): Decision {
    switch (state.kind) {
      case 'waiting':
        return isOf(handle, state.record) ? this.#append(handle, state.place) : UNKNOWN
      case 'cancelling':
        return { kind: 'durable-at', changeOffset: state.changeOffset }
      case 'cancelled':
        return { kind: 'answer', result: 'cancelled' }
      case 'claimed':
        return { kind: 'answer', result: 'too-late' }
      case 'absent':
        return { kind: 'absent' }
    }
  }

  #append(handle: OwnHandle, place: CancelPlace): Decision {
    const { timerId } = handle
    const nowMs = this.#clock.timeMs()
    const draft = cancelRecord(handle, { storeHost: this.#storeHost, nowMs })
    const queue = this.#store.queue(TIMER_TOPIC, TIMER_CANCEL_QUEUE)
    const changeOffset = this.#store.appendDue(draft, queue, timerId, nowMs)
    this.#timers.beginCancel(timerId, changeOffset, place)
    return { kind: 'durable-at', changeOffset }
  }

  async #absent(handle: OwnHandle): Promise<CancelResult> {
    const record = await this.#store.readRecord(handle.timerId)
    const isAccepted = record !== undefined && recordTopic(record, 0) === TIMER_TOPIC
    return isAccepted && isOf(handle, record) ? 'too-late' : 'unknown'
  }
}

/** Errors: MESSAGE_ID_INVALID, NOT_SUPPORTED for the handles that Apache's brokers make. */
function ownHandleOf(id: string): OwnHandle {
  const handle = decodeRecallHandle(id)
  if (handle === undefined) throw new BrokerError('MESSAGE_ID_INVALID')
  const { timerId } = handle
  if (timerId === undefined) {
    throw new BrokerError('NOT_SUPPORTED', { feature: 'handles of other brokers' })
  }
  return { ...handle, timerId }
}

/** Whoever makes up a handle does not get at the message of another. */
function isOf(handle: OwnHandle, record: Buffer): boolean {
  const properties = recordProperties(record, 0)
  return (
    findProperty(properties, PROPERTY.REAL_TOPIC) === handle.topic &&
    findProperty(properties, PROPERTY.UNIQ_KEY) === handle.uniqueKey &&
    findProperty(properties, PROPERTY.TIMER_OUT_MS) === String(handle.deliverTimeMs)
  )
}
