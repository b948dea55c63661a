import { type BodyObject, bodyObject } from './body-object.ts'

/** Bits of a queue's permission. */
export const PERM_READ = 4
export const PERM_WRITE = 2
export const PERM_INHERIT = 1

/** Where the queues of a topic lie: the body of GET_ROUTEINFO_BY_TOPIC (105). */
export interface TopicRoute {
  readonly brokerDatas: readonly BrokerData[]
  readonly queueDatas: readonly QueueData[]
  readonly orderTopicConf?: string | undefined
}

export interface BrokerData {
  /** `host:port` by broker id; the id 0 is the master's. */
  readonly brokerAddrs: Readonly<Record<string, string>>
  readonly brokerName: string
  readonly cluster: string
}

export interface QueueData {
  readonly brokerName: string
  readonly perm: number
  readonly readQueueNums: number
  readonly topicSysFlag: number
  readonly writeQueueNums: number
}

/** Standard JSON, compact: Go clients cut addresses out of the text, so no blanks. */
export function encodeTopicRoute(route: TopicRoute): Buffer {
  return Buffer.from(
    JSON.stringify({
      brokerDatas: route.brokerDatas.map(brokerDataJson),
      filterServerTable: {},
      orderTopicConf: route.orderTopicConf,
      queueDatas: route.queueDatas.map(queue => ({
        brokerName: queue.brokerName,
        perm: queue.perm,
        readQueueNums: queue.readQueueNums,
        topicSysFlag: queue.topicSysFlag,
        writeQueueNums: queue.writeQueueNums,
      })),
    }),
  )
}

export function brokerDataJson(broker: BrokerData): object {
  return {
    brokerAddrs: broker.brokerAddrs,
    brokerName: broker.brokerName,
    cluster: broker.cluster,
    enableActingMaster: false,
  }
}

export function decodeTopicRoute(body: Uint8Array): TopicRoute {
  const route = bodyObject(body)
  return {
    brokerDatas: route.objects('brokerDatas').map(brokerDataFrom),
    queueDatas: route.objects('queueDatas').map(queue => ({
      brokerName: queue.text('brokerName'),
      perm: queue.int32('perm'),
      readQueueNums: queue.int32('readQueueNums'),
      topicSysFlag: queue.int32('topicSysFlag', 0),
      writeQueueNums: queue.int32('writeQueueNums'),
    })),
    orderTopicConf: route.has('orderTopicConf') ? route.text('orderTopicConf') : undefined,
  }
}

export function brokerDataFrom(broker: BodyObject): BrokerData {
  return {
    brokerAddrs: Object.fromEntries(broker.table('brokerAddrs')),
    brokerName: broker.text('brokerName'),
    cluster: broker.text('cluster', ''),
  }
}
