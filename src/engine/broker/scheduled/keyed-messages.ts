import { BrokerError } from '../../../core/base/index.ts'
import { pause, type Platform } from '../../../core/platform/index.ts'
import {
  appendProperty,
  encodeRecallHandle,
  PROPERTY,
  TIMER_KEY_QUEUE,
  TIMER_TOPIC,
} from '../../../model/message/index.ts'
import type {
  NewMessage,
  NewPlace,
  ReplaceResult,
  ReplaceWhen,
  SchedulePort,
} from '../../../model/schedule/index.ts'
import { REPLACES_NONE, type TimerRef, type TimerState } from '../../timer/index.ts'
import type { KeyedDraft } from '../keyed-draft.ts'
import { PutRequest } from '../put-request.ts'
import { KeyTarget } from './key-target.ts'
import { handleOfRecord, refText } from './own-handle.ts'
import type { ScheduledStore, ScheduledTimers, Waiting } from './scheduled-parts.ts'

/** Between looks at a message that is being delivered: a moment tells whether its topic takes it. */
const CLAIM_PAUSE_MS = 2
const CLAIM_LOOKS_MAX = 500

/** Decided in the step of the look. */
type Decision =
  | { readonly kind: 'done'; readonly result: ReplaceResult; readonly changeOffset: number }
  | { readonly kind: 'exists'; readonly id: string }
  /** Somebody moves it: it is to be looked for again when that is durable. */
  | { readonly kind: 'moving'; readonly changeOffset: number }
  | { readonly kind: 'again' }
  | { readonly kind: 'claimed' }

const AGAIN: Decision = { kind: 'again' }
const CLAIMED: Decision = { kind: 'claimed' }
const ABSENT: TimerState = { kind: 'absent' }

/** Accepts messages with own keys, in the place of those that wait with the same. */
export class KeyedMessages implements Pick<SchedulePort, 'replaceByKey'> {
  readonly #platform: Pick<Platform, 'clock' | 'timers'>
  readonly #timers: ScheduledTimers
  readonly #store: ScheduledStore
  readonly #put: { prepareKeyed(request: PutRequest): KeyedDraft }
  readonly #brokerName: string

  constructor(parts: {
    platform: Pick<Platform, 'clock' | 'timers'>
    timers: ScheduledTimers
    store: ScheduledStore
    /** See `MessagePut.prepareKeyed`. */
    put: { prepareKeyed(request: PutRequest): KeyedDraft }
    brokerName: string
  }) {
    this.#platform = parts.platform
    this.#timers = parts.timers
    this.#store = parts.store
    this.#put = parts.put
    this.#brokerName = parts.brokerName
  }

  /** See `SchedulePort.replaceByKey`. */
  async replaceByKey(message: NewMessage, when: ReplaceWhen): Promise<ReplaceResult> {
    const keyed = this.#put.prepareKeyed(requestOf(message))
    const log = { store: this.#store, index: undefined }
    const target = new KeyTarget(keyed, this.#timers, log)
    for (let claimLooks = 0; ;) {
      const decision = await this.#look(keyed, target, when)
      switch (decision.kind) {
        case 'done':
          await this.#store.whenApplied(decision.changeOffset)
          if (keyed.topicDurable !== undefined) await keyed.topicDurable
          return decision.result
        case 'exists':
          return decision
        case 'moving':
          await this.#store.whenApplied(decision.changeOffset)
          break
        case 'claimed':
          // When its topic refuses it, it waits again: two of one key must not.
          if (++claimLooks > CLAIM_LOOKS_MAX)
            throw new BrokerError('STORE_BUSY', { key: keyed.key })
          await pause(this.#platform.timers, CLAIM_PAUSE_MS)
          break
        case 'again':
          break
      }
    }
  }

  async #look(keyed: KeyedDraft, target: KeyTarget, when: ReplaceWhen): Promise<Decision> {
    const at = await target.locate()
    const decide = (state: TimerState): Decision => {
      if (!target.isCurrent()) return AGAIN
      if (state.kind === 'claimed') return CLAIMED
      if (state.kind === 'removing' && state.removal === 'moved') {
        return { kind: 'moving', changeOffset: state.changeOffset }
      }
      const isThere = at !== undefined && state.kind === 'waiting' && target.isMeant(state.record)
      if (!isThere) return this.#append(keyed, target.digest, undefined)
      if (when === 'always') return this.#append(keyed, target.digest, { at, waiting: state })
      return { kind: 'exists', id: this.#idAt(at, state.record) }
    }
    return at === undefined ? decide(ABSENT) : this.#timers.find(at, decide)
  }

  #append(
    keyed: KeyedDraft,
    digest: string,
    replaced: { readonly at: TimerRef; readonly waiting: Waiting } | undefined,
  ): Decision {
    const { draft } = keyed
    if (replaced !== undefined) {
      const text = refText(replaced.at)
      draft.properties = appendProperty(draft.properties, PROPERTY.ORRERY_REPLACES, text)
    }
    const queue = this.#store.queue(TIMER_TOPIC, TIMER_KEY_QUEUE)
    const tagsCode = replaced?.at.timerId ?? REPLACES_NONE
    const changeOffset = this.#store.append(draft, queue, tagsCode, this.#platform.clock.timeMs())
    this.#timers.beginKey(digest, changeOffset)
    const place = this.#placeOf(keyed, changeOffset)
    if (replaced === undefined)
      return { kind: 'done', result: { kind: 'created', ...place }, changeOffset }
    const { at, waiting } = replaced
    this.#timers.beginRemoval({
      timerId: at.timerId,
      removal: 'cancelled',
      changeOffset,
      place: waiting.place,
    })
    const replacedId = this.#idAt(at, waiting.record)
    return { kind: 'done', result: { kind: 'replaced', ...place, replacedId }, changeOffset }
  }

  #placeOf(keyed: KeyedDraft, commitLogOffset: number): NewPlace {
    const { topic, queueId, deliverTimeMs, uniqueKey } = keyed
    const brokerName = this.#brokerName
    const timerId = commitLogOffset
    const id = encodeRecallHandle({ topic, brokerName, deliverTimeMs, uniqueKey, timerId })
    return { id, deliverTimeMs, queueId, commitLogOffset }
  }

  #idAt(at: TimerRef, record: Buffer): string {
    return encodeRecallHandle(handleOfRecord(at, record, this.#brokerName))
  }
}

function requestOf(message: NewMessage): PutRequest {
  const request = new PutRequest()
  return Object.assign(request, message, { bodyStart: 0, bodyEnd: message.body.length })
}
