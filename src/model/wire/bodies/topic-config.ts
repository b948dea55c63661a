import { type BodyObject, bodyObject } from './body-object.ts'

export const TOPIC_FILTER_TYPES = ['SINGLE_TAG', 'MULTI_TAG'] as const
export type TopicFilterType = (typeof TOPIC_FILTER_TYPES)[number]

/** Settings of a topic on a broker, as GET_TOPIC_CONFIG (351) answers and files keep them. */
export interface TopicConfig {
  readonly topicName: string
  readonly readQueueNums: number
  readonly writeQueueNums: number
  readonly perm: number
  readonly topicFilterType: TopicFilterType
  readonly topicSysFlag: number
  readonly order: boolean
  readonly attributes: Readonly<Record<string, string>>
}

export function topicConfigJson(config: TopicConfig): object {
  return {
    attributes: config.attributes,
    order: config.order,
    perm: config.perm,
    readQueueNums: config.readQueueNums,
    topicFilterType: config.topicFilterType,
    topicName: config.topicName,
    topicSysFlag: config.topicSysFlag,
    writeQueueNums: config.writeQueueNums,
  }
}

export function encodeTopicConfig(config: TopicConfig): Buffer {
  return Buffer.from(JSON.stringify(topicConfigJson(config)))
}

export function decodeTopicConfig(body: Uint8Array): TopicConfig {
  return topicConfigFrom(bodyObject(body))
}

/** Old tools leave out the newer fields. */
function topicConfigFrom(config: BodyObject): TopicConfig {
  return {
    topicName: config.text('topicName'),
    readQueueNums: config.int32('readQueueNums'),
    writeQueueNums: config.int32('writeQueueNums'),
    perm: config.int32('perm'),
    topicFilterType: config.word('topicFilterType', TOPIC_FILTER_TYPES, 'SINGLE_TAG'),
    topicSysFlag: config.int32('topicSysFlag', 0),
    order: config.flag('order', false),
    attributes: Object.fromEntries(config.table('attributes')),
  }
}
