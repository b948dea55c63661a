import { type BodyObject, bodyObject } from './body-object.ts'

/** Settings of a consumer group: body of UPDATE_AND_CREATE_SUBSCRIPTIONGROUP (200) and 352. */
export interface SubscriptionGroupConfig {
  readonly groupName: string
  readonly consumeEnable: boolean
  readonly consumeFromMinEnable: boolean
  readonly consumeBroadcastEnable: boolean
  readonly consumeMessageOrderly: boolean
  readonly retryQueueNums: number
  /** After so many retries a message goes to the dead letter topic. */
  readonly retryMaxTimes: number
  readonly consumeTimeoutMinute: number
  readonly brokerId: number
  readonly whichBrokerWhenConsumeSlowly: number
  /** Tells members at once when another one comes or goes. */
  readonly notifyConsumerIdsChangedEnable: boolean
  readonly groupSysFlag: number
  readonly attributes: Readonly<Record<string, string>>
}

/** The settings of a group that nobody has set anything for. */
export function defaultSubscriptionGroupConfig(groupName: string): SubscriptionGroupConfig {
  return {
    groupName,
    consumeEnable: true,
    consumeFromMinEnable: true,
    consumeBroadcastEnable: true,
    consumeMessageOrderly: false,
    retryQueueNums: 1,
    retryMaxTimes: 16,
    consumeTimeoutMinute: 15,
    brokerId: 0,
    whichBrokerWhenConsumeSlowly: 1,
    notifyConsumerIdsChangedEnable: true,
    groupSysFlag: 0,
    attributes: {},
  }
}

export function subscriptionGroupConfigJson(config: SubscriptionGroupConfig): object {
  return {
    attributes: config.attributes,
    brokerId: config.brokerId,
    consumeBroadcastEnable: config.consumeBroadcastEnable,
    consumeEnable: config.consumeEnable,
    consumeFromMinEnable: config.consumeFromMinEnable,
    consumeMessageOrderly: config.consumeMessageOrderly,
    consumeTimeoutMinute: config.consumeTimeoutMinute,
    groupName: config.groupName,
    groupRetryPolicy: { type: 'CUSTOMIZED' },
    groupSysFlag: config.groupSysFlag,
    notifyConsumerIdsChangedEnable: config.notifyConsumerIdsChangedEnable,
    retryMaxTimes: config.retryMaxTimes,
    retryQueueNums: config.retryQueueNums,
    whichBrokerWhenConsumeSlowly: config.whichBrokerWhenConsumeSlowly,
  }
}

export function decodeSubscriptionGroupConfig(body: Uint8Array): SubscriptionGroupConfig {
  return subscriptionGroupConfigFrom(bodyObject(body))
}

function subscriptionGroupConfigFrom(config: BodyObject): SubscriptionGroupConfig {
  const absent = defaultSubscriptionGroupConfig(config.text('groupName'))
  const flag = (name: FlagName): boolean => config.flag(name, absent[name])
  const int32 = (name: NumberName): number => config.int32(name, absent[name])
  return {
    groupName: absent.groupName,
    consumeEnable: flag('consumeEnable'),
    consumeFromMinEnable: flag('consumeFromMinEnable'),
    consumeBroadcastEnable: flag('consumeBroadcastEnable'),
    consumeMessageOrderly: flag('consumeMessageOrderly'),
    retryQueueNums: int32('retryQueueNums'),
    retryMaxTimes: int32('retryMaxTimes'),
    consumeTimeoutMinute: int32('consumeTimeoutMinute'),
    brokerId: config.integer('brokerId', absent.brokerId),
    whichBrokerWhenConsumeSlowly: config.integer(
      'whichBrokerWhenConsumeSlowly',
      absent.whichBrokerWhenConsumeSlowly,
    ),
    notifyConsumerIdsChangedEnable: flag('notifyConsumerIdsChangedEnable'),
    groupSysFlag: int32('groupSysFlag'),
    attributes: Object.fromEntries(config.table('attributes')),
  }
}

type FlagName =
  | 'consumeEnable'
  | 'consumeFromMinEnable'
  | 'consumeBroadcastEnable'
  | 'consumeMessageOrderly'
  | 'notifyConsumerIdsChangedEnable'
type NumberName = 'retryQueueNums' | 'retryMaxTimes' | 'consumeTimeoutMinute' | 'groupSysFlag'
