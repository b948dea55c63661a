import { expect, test } from 'vitest'
import type { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import type { TopicTable } from '../../engine/broker/index.ts'
import { configWorld, openTopics } from '../../engine/broker/testing.ts'
import { OpenAccess, type Access } from '../../model/access/index.ts'
import { decodeClusterInfo, decodeTopicRoute, REQUEST_CODE } from '../../model/wire/index.ts'
import { NameServer, type NameServerParts } from './name-server.ts'
import type { NameServerReply } from './route-answer.ts'

const { GET_ROUTEINFO_BY_TOPIC, GET_BROKER_CLUSTER_INFO } = REQUEST_CODE

interface Asked {
  readonly world: SimulatedWorld
  readonly topics: TopicTable
  readonly ask: (code: number, topic?: string, localHost?: string) => NameServerReply
}

async function nameServer(changes: Partial<NameServerParts> = {}): Promise<Asked> {
  const world = await configWorld()
  const topics = await openTopics(world)
  const server = new NameServer({
    topics,
    access: new OpenAccess(),
    log: world.platform.log,
    brokerName: 'broker-a',
    clusterName: 'DefaultCluster',
    brokerPort: 10_911,
    advertisedAddress: undefined,
    ...changes,
  })
  const ask: Asked['ask'] = (code, topic, localHost = '192.168.1.2') => {
    const extFields: Record<string, string> = topic === undefined ? {} : { topic }
    return server.answer({
      header: { code, extFields },
      connection: { localHost, remoteHost: '10.0.0.1' },
    })
  }
  return { world, topics, ask }
}

test('a topic is routed to the address that the client has reached', async () => {
  const { topics, ask } = await nameServer()
  topics.createOnUse('orders', 4)
  const reply = ask(GET_ROUTEINFO_BY_TOPIC, 'orders')
  expect(reply.code).toBe(0)
  expect(decodeTopicRoute(reply.body ?? Buffer.alloc(0))).toEqual({
    brokerDatas: [
      {
        brokerName: 'broker-a',
        cluster: 'DefaultCluster',
        brokerAddrs: { 0: '192.168.1.2:10911' },
      },
    ],
    queueDatas: [
      { brokerName: 'broker-a', perm: 6, readQueueNums: 4, writeQueueNums: 4, topicSysFlag: 0 },
    ],
    orderTopicConf: undefined,
  })
})

test.each([
  ['::1', '[::1]:10911'],
  ['fe80::1%eth0', '[fe80::1]:10911'],
  ['127.0.0.1', '127.0.0.1:10911'],
])('a client that has reached %s is sent to %s', async (localHost, address) => {
  const { ask } = await nameServer()
  const { body } = ask(GET_ROUTEINFO_BY_TOPIC, 'TBW102', localHost)
  const [broker] = decodeTopicRoute(body ?? Buffer.alloc(0)).brokerDatas
  expect(broker?.brokerAddrs).toEqual({ 0: address })
})

test('an advertised address goes to everybody', async () => {
  const { ask } = await nameServer({ advertisedAddress: 'mq.example.com:31911' })
  for (const host of ['127.0.0.1', '172.17.0.2']) {
    const route = decodeTopicRoute(
      ask(GET_ROUTEINFO_BY_TOPIC, 'TBW102', host).body ?? Buffer.alloc(0),
    )
    expect(route.brokerDatas[0]?.brokerAddrs).toEqual({ 0: 'mq.example.com:31911' })
  }
})

test('the route has no blanks, at which Go clients would stumble', async () => {
  const { ask } = await nameServer()
  expect(ask(GET_ROUTEINFO_BY_TOPIC, 'TBW102').body?.toString()).not.toMatch(/\s/)
})

test('an unknown topic has no route until it is made', async () => {
  const { topics, ask } = await nameServer()
  expect(ask(GET_ROUTEINFO_BY_TOPIC, 'orders')).toEqual({
    code: 17,
    remark: 'No topic route info in name server for the topic: orders',
  })
  topics.createOnUse('orders', 4)
  expect(ask(GET_ROUTEINFO_BY_TOPIC, 'orders').code).toBe(0)
})

test('the template of new topics has a route with the permission to inherit from it', async () => {
  const { ask } = await nameServer()
  const { queueDatas } = decodeTopicRoute(
    ask(GET_ROUTEINFO_BY_TOPIC, 'TBW102').body ?? Buffer.alloc(0),
  )
  expect(queueDatas).toMatchObject([{ perm: 7, readQueueNums: 8, writeQueueNums: 8 }])
})

test('the cluster has one broker', async () => {
  const { ask } = await nameServer()
  const { body } = ask(GET_BROKER_CLUSTER_INFO)
  expect(decodeClusterInfo(body ?? Buffer.alloc(0))).toEqual({
    brokers: [
      {
        brokerName: 'broker-a',
        cluster: 'DefaultCluster',
        brokerAddrs: { 0: '192.168.1.2:10911' },
      },
    ],
  })
})

test('a request without a topic, and one that is not known, are answered and not fatal', async () => {
  const { ask } = await nameServer()
  expect(ask(GET_ROUTEINFO_BY_TOPIC).code).toBe(29)
  expect(ask(GET_ROUTEINFO_BY_TOPIC, '').code).toBe(29)
  expect(ask(REQUEST_CODE.REGISTER_BROKER)).toEqual({
    code: 3,
    remark: ' request type 103 not supported (REGISTER_BROKER)',
  })
  expect(ask(4711)).toEqual({ code: 3, remark: ' request type 4711 not supported' })
})

test('what is refused is logged once for each code, and not without end', async () => {
  const { world, ask } = await nameServer()
  for (let code = 5000; code < 6000; code++) {
    ask(code)
    ask(code)
  }
  expect(world.logLines.filter(({ message }) => message.includes('not supported')).length).toBe(100)
})

test('who may not read a topic does not learn where it is', async () => {
  const access: Access = {
    decide: ({ topic }) =>
      topic === 'secret' ? { kind: 'denied', reason: 'not for you' } : { kind: 'allowed' },
  }
  const { topics, ask } = await nameServer({ access })
  topics.createOnUse('secret', 4)
  expect(ask(GET_ROUTEINFO_BY_TOPIC, 'secret')).toEqual({ code: 16, remark: 'not for you' })
  expect(ask(GET_ROUTEINFO_BY_TOPIC, 'TBW102').code).toBe(0)
})
