import type { Topic, TopicTable } from '../../engine/broker/index.ts'
import {
  encodeClusterInfo,
  encodeTopicRoute,
  RESPONSE_CODE,
  type BrokerData,
  type QueueData,
} from '../../model/wire/index.ts'

/** The one broker that there is. */
export interface RouteBroker {
  readonly brokerName: string
  readonly clusterName: string
  /** `host:port`, as the client that asks can reach it. */
  readonly address: string
}

export interface NameServerReply {
  readonly code: number
  readonly remark?: string
  readonly body?: Buffer
}

/**
 * GET_ROUTEINFO_BY_TOPIC (105): how many queues a topic has, and where.
 *
 * Errors: 17 for an unknown topic, with Apache's sentence: clients go by the code, people by it.
 */
export function topicRouteAnswer(
  name: string,
  topics: TopicTable,
  broker: RouteBroker,
): NameServerReply {
  const topic = topics.find(name)
  if (topic === undefined) {
    const remark = `No topic route info in name server for the topic: ${name.slice(0, 255)}`
    return { code: RESPONSE_CODE.TOPIC_NOT_EXIST, remark }
  }
  const queueDatas = [queueDataOf(topic, broker.brokerName)]
  const body = encodeTopicRoute({ brokerDatas: [brokerDataOf(broker)], queueDatas })
  return { code: RESPONSE_CODE.SUCCESS, body }
}

/** GET_BROKER_CLUSTER_INFO (106): all brokers and clusters. */
export function clusterInfoAnswer(broker: RouteBroker): NameServerReply {
  const body = encodeClusterInfo({ brokers: [brokerDataOf(broker)] })
  return { code: RESPONSE_CODE.SUCCESS, body }
}

function queueDataOf(topic: Topic, brokerName: string): QueueData {
  return {
    brokerName,
    perm: topic.perm,
    readQueueNums: topic.readQueueCount,
    topicSysFlag: topic.topicSysFlag,
    writeQueueNums: topic.writeQueueCount,
  }
}

/** Clients take the address under 0, the master's, for everything. */
function brokerDataOf(broker: RouteBroker): BrokerData {
  const { brokerName, clusterName: cluster, address } = broker
  return { brokerAddrs: { 0: address }, brokerName, cluster }
}
