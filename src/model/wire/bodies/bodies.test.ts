import { expect, test } from 'vitest'
import { decodeCheckClient, encodeCheckClient } from './check-client.ts'
import { decodeClusterInfo, encodeClusterInfo } from './cluster-info.ts'
import { decodeConsumerList, encodeConsumerList } from './consumer-list.ts'
import { decodeHeartbeat, encodeHeartbeat } from './heartbeat.ts'
import { decodeKvTable, encodeKvTable } from './kv-table.ts'
import {
  decodeLockBatch,
  decodeLockedQueues,
  encodeLockBatch,
  encodeLockedQueues,
} from './lock-batch.ts'
import {
  decodeSubscriptionGroupConfig,
  defaultSubscriptionGroupConfig,
  subscriptionGroupConfigJson,
} from './subscription-group-config.ts'
import { decodeTopicConfig, encodeTopicConfig } from './topic-config.ts'
import { decodeTopicRoute, encodeTopicRoute } from './topic-route.ts'
import { decodeTopicStats, encodeTopicStats } from './topic-stats.ts'

const broker = {
  brokerAddrs: { '0': '127.0.0.1:10911' },
  brokerName: 'broker-a',
  cluster: 'DefaultCluster',
}
const queue = { brokerName: 'broker-a', queueId: 0, topic: 'T' }
const queueData = {
  brokerName: 'broker-a',
  perm: 6,
  readQueueNums: 4,
  topicSysFlag: 0,
  writeQueueNums: 4,
}
const subscription = {
  topic: 'T',
  expressionType: 'TAG',
  subString: 'TagA || TagB',
  tagsSet: ['TagA', 'TagB'],
  codeSet: [2_598_919, 2_598_920],
  subVersion: 1_700_000_000_000,
}

/** What Java clients send and brokers answer, as the protocol reference shows them. */
const SHOWN = {
  route:
    '{"brokerDatas":[{"brokerAddrs":{"0":"127.0.0.1:10911"},"brokerName":"broker-a","cluster":"DefaultCluster","enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}',
  heartbeat:
    '{"clientID":"10.0.0.1@12#345","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","consumeType":"CONSUME_PASSIVELY","groupName":"cg","messageModel":"CLUSTERING","subscriptionDataSet":[{"classFilterMode":false,"codeSet":[2598919,2598920],"expressionType":"TAG","subString":"TagA || TagB","subVersion":1700000000000,"tagsSet":["TagA","TagB"],"topic":"T"}],"unitMode":false}],"heartbeatFingerprint":0,"producerDataSet":[{"groupName":"pg"}],"withoutSub":false}',
  topicConfig:
    '{"attributes":{},"order":false,"perm":6,"readQueueNums":4,"topicFilterType":"SINGLE_TAG","topicName":"T","topicSysFlag":0,"writeQueueNums":4}',
  group:
    '{"attributes":{},"brokerId":0,"consumeBroadcastEnable":true,"consumeEnable":true,"consumeFromMinEnable":true,"consumeMessageOrderly":false,"consumeTimeoutMinute":15,"groupName":"cg","groupRetryPolicy":{"type":"CUSTOMIZED"},"groupSysFlag":0,"notifyConsumerIdsChangedEnable":true,"retryMaxTimes":16,"retryQueueNums":1,"whichBrokerWhenConsumeSlowly":1}',
  stats:
    '{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"TopicTest"}:{"lastUpdateTimestamp":0,"maxOffset":5,"minOffset":0}},"topicPutTps":0.0}',
}

test('a route is written as the reference shows and read again', () => {
  const route = { brokerDatas: [broker], queueDatas: [queueData], orderTopicConf: undefined }
  expect(encodeTopicRoute(route).toString()).toBe(SHOWN.route)
  expect(decodeTopicRoute(Buffer.from(SHOWN.route))).toEqual(route)
})

test('a route with broker ids that are not quoted is read', () => {
  const old = SHOWN.route.replace('"0":', '0:')
  expect(decodeTopicRoute(Buffer.from(old)).brokerDatas).toEqual([broker])
})

test('the cluster lists every broker once', () => {
  const info = { brokers: [broker, { ...broker, brokerName: 'broker-b' }] }
  const text = encodeClusterInfo(info).toString()
  expect(text).toContain('"clusterAddrTable":{"DefaultCluster":["broker-a","broker-b"]}')
  expect(decodeClusterInfo(Buffer.from(text))).toEqual(info)
})

test('a heartbeat of the C++ client has an index for each word, that of Go nanoseconds', () => {
  const cpp =
    '{"clientID":"24267-127.0.0.1@DEFAULT","consumerDataSet":[{"consumeFromWhere":0,"consumeType":1,"groupName":"gp","messageModel":1,"subscriptionDataSet":[{"subString":"*","subVersion":"1796055054103","topic":"tp"}]}]}'
  const [consumer] = decodeHeartbeat(Buffer.from(cpp)).consumers
  expect(consumer?.consumeType).toBe('CONSUME_PASSIVELY')
  expect(consumer?.messageModel).toBe('CLUSTERING')
  expect(consumer?.consumeFromWhere).toBe('CONSUME_FROM_LAST_OFFSET')
  expect(consumer?.subscriptions[0]?.subVersion).toBe(1_796_055_054_103)
  const go = Buffer.from(cpp.replace('"1796055054103"', '1796054998128896923'))
  const version = decodeHeartbeat(go).consumers[0]?.subscriptions[0]?.subVersion
  expect(version).toBe(Number('1796054998128896923'))
})

test('a heartbeat is read as shown and written so again', () => {
  const heartbeat = decodeHeartbeat(Buffer.from(SHOWN.heartbeat))
  expect(heartbeat.consumers[0]?.subscriptions).toEqual([subscription])
  expect(heartbeat.producerGroups).toEqual(['pg'])
  expect(encodeHeartbeat(heartbeat).toString()).toBe(SHOWN.heartbeat)
})

test('a heartbeat of an old client lacks the newer fields', () => {
  const heartbeat = decodeHeartbeat(
    Buffer.from('{"clientID":"c","consumerDataSet":[],"producerDataSet":[]}'),
  )
  expect(heartbeat).toMatchObject({ clientId: 'c', fingerprint: 0, withoutSubscriptions: false })
})

test('settings of topics and groups are written as shown and read again', () => {
  const topic = decodeTopicConfig(Buffer.from(SHOWN.topicConfig))
  expect(encodeTopicConfig(topic).toString()).toBe(SHOWN.topicConfig)
  const group = decodeSubscriptionGroupConfig(Buffer.from(SHOWN.group))
  expect(group).toEqual(defaultSubscriptionGroupConfig('cg'))
  expect(JSON.stringify(subscriptionGroupConfigJson(group))).toBe(SHOWN.group)
  expect(decodeSubscriptionGroupConfig(Buffer.from('{"groupName":"cg"}'))).toEqual(group)
})

test('topic statistics have queues as names, as Java reads them', () => {
  const stats = decodeTopicStats(Buffer.from(SHOWN.stats))
  expect(stats).toEqual([
    { queue: { ...queue, topic: 'TopicTest' }, minOffset: 0, maxOffset: 5, lastUpdateTimestamp: 0 },
  ])
  expect(encodeTopicStats(stats).toString()).toBe(SHOWN.stats)
})

test('lists, tables, locks and checks are read as they were written', () => {
  const lock = { clientId: 'c', consumerGroup: 'cg', queues: [queue] }
  expect(decodeLockBatch(encodeLockBatch(lock))).toEqual(lock)
  expect(decodeLockedQueues(encodeLockedQueues([queue]))).toEqual([queue])
  expect(decodeConsumerList(encodeConsumerList(['a', 'b']))).toEqual(['a', 'b'])
  expect(Array.from(decodeKvTable(encodeKvTable([['k', 'v']])))).toEqual([['k', 'v']])
  const check = { clientId: 'c', group: 'cg', subscription }
  expect(decodeCheckClient(encodeCheckClient(check))).toEqual(check)
})

test.each([
  ['is no object', '[]', ''],
  ['lacks a field', '{"consumerDataSet":[]}', 'clientID'],
  ['has a number for a string', '{"clientID":1}', 'clientID'],
  ['has an object for a list', '{"clientID":"c","consumerDataSet":{}}', 'consumerDataSet'],
  [
    'has a string in a list of objects',
    '{"clientID":"c","producerDataSet":["x"]}',
    'producerDataSet[0]',
  ],
  [
    'has an unknown model',
    '{"clientID":"c","consumerDataSet":[{"groupName":"g","messageModel":"X"}]}',
    'consumerDataSet[0].messageModel',
  ],
])('a heartbeat that %s is refused with the place', (_, body, field) => {
  expect(() => decodeHeartbeat(Buffer.from(body))).toThrow(
    expect.objectContaining({
      code: 'PARAMETER_INVALID',
      details: expect.objectContaining({ field }),
    }),
  )
})
