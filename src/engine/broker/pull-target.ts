import { BrokerError } from '../../core/base/index.ts'
import { matchesTagsCode, parseTagExpression } from '../../model/filter/index.ts'
import { PERM_READ } from '../../model/wire/index.ts'
import type { ConsumeQueue } from '../store/index.ts'
import type { ClientRegistry } from './clients.ts'
import type { GroupTable } from './groups.ts'
import type { TopicTable } from './topics.ts'

/** What a consumer wants: as the request says, or as its group's heartbeats have said. */
export type WantedTags =
  | { readonly kind: 'request'; readonly expressionType: string; readonly expression: string }
  | {
      readonly kind: 'heartbeat'
      /** Of the client's own subscription: 0 matches any. */
      readonly version: number
    }

export interface PullTargetRequest {
  readonly group: string
  readonly topic: string
  readonly queueId: number
  readonly wanted: WantedTags
}

export interface PullTables {
  readonly topics: TopicTable
  readonly groups: GroupTable
  readonly clients: ClientRegistry
  readonly store: { queue(topic: string, queueId: number): ConsumeQueue }
}

export interface PullTarget {
  readonly queue: ConsumeQueue
  /** Tells by the consume queue's tags code; `undefined` takes all. */
  readonly accepts: ((tagsCode: number) => boolean) | undefined
}

/**
 * The queue that a pull reads, and which of its messages are wanted. Makes the group when it is
 * missing and may be made.
 *
 * Errors: GROUP_NAME_INVALID, GROUP_NOT_FOUND, TOO_MANY_GROUPS, NO_PERMISSION (the group is
 * switched off), TOPIC_NOT_FOUND, TOPIC_NOT_READABLE, QUEUE_OUT_OF_RANGE, SUBSCRIPTION_INVALID,
 * SUBSCRIPTION_NOT_FOUND, SUBSCRIPTION_NOT_LATEST, NOT_SUPPORTED (other expressions than tags).
 */
export function pullTarget(request: PullTargetRequest, tables: PullTables): PullTarget {
  const { topic: name, queueId } = request
  const group = tables.groups.createOnUse(request.group)
  if (!group.consumeEnable) {
    throw new BrokerError('NO_PERMISSION', { group: group.name, consumeEnable: 'false' })
  }
  const topic = tables.topics.get(name)
  if ((topic.perm & PERM_READ) === 0) throw new BrokerError('TOPIC_NOT_READABLE', { topic: name })
  if (queueId < 0 || queueId >= topic.readQueueCount) {
    const queueCount = topic.readQueueCount
    throw new BrokerError('QUEUE_OUT_OF_RANGE', { topic: name, queueId, queueCount })
  }
  const accepts = acceptsOf(request, tables.clients)
  const queue = (topic.queues[queueId] ??= tables.store.queue(name, queueId))
  return { queue, accepts }
}

function acceptsOf(request: PullTargetRequest, clients: ClientRegistry): PullTarget['accepts'] {
  const { wanted, group, topic } = request
  if (wanted.kind === 'request') return tagFilter(wanted.expressionType, wanted.expression)
  const subscription = clients.consumerGroup(group)?.subscription(topic)
  if (subscription === undefined) throw new BrokerError('SUBSCRIPTION_NOT_FOUND', { group, topic })
  if (wanted.version > subscription.version) {
    const { version } = subscription
    throw new BrokerError('SUBSCRIPTION_NOT_LATEST', { group, topic, version })
  }
  return tagFilter(subscription.expressionType, subscription.expression)
}

function tagFilter(expressionType: string, expression: string): PullTarget['accepts'] {
  if (expressionType !== '' && expressionType !== 'TAG') {
    throw new BrokerError('NOT_SUPPORTED', { expressionType: expressionType.slice(0, 32) })
  }
  const filter = parseTagExpression(expression)
  if (filter.kind === 'all') return undefined
  return tagsCode => matchesTagsCode(filter, tagsCode)
}
