import { bodyObject } from './body-object.ts'
import { type BrokerData, brokerDataFrom, brokerDataJson } from './topic-route.ts'

/** All brokers: the body of GET_BROKER_CLUSTER_INFO (106). */
export interface ClusterInfo {
  readonly brokers: readonly BrokerData[]
}

export function encodeClusterInfo(info: ClusterInfo): Buffer {
  const brokerAddrTable = new Map<string, object>()
  const clusterAddrTable = new Map<string, string[]>()
  for (const broker of info.brokers) {
    brokerAddrTable.set(broker.brokerName, brokerDataJson(broker))
    const names = clusterAddrTable.get(broker.cluster) ?? []
    names.push(broker.brokerName)
    clusterAddrTable.set(broker.cluster, names)
  }
  return Buffer.from(
    JSON.stringify({
      brokerAddrTable: Object.fromEntries(brokerAddrTable),
      clusterAddrTable: Object.fromEntries(clusterAddrTable),
    }),
  )
}

export function decodeClusterInfo(body: Uint8Array): ClusterInfo {
  const table = bodyObject(body).object('brokerAddrTable')
  return { brokers: table.names().map(name => brokerDataFrom(table.object(name))) }
}
