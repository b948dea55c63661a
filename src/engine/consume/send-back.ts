import { BrokerError, Gate } from '../../core/base/index.ts'
import type { Clock, Random } from '../../core/platform/index.ts'
import {
  appendProperty,
  findProperty,
  isReservedForSending,
  offsetMessageId,
  PROPERTY,
  recordBodyEnd,
  recordBodyStart,
  recordBornHostBytes,
  recordBornTimeMs,
  recordCommitLogOffset,
  recordFlag,
  recordProperties,
  recordReconsumeTimes,
  recordStoreHostBytes,
  recordSysFlag,
  recordTopic,
  removeProperties,
  storeHostHex,
  SYS_FLAG,
  type RecordDraft,
} from '../../model/message/index.ts'
import type { Group, GroupTable, Statistics, Topic, TopicTable } from '../broker/index.ts'
import { retryCountMax } from './retry-target.ts'

/** The first retry waits as long as this delay level says, each further one a level longer. */
const FIRST_RETRY_LEVEL = 3
/** Messages that are read to be stored again, at the same time: each is in memory as a whole. */
export const COPYING_COUNT_MAX = 16
/** RocketMQ's bit for a topic that serves a unit of a larger deployment. */
const UNIT_TOPIC_FLAG = 2

/** What the earlier way of the message left in its properties and must not act again. */
const SPENT_PROPERTIES: readonly string[] = [
  PROPERTY.WAIT,
  PROPERTY.DELAY,
  PROPERTY.TIMER_DELAY_SEC,
  PROPERTY.TIMER_DELAY_MS,
  PROPERTY.TIMER_DELIVER_MS,
  PROPERTY.TIMER_DELAY_LEVEL,
  PROPERTY.TIMER_OUT_MS,
  PROPERTY.TIMER_ENQUEUE_MS,
  PROPERTY.TIMER_DEQUEUE_MS,
  PROPERTY.TIMER_ROLL_TIMES,
  PROPERTY.REAL_TOPIC,
  PROPERTY.REAL_QID,
  PROPERTY.POP_CK,
  PROPERTY.ORRERY_TIMER_ID,
  PROPERTY.ORRERY_FIRST,
  PROPERTY.ORRERY_DEAD_LETTER_REASON,
  PROPERTY.CRC32,
]

/** What is asked of the store. */
export interface RecordSource {
  /** One whole record, a copy; `undefined` when it is not there. */
  readRecord(commitLogOffset: number): Promise<Buffer | undefined>
  whenApplied(commitLogOffset: number): Promise<void>
}

/** Stores messages of the broker's own making. */
export interface RecordPutter {
  /**
   * Appends the draft, addressed to a real topic and queue, with the delay level that its
   * properties ask for. Returns its commit log offset. Errors: those of `Store.append`.
   */
  putDraft(draft: RecordDraft, topic: Topic): number
}

export interface SendBackParts {
  readonly topics: TopicTable
  readonly groups: GroupTable
  readonly statistics: Statistics
  readonly store: RecordSource
  readonly putter: RecordPutter
  readonly clock: Clock
  readonly random: Random
  /** IP and port as records hold them. */
  readonly storeHost: Buffer
}

/** A consumer could not consume a message and wants it again. */
export interface SendBackRequest {
  readonly group: string
  /** Where the message lies that was delivered. */
  readonly commitLogOffset: number
  /** The level to wait for; 0: longer from try to try; negative: give it up at once. */
  readonly delayLevel: number
  readonly unitMode: boolean
  readonly clientVersion: number
  readonly maxReconsumeTimes: number | undefined
}

/**
 * Sends a message again to the group that failed to consume it: to `%RETRY%group` after a delay,
 * or to `%DLQ%group` when it was tried often enough.
 */
export class SendBack {
  readonly #parts: SendBackParts
  readonly #copying = new Gate(COPYING_COUNT_MAX)

  constructor(parts: SendBackParts) {
    this.#parts = parts
  }

  /**
   * Durable when it resolves. A group with no retry queues wants no retries: nothing is stored.
   *
   * Errors: GROUP_NOT_FOUND, MESSAGE_NOT_FOUND, TOO_MANY_TOPICS, and those of `Store.append`.
   */
  async sendBack(request: SendBackRequest): Promise<void> {
    const { groups, store } = this.#parts
    const group = groups.get(request.group)
    if (group.retryQueueCount <= 0) return
    const commitLogOffset = await this.#copying.run(1, () => this.#copy(request, group))
    await store.whenApplied(commitLogOffset)
  }

  /** Reads the record and appends it anew; it is in memory only until then. */
  async #copy(request: SendBackRequest, group: Group): Promise<number> {
    const { putter, statistics } = this.#parts
    const record = await this.#read(request.commitLogOffset)
    const { topic, delayLevel } = this.#target(request, group, recordReconsumeTimes(record, 0))
    await topic.durable
    const commitLogOffset = putter.putDraft(this.#draft(record, topic, delayLevel), topic)
    statistics.countSentBack(recordTopic(record, 0))
    return commitLogOffset
  }

  /** A message that still waits for its time was delivered to nobody: nobody can send it back. */
  async #read(commitLogOffset: number): Promise<Buffer> {
    const record = await this.#parts.store.readRecord(commitLogOffset)
    if (record === undefined || isReservedForSending(recordTopic(record, 0))) {
      throw new BrokerError('MESSAGE_NOT_FOUND', { commitLogOffset })
    }
    return record
  }

  #target(request: SendBackRequest, group: Group, reconsumeTimes: number): Target {
    const { topics } = this.#parts
    const countMax = retryCountMax(request, group.retryCountMax)
    if (request.delayLevel < 0 || reconsumeTimes >= countMax) {
      return { topic: topics.deadLetterTopicOf(group.name), delayLevel: 0 }
    }
    const topicSysFlag = request.unitMode ? UNIT_TOPIC_FLAG : 0
    const topic = topics.retryTopicOf(group.name, group.retryQueueCount, topicSysFlag)
    const { delayLevel } = request
    return { topic, delayLevel: delayLevel === 0 ? FIRST_RETRY_LEVEL + reconsumeTimes : delayLevel }
  }

  #draft(record: Buffer, topic: Topic, delayLevel: number): RecordDraft {
    return {
      topic: topic.topicBytes,
      queueId: this.#parts.random.below(Math.max(1, topic.writeQueueCount)),
      flag: recordFlag(record, 0),
      sysFlag: recordSysFlag(record, 0) & ~SYS_FLAG.TRANSACTION_MASK,
      bornTimeMs: this.#bornTimeMs(record),
      bornHost: recordBornHostBytes(record, 0),
      storeHost: this.#parts.storeHost,
      reconsumeTimes: recordReconsumeTimes(record, 0) + 1,
      preparedTransactionOffset: 0,
      body: record,
      bodyStart: recordBodyStart(record, 0),
      bodyEnd: recordBodyEnd(record, 0),
      properties: retryProperties(record, delayLevel),
    }
  }

  /** A record that Apache wrote may hold any 64 bits here. */
  #bornTimeMs(record: Buffer): number {
    const bornTimeMs = recordBornTimeMs(record, 0)
    return Number.isSafeInteger(bornTimeMs) ? bornTimeMs : this.#parts.clock.timeMs()
  }
}

interface Target {
  readonly topic: Topic
  /** 0: at once. */
  readonly delayLevel: number
}

function retryProperties(record: Buffer, delayLevel: number): string {
  const old = recordProperties(record, 0)
  let properties = removeProperties(old, SPENT_PROPERTIES)
  if (findProperty(old, PROPERTY.RETRY_TOPIC) === undefined) {
    properties = appendProperty(properties, PROPERTY.RETRY_TOPIC, recordTopic(record, 0))
  }
  if (findProperty(old, PROPERTY.ORIGIN_MESSAGE_ID) === undefined) {
    const storeHost = storeHostHex(recordStoreHostBytes(record, 0))
    const messageId = offsetMessageId(storeHost, recordCommitLogOffset(record, 0))
    properties = appendProperty(properties, PROPERTY.ORIGIN_MESSAGE_ID, messageId)
  }
  properties = appendProperty(properties, PROPERTY.WAIT, 'false')
  if (delayLevel === 0) return properties
  return appendProperty(properties, PROPERTY.DELAY, String(delayLevel))
}
