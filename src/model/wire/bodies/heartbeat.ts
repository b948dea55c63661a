import { bodyObject } from './body-object.ts'
import { type SubscriptionData, subscriptionFrom, subscriptionJson } from './subscription.ts'

/** These lists are in RocketMQ's order, because some clients send the index. */
export const CONSUME_TYPES = ['CONSUME_ACTIVELY', 'CONSUME_PASSIVELY', 'CONSUME_POP'] as const
export const MESSAGE_MODELS = ['BROADCASTING', 'CLUSTERING'] as const
const CONSUME_FROM_WHERES = [
  'CONSUME_FROM_LAST_OFFSET',
  'CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST',
  'CONSUME_FROM_MIN_OFFSET',
  'CONSUME_FROM_MAX_OFFSET',
  'CONSUME_FROM_FIRST_OFFSET',
  'CONSUME_FROM_TIMESTAMP',
] as const
export type ConsumeType = (typeof CONSUME_TYPES)[number]
export type MessageModel = (typeof MESSAGE_MODELS)[number]

/** Who a client is and what it does: the body of HEART_BEAT (34). */
export interface Heartbeat {
  readonly clientId: string
  /** 0 unless the client speaks the second version of heartbeats. */
  readonly fingerprint: number
  /** The subscriptions are left out because they are those of the last heartbeat. */
  readonly withoutSubscriptions: boolean
  readonly producerGroups: readonly string[]
  readonly consumers: readonly ConsumerData[]
}

export interface ConsumerData {
  readonly group: string
  readonly consumeType: ConsumeType
  readonly messageModel: MessageModel
  /** Such as `CONSUME_FROM_LAST_OFFSET`; only clients act on it. */
  readonly consumeFromWhere: string
  readonly subscriptions: readonly SubscriptionData[]
  readonly unitMode: boolean
}

export function decodeHeartbeat(body: Uint8Array): Heartbeat {
  const heartbeat = bodyObject(body)
  return {
    clientId: heartbeat.text('clientID'),
    fingerprint: heartbeat.int32('heartbeatFingerprint', 0),
    withoutSubscriptions: heartbeat.flag('withoutSub', false),
    producerGroups: heartbeat
      .objects('producerDataSet')
      .map(producer => producer.text('groupName')),
    consumers: heartbeat.objects('consumerDataSet').map(consumer => ({
      group: consumer.text('groupName'),
      consumeType: consumer.word('consumeType', CONSUME_TYPES, 'CONSUME_PASSIVELY'),
      messageModel: consumer.word('messageModel', MESSAGE_MODELS, 'CLUSTERING'),
      consumeFromWhere: consumer.word(
        'consumeFromWhere',
        CONSUME_FROM_WHERES,
        'CONSUME_FROM_LAST_OFFSET',
      ),
      subscriptions: consumer.objects('subscriptionDataSet').map(subscriptionFrom),
      unitMode: consumer.flag('unitMode', false),
    })),
  }
}

export function encodeHeartbeat(heartbeat: Heartbeat): Buffer {
  return Buffer.from(
    JSON.stringify({
      clientID: heartbeat.clientId,
      consumerDataSet: heartbeat.consumers.map(consumer => ({
        consumeFromWhere: consumer.consumeFromWhere,
        consumeType: consumer.consumeType,
        groupName: consumer.group,
        messageModel: consumer.messageModel,
        subscriptionDataSet: consumer.subscriptions.map(subscriptionJson),
        unitMode: consumer.unitMode,
      })),
      heartbeatFingerprint: heartbeat.fingerprint,
      producerDataSet: heartbeat.producerGroups.map(groupName => ({ groupName })),
      withoutSub: heartbeat.withoutSubscriptions,
    }),
  )
}
