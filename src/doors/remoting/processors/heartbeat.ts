import type { ConsumerHeartbeat, Group, Topic } from '../../../engine/broker/index.ts'
import {
  decodeHeartbeat,
  REQUEST_CODE,
  RESPONSE_CODE,
  type ConsumerData,
  type SubscriptionData,
} from '../../../model/wire/index.ts'
import type { DoorContext, Processor, Reply, Resources } from '../processor.ts'
import { expressionRefused, isTagExpression } from '../filter-expressions.ts'

/** Bit of a retry topic whose consumers belong to a unit. */
const UNIT_SUB_FLAG = 2

/**
 * HEART_BEAT (34): which groups a connection produces and consumes in, and what it wants. Makes
 * the consumers' groups and their retry topics; answered when these are durable.
 *
 * Request   body HeartbeatData
 * Response  IS_SUPPORT_HEART_BEAT_V2: false, so that clients name their topics every time;
 *           IS_SUB_CHANGE: true
 * Errors    PARAMETER_INVALID, GROUP_NAME_INVALID, TOO_MANY_GROUPS, TOO_MANY_TOPICS;
 *           NOT_SUPPORTED when a subscription is not made of tags (all others are registered)
 */
export const heartbeat: Processor = {
  code: REQUEST_CODE.HEART_BEAT,
  name: 'HEART_BEAT',
  action: 'receive',
  resources({ body }) {
    return decodeHeartbeat(body).consumers.flatMap(({ group, subscriptions }): Resources[] => [
      { group },
      ...subscriptions.map(({ topic }) => ({ group, topic })),
    ])
  },
  async handle({ body, header, connection }, context) {
    const sent = decodeHeartbeat(body)
    const made = sent.consumers.map(consumer => makeGroup(consumer, context))
    const { language, version } = header
    context.clients.heartbeat(connection, {
      clientId: sent.clientId,
      language,
      version,
      producerGroups: sent.producerGroups,
      consumers: sent.consumers.map(consumer =>
        consumerHeartbeat(consumer, sent.withoutSubscriptions),
      ),
    })
    for (const { group, topic } of made) {
      await group.durable
      await topic.durable
    }
    return reply(sent.consumers, context)
  },
}

function makeGroup(
  consumer: ConsumerData,
  { groups, topics }: DoorContext,
): { readonly group: Group; readonly topic: Topic } {
  const group = groups.createOnUse(consumer.group)
  const topicSysFlag = consumer.unitMode ? UNIT_SUB_FLAG : 0
  const queueCount = Math.max(1, group.retryQueueCount)
  return { group, topic: topics.retryTopicOf(group.name, queueCount, topicSysFlag) }
}

function consumerHeartbeat(
  consumer: ConsumerData,
  withoutSubscriptions: boolean,
): ConsumerHeartbeat {
  const { group, consumeType, messageModel, consumeFromWhere } = consumer
  const subscriptions = withoutSubscriptions
    ? undefined
    : consumer.subscriptions.filter(isTagExpression).map(subscriptionOf)
  return { group, consumeType, messageModel, consumeFromWhere, subscriptions }
}

function subscriptionOf(sent: SubscriptionData): {
  topic: string
  expressionType: string
  expression: string
  version: number
} {
  const { topic, expressionType, subString: expression, subVersion: version } = sent
  return { topic, expressionType, expression, version }
}

function reply(consumers: readonly ConsumerData[], context: DoorContext): Reply {
  const refused = consumers
    .flatMap(({ subscriptions }) => subscriptions)
    .find(subscription => !isTagExpression(subscription))
  if (refused !== undefined) throw expressionRefused(refused.expressionType, context.onceLog)
  const extFields = { IS_SUPPORT_HEART_BEAT_V2: 'false', IS_SUB_CHANGE: 'true' }
  return { code: RESPONSE_CODE.SUCCESS, extFields }
}
