import { BrokerError } from '../../core/base/index.ts'
import type { Clock, Random } from '../../core/platform/index.ts'
import {
  groupOfTopic,
  isReservedForSending,
  isRetryTopic,
  PROPERTY,
  SCHEDULE_TOPIC,
  SYS_FLAG,
  removeProperties,
  tagsCodeOf,
  TIMER_ACCEPT_QUEUE,
  TIMER_KEY_QUEUE,
  TIMER_TOPIC,
  UniqueKeys,
  type RecordDraft,
} from '../../model/message/index.ts'
import { resolveDelay, type DelayDecision, type DelayLimits } from '../../model/schedule/index.ts'
import { PERM_WRITE } from '../../model/wire/index.ts'
import type { ConsumeQueue } from '../store/index.ts'
import {
  addedProperties,
  checkLate,
  checkPropertiesSize,
  checkSupported,
  completedProperties,
  endedProperties,
} from './accepted-properties.ts'
import { checkedKey, keyInvalid, type KeyedDraft } from './keyed-draft.ts'
import { PropertyScan } from './property-scan.ts'
import { batchRecordBytes, collectBatch, type BatchParts } from './put-batch.ts'
import type { PutOutcome, PutRequest } from './put-request.ts'
import type { Statistics } from './statistics.ts'
import type { Topic, TopicTable } from './topics.ts'

/** What a put writes to. */
export interface PutStore {
  queue(topic: string, queueId: number): ConsumeQueue
  append(draft: RecordDraft, queue: ConsumeQueue, tagsCode: number, storeTimeMs: number): number
  readonly lastQueueOffset: number
  /** Bytes that `append` can take in at the moment. */
  readonly roomBytes: number
}

/** Where a message goes that a consumer sends to its group's retry topic. */
export interface RetryRule {
  /** Errors: GROUP_NOT_FOUND, TOO_MANY_TOPICS. */
  targetOf(send: {
    readonly topicName: string
    readonly clientVersion: number
    readonly reconsumeTimes: number
    readonly maxReconsumeTimes: number | undefined
  }): {
    readonly topic: Topic
    /** Tried too often: `topic` is the group's dead letter topic, and there is no delay. */
    readonly isDeadLetter: boolean
  }
}

export interface PutOptions {
  readonly clusterName: string
  /** What clients are told as the region; `DefaultRegion` at Apache. */
  readonly regionId: string
  /** Largest body of a message, and of a batch. */
  readonly bodyBytesMax: number
  /** IP and port as records carry them: 8 or 20 bytes. */
  readonly storeHost: Buffer
  readonly delay: DelayLimits
}

export interface PutParts {
  readonly store: PutStore
  readonly topics: TopicTable
  readonly retry: RetryRule
  readonly statistics: Statistics
  readonly clock: Clock
  readonly random: Random
  readonly options: PutOptions
}

const NOTHING = Buffer.alloc(0)
const KEY_WHEN: readonly string[] = [PROPERTY.ORRERY_KEY_WHEN]
const NOT_TIMED = -1
/** The only bits that a sender may set: compression and the kind of tags. */
const SENDER_FLAGS = SYS_FLAG.COMPRESSED | SYS_FLAG.MULTI_TAGS | SYS_FLAG.COMPRESSION_MASK

/**
 * Takes messages in: checks them, resolves their deliver time and appends them to the log, plain
 * ones under their topic, others under that of the timer store that holds them until then.
 *
 * Nothing here is durable when it returns: see `PutOutcome.commitLogOffset`.
 */
export class MessagePut {
  readonly #store: PutStore
  readonly #topics: TopicTable
  readonly #retry: RetryRule
  readonly #statistics: Statistics
  readonly #clock: Clock
  readonly #random: Random
  readonly #options: PutOptions
  readonly #uniqueKeys: UniqueKeys
  readonly #added: string
  readonly #timerTopic: Topic
  readonly #scheduleTopic: Topic
  readonly #scan = new PropertyScan()
  readonly #targets = new WeakMap<Topic, string[]>()
  readonly #draft: RecordDraft
  /** Of the latest message that had a delay; `NOT_TIMED` when no timer holds it. */
  #deliverTimeMs = NOT_TIMED
  readonly #batch: BatchParts = {
    flags: [],
    bodyStarts: [],
    bodyEnds: [],
    properties: [],
    tagsCodes: [],
  }

  constructor(parts: PutParts) {
    this.#store = parts.store
    this.#topics = parts.topics
    this.#retry = parts.retry
    this.#statistics = parts.statistics
    this.#clock = parts.clock
    this.#random = parts.random
    this.#options = parts.options
    this.#uniqueKeys = new UniqueKeys(parts.random, parts.clock)
    this.#added = addedProperties(parts.options.regionId, parts.options.clusterName)
    this.#timerTopic = parts.topics.get(TIMER_TOPIC)
    this.#scheduleTopic = parts.topics.get(SCHEDULE_TOPIC)
    this.#draft = emptyDraft(parts.options.storeHost)
  }

  /**
   * Appends one message; one with an own key it leaves alone, and returns `keyed`: such a message
   * goes another way, see `prepareKeyed`.
   *
   * Errors: TOPIC_NAME_INVALID, TOPIC_NOT_FOUND, TOPIC_NOT_WRITABLE, TOPIC_RESERVED,
   * TOO_MANY_TOPICS, QUEUE_OUT_OF_RANGE, GROUP_NOT_FOUND (retry topics), NOT_SUPPORTED,
   * LATE_POLICY_INVALID, LATE_POLICY_NOT_FOR_LEVELS,
   * MESSAGE_TOO_LARGE, PROPERTIES_TOO_LARGE, those of a delay, those of `Store.append`.
   */
  put(request: PutRequest, outcome: PutOutcome): 'put' | 'keyed' {
    this.#checkBody(request)
    const scan = this.#scan
    scan.read(request.properties)
    checkSupported(scan)
    let topic: Topic
    // There, the key is that of a message which somebody could not consume.
    if (isRetryTopic(request.topic)) {
      const target = this.#retryTarget(request)
      topic = target.topic
      if (target.isDeadLetter) scan.hasDelay = false
    } else {
      if (scan.ownKey !== undefined) return 'keyed'
      topic = this.#writableTopic(request)
      checkLate(scan)
    }
    const draft = this.#draft
    fill(draft, request)
    draft.queueId = this.#queueId(topic, request.queueId)
    draft.properties = this.#completed(request.properties, outcome)
    outcome.topic = topic.name
    outcome.queueId = draft.queueId
    if (outcome.batchOffsets.length > 0) outcome.batchOffsets.length = 0
    outcome.topicDurable = topic.durable
    outcome.commitLogOffset = this.#append(draft, topic, request.nowMs)
    outcome.deliverTimeMs = this.#deliverTimeMs
    outcome.queueOffset = this.#store.lastQueueOffset
    return 'put'
  }

  /**
   * Checks a message with an own key, and makes its accept record for who appends it, to the queue
   * of such records, perhaps with `ORRERY_REPLACES` behind its properties.
   *
   * Errors: as `put`; MESSAGE_INVALID when the key or the deliver time is missing or not permitted.
   */
  prepareKeyed(request: PutRequest): KeyedDraft {
    this.#checkBody(request)
    const scan = this.#scan
    scan.read(request.properties)
    checkSupported(scan)
    const key = checkedKey(scan, request.topic)
    const topic = this.#writableTopic(request)
    checkLate(scan)
    const delay = resolveDelay(scan.delays, request.nowMs, this.#options.delay)
    if (!scan.hasDelay || delay.kind === 'level') throw keyInvalid('it needs a deliver time')
    const draft = emptyDraft(this.#options.storeHost)
    fill(draft, request)
    const queueId = this.#queueId(topic, request.queueId)
    const sent = removeProperties(request.properties, KEY_WHEN)
    const uniqueKey = scan.uniqueKey ?? this.#uniqueKeys.next()
    if (uniqueKey.includes(' ')) throw keyInvalid('its unique key has a blank')
    const completed = completedProperties(sent, scan, uniqueKey, this.#added)
    // A time that has come is now.
    const deliverTimeMs = delay.kind === 'timer' ? delay.deliverTimeMs : request.nowMs
    const dueText = TIMER_OUT + deliverTimeMs + PAIR_END
    draft.properties = endedProperties(completed) + this.#targetOf(topic, queueId) + dueText
    checkPropertiesSize(draft.properties)
    draft.topic = this.#timerTopic.topicBytes
    draft.queueId = TIMER_KEY_QUEUE
    const topicDurable = topic.durable
    return { draft, topic: topic.name, queueId, key, uniqueKey, deliverTimeMs, topicDurable }
  }

  /**
   * Appends a message of the broker's own making, addressed to its real topic and queue, with the
   * delay that its properties ask for. Changes the draft. Returns its commit log offset.
   *
   * Errors: those of `Store.append`.
   */
  putDraft(draft: RecordDraft, topic: Topic): number {
    this.#scan.read(draft.properties)
    return this.#append(draft, topic, this.#clock.timeMs())
  }

  /**
   * Appends the messages of a batch to one queue, all or, when one cannot be taken, none.
   *
   * Errors: as `put`; MESSAGE_INVALID when the body is no batch, when a message has a property
   * that asks for a delay, and for a retry topic.
   */
  putBatch(request: PutRequest, outcome: PutOutcome): void {
    this.#checkBody(request)
    if (groupOfTopic(request.topic) !== undefined) {
      throw new BrokerError('MESSAGE_INVALID', { problem: 'a batch cannot go to this topic' })
    }
    const topic = this.#writableTopic(request)
    const queueId = this.#queueId(topic, request.queueId)
    collectBatch(request, this.#batch, this.#scan, sent => this.#completed(sent, outcome))
    const { roomBytes } = this.#store
    const sizeBytes = batchRecordBytes(this.#batch)
    if (sizeBytes > roomBytes) throw new BrokerError('STORE_BUSY', { sizeBytes, roomBytes })
    fill(this.#draft, request)
    outcome.topic = topic.name
    outcome.queueId = queueId
    outcome.deliverTimeMs = NOT_TIMED
    outcome.topicDurable = topic.durable
    this.#appendBatch(topic, request.nowMs, outcome)
  }

  #appendBatch(topic: Topic, nowMs: number, outcome: PutOutcome): void {
    const { flags, bodyStarts, bodyEnds, properties, tagsCodes } = this.#batch
    const draft = this.#draft
    const { batchOffsets } = outcome
    batchOffsets.length = 0
    for (let index = 0; index < flags.length; index++) {
      draft.flag = flags[index] ?? 0
      draft.bodyStart = bodyStarts[index] ?? 0
      draft.bodyEnd = bodyEnds[index] ?? 0
      draft.queueId = outcome.queueId
      draft.properties = properties[index] ?? ''
      const tagsCode = tagsCodes[index] ?? 0
      outcome.commitLogOffset = this.#appendPlain(draft, topic, tagsCode, nowMs)
      if (index === 0) outcome.queueOffset = this.#store.lastQueueOffset
      batchOffsets.push(outcome.commitLogOffset)
    }
  }

  #checkBody(request: PutRequest): void {
    const bodyBytes = request.bodyEnd - request.bodyStart
    const { bodyBytesMax } = this.#options
    if (bodyBytes > bodyBytesMax) {
      throw new BrokerError('MESSAGE_TOO_LARGE', { bodyBytes, bodyBytesMax })
    }
    const { sysFlag } = request
    if ((sysFlag & SYS_FLAG.TRANSACTION_MASK) !== 0) {
      throw new BrokerError('NOT_SUPPORTED', { feature: 'transactions', sysFlag })
    }
  }

  #writableTopic(request: PutRequest): Topic {
    const { topic: name } = request
    if (isReservedForSending(name)) throw new BrokerError('TOPIC_RESERVED', { topic: name })
    const topic =
      this.#topics.find(name) ?? this.#topics.createOnUse(name, request.wishedQueueCount)
    if ((topic.perm & PERM_WRITE) === 0 || topic.writeQueueCount === 0) {
      throw new BrokerError('TOPIC_NOT_WRITABLE', { topic: name })
    }
    return topic
  }

  #retryTarget(request: PutRequest): ReturnType<RetryRule['targetOf']> {
    const { topic: topicName, clientVersion, reconsumeTimes, maxReconsumeTimes } = request
    return this.#retry.targetOf({ topicName, clientVersion, reconsumeTimes, maxReconsumeTimes })
  }

  #queueId(topic: Topic, asked: number): number {
    if (asked < 0) return this.#random.below(topic.writeQueueCount)
    const queueCount = Math.max(topic.readQueueCount, topic.writeQueueCount)
    if (asked < queueCount) return asked
    throw new BrokerError('QUEUE_OUT_OF_RANGE', { topic: topic.name, queueId: asked, queueCount })
  }

  /** With a unique key and what every message gets; notes the key. `#scan` has read `sent`. */
  #completed(sent: string, outcome: PutOutcome): string {
    const scan = this.#scan
    outcome.uniqueKey = scan.uniqueKey ?? this.#uniqueKeys.next()
    const properties = completedProperties(sent, scan, outcome.uniqueKey, this.#added)
    checkPropertiesSize(properties)
    return properties
  }

  /** Appends under the real topic, or under a timer store's. `#scan` has read the properties. */
  #append(draft: RecordDraft, topic: Topic, nowMs: number): number {
    this.#deliverTimeMs = NOT_TIMED
    const { hasDelay, delays, tags } = this.#scan
    const delay = hasDelay ? resolveDelay(delays, nowMs, this.#options.delay) : NO_DELAY
    if (delay.kind === 'now') return this.#appendPlain(draft, topic, tagsCodeOf(tags), nowMs)
    draft.properties = endedProperties(draft.properties) + this.#targetOf(topic, draft.queueId)
    if (delay.kind === 'level') {
      draft.queueId = delay.level - 1
      return this.#appendHeld(draft, this.#scheduleTopic, nowMs + delay.delayMs, nowMs)
    }
    draft.queueId = TIMER_ACCEPT_QUEUE
    draft.properties += TIMER_OUT + delay.deliverTimeMs + PAIR_END
    const commitLogOffset = this.#appendHeld(draft, this.#timerTopic, delay.deliverTimeMs, nowMs)
    this.#deliverTimeMs = delay.deliverTimeMs
    return commitLogOffset
  }

  #appendPlain(draft: RecordDraft, topic: Topic, tagsCode: number, nowMs: number): number {
    draft.topic = topic.topicBytes
    const queue = this.#queueOf(topic, draft.queueId)
    const commitLogOffset = this.#store.append(draft, queue, tagsCode, nowMs)
    this.#statistics.countPut(topic.name, 1, draft.bodyEnd - draft.bodyStart)
    return commitLogOffset
  }

  #appendHeld(draft: RecordDraft, holder: Topic, deliverTimeMs: number, nowMs: number): number {
    checkPropertiesSize(draft.properties)
    draft.topic = holder.topicBytes
    return this.#store.append(draft, this.#queueOf(holder, draft.queueId), deliverTimeMs, nowMs)
  }

  /** Properties that say where a message is going; made once for each queue. */
  #targetOf(topic: Topic, askedQueueId: number): string {
    const queueId = askedQueueId % topic.writeQueueCount
    let targets = this.#targets.get(topic)
    if (targets === undefined) this.#targets.set(topic, (targets = []))
    return (targets[queueId] ??= REAL_TOPIC + topic.name + PAIR_END + REAL_QID + queueId + PAIR_END)
  }

  #queueOf(topic: Topic, queueId: number): ConsumeQueue {
    return (topic.queues[queueId] ??= this.#store.queue(topic.name, queueId))
  }
}

const NAME_END = '\u0001'
const PAIR_END = '\u0002'
const REAL_TOPIC = PROPERTY.REAL_TOPIC + NAME_END
const REAL_QID = PROPERTY.REAL_QID + NAME_END
const TIMER_OUT = PROPERTY.TIMER_OUT_MS + NAME_END
const NO_DELAY: DelayDecision = { kind: 'now' }

function fill(draft: RecordDraft, request: PutRequest): void {
  draft.flag = request.flag
  draft.sysFlag = request.sysFlag & SENDER_FLAGS
  draft.bornTimeMs = request.bornTimeMs
  draft.bornHost = request.bornHost
  draft.reconsumeTimes = request.reconsumeTimes
  draft.body = request.body
  draft.bodyStart = request.bodyStart
  draft.bodyEnd = request.bodyEnd
}

function emptyDraft(storeHost: Buffer): RecordDraft {
  return {
    topic: NOTHING,
    queueId: 0,
    flag: 0,
    sysFlag: 0,
    bornTimeMs: 0,
    bornHost: storeHost,
    storeHost,
    reconsumeTimes: 0,
    preparedTransactionOffset: 0,
    body: NOTHING,
    bodyStart: 0,
    bodyEnd: 0,
    properties: '',
  }
}
