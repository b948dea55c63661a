import { expect, test } from 'vitest'
import {
  RemotingWorld,
  type WireClient,
  type WireFrame,
} from '../../../../test/support/remoting-world.ts'
import {
  decodeConsumerList,
  encodeCheckClient,
  encodeHeartbeat,
  isOneway,
  REQUEST_CODE,
  type ConsumerData,
} from '../../../model/wire/index.ts'
import { servedProcessors } from './served.ts'

const SUBSCRIPTION = {
  topic: 'orders',
  expressionType: 'TAG',
  subString: 'a || b',
  tagsSet: ['a', 'b'],
  codeSet: [97, 98],
  subVersion: 5,
}

function consumerOf(changes: Partial<ConsumerData> = {}): ConsumerData {
  return {
    group: 'g',
    consumeType: 'CONSUME_PASSIVELY',
    messageModel: 'CLUSTERING',
    consumeFromWhere: 'CONSUME_FROM_LAST_OFFSET',
    subscriptions: [SUBSCRIPTION],
    unitMode: false,
    ...changes,
  }
}

function beat(
  client: WireClient,
  clientId: string,
  consumers: readonly ConsumerData[] = [consumerOf()],
): Promise<WireFrame | undefined> {
  const body = encodeHeartbeat({
    clientId,
    fingerprint: 0,
    withoutSubscriptions: false,
    producerGroups: ['p'],
    consumers,
  })
  return client.ask({ code: REQUEST_CODE.HEART_BEAT, version: 399, language: 'GO' }, body)
}

function notices({ received }: WireClient): readonly WireFrame[] {
  return received.filter(({ header }) => header.code === REQUEST_CODE.NOTIFY_CONSUMER_IDS_CHANGED)
}

function members(client: WireClient, consumerGroup = 'g'): Promise<WireFrame | undefined> {
  const code = REQUEST_CODE.GET_CONSUMER_LIST_BY_GROUP
  return client.ask({ code, extFields: { consumerGroup } })
}

function openWorld(): Promise<RemotingWorld> {
  return RemotingWorld.open({ processors: servedProcessors })
}

test('a heartbeat makes the group and its retry topic before it is answered', async () => {
  const world = await openWorld()
  const client = await world.connect()
  const answer = await beat(client, 'a')
  expect(answer?.header).toMatchObject({
    code: 0,
    extFields: { IS_SUPPORT_HEART_BEAT_V2: 'false', IS_SUB_CHANGE: 'true' },
  })
  world.world.crash()
  const { broker } = await RemotingWorld.reopen(world.world)
  expect(broker.groups.find('g')).toBeDefined()
  expect(broker.topics.find('%RETRY%g')).toMatchObject({ writeQueueCount: 1, perm: 6 })
})

test('a heartbeat registers client, subscription and producer', async () => {
  const world = await openWorld()
  await beat(await world.connect(), 'a')
  const { clients } = world.broker
  expect([...(clients.consumerGroup('g')?.members.values() ?? [])]).toMatchObject([
    { clientId: 'a', version: 399, language: 'GO' },
  ])
  expect(clients.consumerGroup('g')?.subscription('orders')).toEqual({
    topic: 'orders',
    expressionType: 'TAG',
    expression: 'a || b',
    version: 5,
  })
})

test('members hear one-way of a newcomer, of one that leaves and of one whose connection ends', async () => {
  const world = await openWorld()
  const [a, b, c] = [await world.connect(), await world.connect(), await world.connect()]
  await beat(a, 'a')
  await beat(b, 'b')
  await world.world.run(() => notices(a).length === 2 && notices(b).length === 1)
  expect(notices(a)[0]?.header.extFields).toEqual({ consumerGroup: 'g' })
  expect(notices(a).every(({ header }) => isOneway(header))).toBe(true)
  const list = await members(c)
  expect(decodeConsumerList(list?.body ?? Buffer.alloc(0))).toEqual(['a', 'b'])
  const extFields = { clientID: 'b', consumerGroup: 'g', producerGroup: 'p' }
  expect((await b.ask({ code: REQUEST_CODE.UNREGISTER_CLIENT, extFields }))?.header.code).toBe(0)
  expect(await world.world.run(() => notices(a).length === 3)).toBe(true)
  await beat(c, 'c')
  await world.world.run(() => notices(a).length === 4)
  c.destroy()
  expect(await world.world.run(() => notices(a).length === 5)).toBe(true)
  expect(decodeConsumerList((await members(a))?.body ?? Buffer.alloc(0))).toEqual(['a'])
})

test('a group that wants no notices gets none', async () => {
  const world = await openWorld()
  const client = await world.connect()
  const code = REQUEST_CODE.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
  const config = { groupName: 'g', notifyConsumerIdsChangedEnable: false }
  await client.ask({ code }, Buffer.from(JSON.stringify(config)))
  await beat(client, 'a')
  await world.world.runFor(1000)
  expect(notices(client)).toEqual([])
})

test('a group without members is answered with an error: an empty list would stop all of it', async () => {
  const world = await openWorld()
  const answer = await members(await world.connect())
  expect(answer?.header.code).toBe(1)
  expect(answer?.body.length).toBe(0)
})

test('an SQL92 subscription is refused by name, the rest of the heartbeat counts', async () => {
  const world = await openWorld()
  const client = await world.connect()
  const sql = { ...SUBSCRIPTION, topic: 'prices', expressionType: 'SQL92', subString: 'a > 1' }
  const answer = await beat(client, 'a', [consumerOf({ subscriptions: [SUBSCRIPTION, sql] })])
  await beat(client, 'a', [consumerOf({ subscriptions: [SUBSCRIPTION, sql] })])
  expect(answer?.header.code).toBe(3)
  expect(answer?.header.remark).toContain('SQL92')
  const group = world.broker.clients.consumerGroup('g')
  expect(group?.subscription('orders')).toBeDefined()
  expect(group?.subscription('prices')).toBeUndefined()
  const logged = world.world.logLines.filter(({ message }) => message.includes('not supported'))
  expect(logged.length).toBe(1)
})

test.each([
  ['TAG', 0],
  ['', 0],
  ['SQL92', 3],
  ['XPATH', 3],
])('asked before, a subscription of type %j is answered %i', async (expressionType, code) => {
  const world = await openWorld()
  const client = await world.connect()
  const subscription = { ...SUBSCRIPTION, expressionType }
  const body = encodeCheckClient({ clientId: 'a', group: 'g', subscription })
  const answer = await client.ask({ code: REQUEST_CODE.CHECK_CLIENT_CONFIG }, body)
  expect(answer?.header.code).toBe(code)
})

test.each([
  ['no JSON', 'hello', 29],
  ['no client', '{}', 29],
  ['a group that cannot be', '{"clientID":"a","consumerDataSet":[{"groupName":"a b"}]}', 29],
  ['a list of nothing', '{"clientID":"a","consumerDataSet":[null]}', 29],
])('a heartbeat of %s is refused and registers nobody', async (_, body, code) => {
  const world = await openWorld()
  const client = await world.connect()
  const answer = await client.ask({ code: REQUEST_CODE.HEART_BEAT }, Buffer.from(body))
  expect(answer?.header.code).toBe(code)
  expect(world.broker.clients.clientCount).toBe(0)
})
