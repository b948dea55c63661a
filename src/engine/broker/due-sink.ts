import { BrokerError, operatingError } from '../../core/base/index.ts'
import type { Clock, Log, Timers } from '../../core/platform/index.ts'
import {
  appendProperty,
  deadLetterTopic,
  findProperty,
  groupOfTopic,
  isReservedForSending,
  isRetryTopic,
  PROPERTY,
  recordBodyEnd,
  recordBodyStart,
  recordBornHostBytes,
  recordBornTimeMs,
  recordFlag,
  recordProperties,
  recordReconsumeTimes,
  recordSysFlag,
  removeProperties,
  tagsCodeOf,
  TIMER_DROP_QUEUE,
  TIMER_TOPIC,
  type RecordDraft,
} from '../../model/message/index.ts'
import { onLateOf } from '../../model/schedule/index.ts'
import { PERM_WRITE } from '../../model/wire/index.ts'
import type { DueOutcome, DueSink } from '../timer/index.ts'
import type { GroupTable } from './groups.ts'
import type { ConsumeQueue } from '../store/index.ts'
import { dropRecord, LateReport } from './late-messages.ts'
import { publishedProperties } from './published-properties.ts'
import type { Statistics } from './statistics.ts'
import type { Topic, TopicTable } from './topics.ts'

/** Queues of a target topic that has vanished since the message was accepted. */
const WISHED_QUEUE_COUNT = 4
/** What a dead letter says anew. */
const DEAD_LETTER: readonly string[] = [
  PROPERTY.DLQ_ORIGIN_TOPIC,
  PROPERTY.ORRERY_DEAD_LETTER_REASON,
]
const NOTHING = Buffer.alloc(0)

/** What due messages are written to. */
export interface DueStore {
  queue(topic: string, queueId: number): ConsumeQueue
  /** See `Store.appendDue`. */
  appendDue(draft: RecordDraft, queue: ConsumeQueue, tagsCode: number, storeTimeMs: number): number
}

export interface DueSinkParts {
  readonly store: DueStore
  readonly topics: TopicTable
  readonly groups: GroupTable
  readonly statistics: Statistics
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Log
  /** As in `PutOptions`. */
  readonly storeHost: Buffer
}

/**
 * Publishes due messages: a copy of the accept record under its real topic and queue. One that is
 * too late by its own policy is dropped, or becomes a dead letter of its topic.
 */
export class BrokerDueSink implements DueSink {
  readonly #parts: DueSinkParts
  readonly #draft: RecordDraft
  readonly #late: LateReport

  constructor(parts: DueSinkParts) {
    this.#parts = parts
    const { storeHost } = parts
    this.#late = new LateReport(parts)
    this.#draft = {
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

  deliver(source: Buffer, position: number, timerId: number): DueOutcome {
    const { store, statistics, clock } = this.#parts
    const accepted = recordProperties(source, position)
    const onLate = accepted.includes(PROPERTY.ORRERY_ON_LATE)
      ? onLateOf(accepted, clock.timeMs())
      : 'deliver'
    if (onLate === 'drop') return this.#drop(accepted, timerId)
    const isDeadLetter = onLate === 'deadLetter'
    const realTopic = findProperty(accepted, PROPERTY.REAL_TOPIC) ?? ''
    const topic = this.#target(isDeadLetter ? lateTopicOf(realTopic) : realTopic)
    if (topic === undefined) return 'refused'
    const queueId = realQueueId(findProperty(accepted, PROPERTY.REAL_QID), topic)
    const draft = this.#draft
    draft.topic = topic.topicBytes
    draft.queueId = queueId
    draft.flag = recordFlag(source, position)
    draft.sysFlag = recordSysFlag(source, position)
    draft.bornTimeMs = recordBornTimeMs(source, position)
    draft.bornHost = recordBornHostBytes(source, position)
    draft.reconsumeTimes = recordReconsumeTimes(source, position)
    draft.body = source
    draft.bodyStart = recordBodyStart(source, position)
    draft.bodyEnd = recordBodyEnd(source, position)
    draft.properties = publishedProperties(accepted, timerId)
    if (isDeadLetter) draft.properties = deadLetterProperties(draft.properties, realTopic)
    const tagsCode = tagsCodeOf(findProperty(accepted, PROPERTY.TAGS))
    const queue = (topic.queues[queueId] ??= store.queue(topic.name, queueId))
    try {
      store.appendDue(draft, queue, tagsCode, clock.timeMs())
    } catch (error) {
      return outcomeOf(error)
    } finally {
      // The source belongs to the caller: it must not live on through the draft.
      draft.body = NOTHING
      draft.bornHost = draft.storeHost
    }
    statistics.countPut(topic.name, 1, draft.bodyEnd - draft.bodyStart)
    if (isDeadLetter) {
      this.#late.count('deadLetter')
      statistics.broker.lateDeadLetterCount++
    }
    return 'appended'
  }

  #drop(accepted: string, timerId: number): DueOutcome {
    const { store, statistics, clock, storeHost } = this.#parts
    const nowMs = clock.timeMs()
    const draft = dropRecord(accepted, timerId, { storeHost, nowMs })
    try {
      store.appendDue(draft, store.queue(TIMER_TOPIC, TIMER_DROP_QUEUE), 0, nowMs)
    } catch (error) {
      return outcomeOf(error)
    }
    this.#late.count('drop')
    statistics.broker.lateDroppedCount++
    return 'appended'
  }

  /**
   * `undefined` when there is no such topic, none can be made, or it does not permit writing. A topic
   * that was made just now takes messages when its settings are durable: nobody would find them after
   * a crash. Until then they are parked.
   */
  #target(name: string): Topic | undefined {
    const topic = this.#parts.topics.find(name) ?? this.#create(name)
    if (topic?.durable !== undefined || topic === undefined) return undefined
    if (isReservedForSending(name)) return undefined
    const isWritable = (topic.perm & PERM_WRITE) !== 0 && topic.writeQueueCount > 0
    return isWritable ? topic : undefined
  }

  #create(name: string): Topic | undefined {
    const { topics, groups } = this.#parts
    if (isReservedForSending(name)) return undefined
    try {
      const group = groupOfTopic(name)
      if (group === undefined) return topics.createOnUse(name, WISHED_QUEUE_COUNT)
      if (!isRetryTopic(name)) return topics.deadLetterTopicOf(group)
      return topics.retryTopicOf(group, Math.max(1, groups.find(group)?.retryQueueCount ?? 1))
    } catch (error) {
      if (error instanceof BrokerError) return undefined
      throw error
    }
  }
}

/** Where the dead letters of a topic are; those of a retry topic are its group's. */
function lateTopicOf(realTopic: string): string {
  return deadLetterTopic(groupOfTopic(realTopic) ?? realTopic)
}

function deadLetterProperties(properties: string, realTopic: string): string {
  const kept = removeProperties(properties, DEAD_LETTER)
  const origin = appendProperty(kept, PROPERTY.DLQ_ORIGIN_TOPIC, realTopic)
  return appendProperty(origin, PROPERTY.ORRERY_DEAD_LETTER_REASON, 'late')
}

/** The queue chosen at accept, or another one when the topic has fewer now. */
function realQueueId(text: string | undefined, topic: Topic): number {
  const queueId = Number(text ?? '0')
  if (!Number.isSafeInteger(queueId) || queueId < 0) return 0
  return queueId % topic.writeQueueCount
}

/** A message that cannot become a record is refused; everything else is the log's, and passes. */
function outcomeOf(error: unknown): DueOutcome {
  const { code } = operatingError(error)
  const isRefusal = code === 'MESSAGE_TOO_LARGE' || code === 'PROPERTIES_TOO_LARGE'
  return isRefusal ? 'refused' : 'busy'
}
