import { BrokerError } from '../../core/base/index.ts'
import { groupOfTopic, isRetryTopic } from '../../model/message/index.ts'
import type { GroupTable, QueueLocks, Topic, TopicTable } from '../broker/index.ts'

/** Clients older than RocketMQ 3.4.9 do not say how often they try. */
export const MAX_RECONSUME_VERSION = 121

/** A consumer's own send to its retry topic: what the request says about it. */
export interface RetrySend {
  readonly topicName: string
  readonly clientVersion: number
  /** How often the message was delivered again so far; 0 when the client does not say. */
  readonly reconsumeTimes: number
  readonly maxReconsumeTimes: number | undefined
}

export interface RetryTarget {
  readonly topic: Topic
  /** True: given up. Whatever delay the message asks for is not to be applied. */
  readonly isDeadLetter: boolean
}

/**
 * Where a send to `%RETRY%group` goes: to that topic, or to the group's dead letter topic when it
 * was tried too often, or when the group consumes in order (it tries again by itself and sends
 * only what it gives up). Makes the topic when it is missing; see `Topic.durable`.
 *
 * Errors: GROUP_NOT_FOUND, TOO_MANY_TOPICS; TOPIC_NAME_INVALID when it is no retry topic.
 */
export function retryTarget(
  send: RetrySend,
  tables: { readonly topics: TopicTable; readonly groups: GroupTable; readonly locks: QueueLocks },
): RetryTarget {
  const name = isRetryTopic(send.topicName) ? groupOfTopic(send.topicName) : undefined
  if (name === undefined) throw new BrokerError('TOPIC_NAME_INVALID', { topic: send.topicName })
  const group = tables.groups.get(name)
  const countMax = retryCountMax(send, group.retryCountMax)
  if (send.reconsumeTimes > countMax || tables.locks.holdsAny(name)) {
    return { topic: tables.topics.deadLetterTopicOf(name), isDeadLetter: true }
  }
  const queueCount = Math.max(1, group.retryQueueCount)
  return { topic: tables.topics.retryTopicOf(name, queueCount), isDeadLetter: false }
}

/** The client's own limit where it gives one, else the group's. */
export function retryCountMax(
  from: { readonly clientVersion: number; readonly maxReconsumeTimes: number | undefined },
  ofGroup: number,
): number {
  const { clientVersion, maxReconsumeTimes } = from
  if (clientVersion < MAX_RECONSUME_VERSION || maxReconsumeTimes === undefined) return ofGroup
  return maxReconsumeTimes
}
