import { expect, test } from 'vitest'
import {
  RemotingWorld,
  sendFields,
  type WireClient,
  type WireFrame,
} from '../../../../test/support/remoting-world.ts'
import { decodeTopicConfig, decodeTopicStats, REQUEST_CODE } from '../../../model/wire/index.ts'
import { servedProcessors } from './served.ts'

const FIELDS = {
  topic: 'orders',
  defaultTopic: 'TBW102',
  readQueueNums: '3',
  writeQueueNums: '2',
  perm: '6',
  topicFilterType: 'SINGLE_TAG',
  topicSysFlag: '0',
  order: 'false',
}

async function open(): Promise<{ readonly world: RemotingWorld; readonly client: WireClient }> {
  const world = await RemotingWorld.open({ processors: servedProcessors })
  return { world, client: await world.connect() }
}

function update(
  client: WireClient,
  changes: Record<string, string> = {},
): Promise<WireFrame | undefined> {
  const extFields = { ...FIELDS, ...changes }
  return client.ask({ code: REQUEST_CODE.UPDATE_AND_CREATE_TOPIC, extFields })
}

test('a topic made by a tool is durable when that is answered, and its settings are told', async () => {
  const { world, client } = await open()
  expect((await update(client, { attributes: '+message.type=DELAY' }))?.header.code).toBe(0)
  const code = REQUEST_CODE.GET_TOPIC_CONFIG
  const told = await client.ask({ code, extFields: { topic: 'orders' } })
  expect(decodeTopicConfig(told?.body ?? Buffer.alloc(0))).toEqual({
    topicName: 'orders',
    readQueueNums: 3,
    writeQueueNums: 2,
    perm: 6,
    topicFilterType: 'SINGLE_TAG',
    topicSysFlag: 0,
    order: false,
    attributes: { 'message.type': 'DELAY' },
  })
  world.world.crash()
  const { broker } = await RemotingWorld.reopen(world.world)
  expect(broker.topics.get('orders').readQueueCount).toBe(3)
  expect((await client.ask({ code, extFields: { topic: 'nothing' } }))?.header.code).not.toBe(0)
})

test.each([
  ['a bad name', { topic: 'or ders' }, 29],
  ['a system topic', { topic: 'SCHEDULE_TOPIC_XXXX' }, 29],
  ['too many queues', { readQueueNums: '5000' }, 29],
  ['a missing number', { perm: '' }, 29],
  ['an unknown filter', { topicFilterType: 'SQL' }, 29],
  ['neither true nor false', { order: 'maybe' }, 29],
  ['an attribute without meaning here', { attributes: '+queue.type=BatchCQ' }, 3],
])('%s is refused and makes no topic', async (_, changes, code) => {
  const { world, client } = await open()
  expect((await update(client, changes))?.header.code).toBe(code)
  expect(world.broker.topics.find('orders')).toBeUndefined()
})

test('on a full disk a topic is refused with the code for it', async () => {
  const { world, client } = await open()
  world.world.faults.failNext({ call: 'write', path: /topics/, error: 'STORE_FULL' })
  expect((await update(client))?.header.code).toBe(14)
  expect((await update(client))?.header.code).toBe(0)
})

test('the statistics of a topic list every queue, also those never written', async () => {
  const { world, client } = await open()
  await update(client)
  const extFields = sendFields('orders', {}, { e: '1' })
  await client.ask({ code: REQUEST_CODE.SEND_MESSAGE_V2, extFields }, Buffer.from('x'))
  const code = REQUEST_CODE.GET_TOPIC_STATS_INFO
  const answer = await client.ask({ code, extFields: { topic: 'orders' } })
  const storeTimeMs = await world.world.finish(
    world.store.storeTimeOf(world.store.queue('orders', 1), 0),
  )
  expect(decodeTopicStats(answer?.body ?? Buffer.alloc(0))).toEqual(
    [0, 1, 2].map(queueId => ({
      queue: { brokerName: 'broker-a', queueId, topic: 'orders' },
      minOffset: 0,
      maxOffset: queueId === 1 ? 1 : 0,
      lastUpdateTimestamp: queueId === 1 ? storeTimeMs : 0,
    })),
  )
  expect((await client.ask({ code, extFields: { topic: 'nothing' } }))?.header.code).toBe(17)
})

test('a group made by a tool has its settings, and leaves the default to the rest', async () => {
  const { world, client } = await open()
  const code = REQUEST_CODE.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
  const ask = async (config: object): Promise<number | undefined> => {
    const answer = await client.ask({ code }, Buffer.from(JSON.stringify(config)))
    return answer?.header.code
  }
  expect(await ask({ groupName: 'g', retryMaxTimes: 2 })).toBe(0)
  expect(world.broker.groups.get('g')).toMatchObject({ retryCountMax: 2, retryQueueCount: 1 })
  expect(await ask({ groupName: 'g', retryQueueNums: -1 })).toBe(29)
  expect(await ask({ groupName: 'a b' })).toBe(29)
  expect(await ask({})).toBe(29)
  expect(world.broker.groups.get('g')).toMatchObject({ retryCountMax: 2, retryQueueCount: 1 })
})
