import { expect, test } from 'vitest'
import {
  decodeRecallHandle,
  decodeRecords,
  encodeBatch,
  SCHEDULE_TOPIC,
  TIMER_TOPIC,
  type Message,
} from '../../../model/message/index.ts'
import { ONEWAY_FLAG, REQUEST_CODE } from '../../../model/wire/index.ts'
import {
  pullFields,
  RemotingWorld,
  sendFields,
  type WireClient,
} from '../../../../test/support/remoting-world.ts'

const { SEND_MESSAGE, SEND_MESSAGE_V2, SEND_BATCH_MESSAGE, PULL_MESSAGE } = REQUEST_CODE
const BODY = Buffer.from('hello')
const DELETION = { TIMER_DEL_UNIQKEY: 'orders+AB12' }
const TIME = { TIMER_DELIVER_MS: '1900000000000' }

async function stored(client: WireClient, topic: string, queueId = '0'): Promise<Message[]> {
  const answer = await client.ask({
    code: PULL_MESSAGE,
    extFields: pullFields(topic, { queueId, sysFlag: '4' }),
  })
  return decodeRecords(answer?.body ?? Buffer.alloc(0))
}

test('a message is stored with what the client sent and what every message gets', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  const properties = { TAGS: 'red', KEYS: 'k1', UNIQ_KEY: 'AB12', colour: 'ümläut' }
  const extFields = sendFields('orders', properties, { h: '7', f: '1', e: '2' })
  const answer = await client.ask({ code: SEND_MESSAGE_V2, extFields }, BODY)
  expect(answer?.header.code).toBe(0)
  expect(answer?.header.extFields).toMatchObject({
    queueId: '2',
    queueOffset: '0',
    MSG_REGION: 'DefaultRegion',
    TRACE_ON: 'true',
  })
  expect(answer?.header.extFields['recallHandle']).toBeUndefined()
  const [message] = await stored(client, 'orders', '2')
  expect(message).toMatchObject({
    topic: 'orders',
    queueId: 2,
    flag: 7,
    sysFlag: 1,
    bornTimeMs: 1_767_225_600_000,
    body: BODY,
    offsetMessageId: answer?.header.extFields['msgId'],
  })
  expect(Object.fromEntries(message?.properties ?? [])).toEqual({
    ...properties,
    MSG_REGION: 'DefaultRegion',
    TRACE_ON: 'true',
    CLUSTER: 'cluster-a',
  })
})

test('the answer does not come before the message is durable and visible', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  await client.ask({ code: SEND_MESSAGE_V2, extFields: sendFields('orders') }, BODY)
  const end = world.store.endOffset
  const opaque = client.send({ code: SEND_MESSAGE_V2, extFields: sendFields('orders') }, BODY)
  await world.world.run(() => world.store.endOffset > end)
  expect(world.store.appliedOffset).toBe(end)
  await world.world.run(() => {
    const isAnswered = client.answerTo(opaque) !== undefined
    if (isAnswered) expect(world.store.appliedOffset).toBe(world.store.endOffset)
    return isAnswered
  })
  expect(client.answerTo(opaque)?.header.extFields['queueOffset']).toBe('1')
})

test('after an answer the message survives a power cut', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  await client.ask({ code: SEND_MESSAGE_V2, extFields: sendFields('orders') }, BODY)
  await client.ask({ code: SEND_MESSAGE_V2, extFields: sendFields('orders') }, BODY)
  const queue = world.store.queue('orders', 0)
  const before = queue.maxOffset
  world.world.crash()
  const again = await RemotingWorld.reopen(world.world)
  expect(before).toBe(2)
  expect(again.store.queue('orders', 0).maxOffset).toBe(2)
})

test('a client with a binary header is served and answered in binary', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  const extFields = sendFields('orders', { TAGS: 'red' })
  const answer = await client.ask({ code: SEND_MESSAGE_V2, extFields }, BODY, 1)
  expect(answer?.header.code).toBe(0)
  expect(answer?.header.serializeType).toBe(1)
  expect((await stored(client, 'orders'))[0]?.properties.get('TAGS')).toBe('red')
})

test('the long field names of code 10 mean the same', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  const extFields = {
    producerGroup: 'p',
    topic: 'orders',
    defaultTopic: 'TBW102',
    defaultTopicQueueNums: '4',
    queueId: '1',
    sysFlag: '0',
    bornTimestamp: '1767225600000',
    flag: '0',
    properties: 'TAGS\u0001red\u0002',
  }
  const answer = await client.ask({ code: SEND_MESSAGE, extFields }, BODY)
  expect(answer?.header.extFields['queueId']).toBe('1')
  expect((await stored(client, 'orders', '1'))[0]?.properties.get('TAGS')).toBe('red')
})

test('a timer message waits under the timer topic and its answer carries its handle', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  const deliverTimeMs = world.world.platform.clock.timeMs() + 3_600_000
  const properties = { TIMER_DELIVER_MS: String(deliverTimeMs), UNIQ_KEY: 'AB12', TAGS: 'red' }
  const extFields = sendFields('orders', properties, { e: '3' })
  const answer = await client.ask({ code: SEND_MESSAGE_V2, extFields }, BODY)
  const [message] = await stored(client, TIMER_TOPIC)
  expect(decodeRecallHandle(answer?.header.extFields['recallHandle'] ?? '')).toEqual({
    topic: 'orders',
    brokerName: 'broker-a',
    deliverTimeMs,
    uniqueKey: 'AB12',
    timerId: message?.commitLogOffset,
  })
  expect(message?.properties.get('REAL_TOPIC')).toBe('orders')
  expect(message?.properties.get('REAL_QID')).toBe('3')
  expect(message?.properties.get('TIMER_OUT_MS')).toBe(String(deliverTimeMs))
  expect(await stored(client, 'orders', '3')).toEqual([])
})

test('a message with a delay level waits in the queue of its level, without a handle', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  const extFields = sendFields('orders', { DELAY: '3' }, { e: '1' })
  const answer = await client.ask({ code: SEND_MESSAGE_V2, extFields }, BODY)
  expect(answer?.header.extFields).toMatchObject({ queueId: '1', queueOffset: '0' })
  expect(answer?.header.extFields['recallHandle']).toBeUndefined()
  const [message] = await stored(client, SCHEDULE_TOPIC, '2')
  expect(message?.properties.get('REAL_TOPIC')).toBe('orders')
  expect(message?.properties.get('REAL_QID')).toBe('1')
  const queue = world.store.queue(SCHEDULE_TOPIC, 2)
  const units = await world.world.finish(queue.readUnits(0, 1))
  expect(units.tagsCode(0)).toBe((message?.storeTimeMs ?? 0) + 10_000)
})

test('a deliver time that has passed makes a plain message', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  const extFields = sendFields('orders', { TIMER_DELIVER_MS: '1600000000000' })
  const answer = await client.ask({ code: SEND_MESSAGE_V2, extFields }, BODY)
  expect(answer?.header.extFields['recallHandle']).toBeUndefined()
  expect(await stored(client, 'orders')).toHaveLength(1)
})

test('a property that only the broker may set does not get in from outside', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  const forged = { ORRERY_TIMER_ID: '12', REAL_TOPIC: 'x', POP_CK: 'y', MSG_REGION: 'z', own: '1' }
  await client.ask({ code: SEND_MESSAGE_V2, extFields: sendFields('orders', forged) }, BODY)
  const [message] = await stored(client, 'orders')
  const names = [...(message?.properties.keys() ?? [])].toSorted()
  expect(names).toEqual(['CLUSTER', 'MSG_REGION', 'TRACE_ON', 'UNIQ_KEY', 'own'])
  expect(message?.properties.get('MSG_REGION')).toBe('DefaultRegion')
})

interface Refusal {
  readonly properties?: Record<string, string>
  readonly more?: Record<string, string>
  readonly code: number
}

test.each<[string, string, Refusal]>([
  ['a reserved topic', 'SCHEDULE_TOPIC_XXXX', { code: 16 }],
  ['our own timer topic', 'rmq_sys_orrery_timer', { code: 16 }],
  ['a bad topic name', 'a b', { code: 29 }],
  ['an empty topic name', '', { code: 29 }],
  ['a queue that the topic does not have', 'orders', { more: { e: '9' }, code: 29 }],
  ['a half message', 'orders', { properties: { TRAN_MSG: 'true' }, code: 3 }],
  ['a transaction in the flags', 'orders', { more: { f: '4' }, code: 3 }],
  ['a deletion mark without a time', 'orders', { properties: DELETION, code: 13 }],
  ['a deletion mark of nothing', 'orders', { properties: { ...DELETION, ...TIME }, code: 604 }],
  ['a negative delay', 'orders', { properties: { TIMER_DELAY_MS: '-5' }, code: 13 }],
  ['a delay that is no number', 'orders', { properties: { TIMER_DELAY_SEC: 'soon' }, code: 13 }],
  ['a time in seconds', 'orders', { properties: { TIMER_DELIVER_MS: '1767225600' }, code: 13 }],
  ['a delay beyond the limit', 'orders', { properties: { TIMER_DELAY_SEC: '2592001' }, code: 13 }],
  ['properties that do not fit', 'orders', { properties: { long: 'x'.repeat(32_700) }, code: 13 }],
  ['a retry topic of an unknown group', '%RETRY%nobody', { code: 26 }],
  ['a batch flag on a body that is none', 'orders', { more: { m: 'true' }, code: 13 }],
])('%s is refused with its code and stores nothing', async (_, topic, refusal) => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  await client.ask({ code: SEND_MESSAGE_V2, extFields: sendFields('orders') }, BODY)
  const end = world.store.endOffset
  const extFields = sendFields(topic, refusal.properties, refusal.more)
  const answer = await client.ask({ code: SEND_MESSAGE_V2, extFields }, BODY)
  expect(answer?.header.code).toBe(refusal.code)
  expect(answer?.header.remark).toMatch(/^[A-Z_]+: \S/)
  expect(world.store.endOffset).toBe(end)
  const next = await client.ask({ code: SEND_MESSAGE_V2, extFields: sendFields('orders') }, BODY)
  expect(next?.header.code).toBe(0)
})

test('a body above the limit is refused, one at the limit is not', async () => {
  const world = await RemotingWorld.open({ bodyBytesMax: 1000 })
  const client = await world.connect()
  const request = { code: SEND_MESSAGE_V2, extFields: sendFields('orders') }
  expect((await client.ask(request, Buffer.alloc(1001)))?.header.code).toBe(13)
  expect((await client.ask(request, Buffer.alloc(1000)))?.header.code).toBe(0)
})

test('without automatic topics an unknown topic is answered 17', async () => {
  const world = await RemotingWorld.open({ autoCreate: false })
  const client = await world.connect()
  const answer = await client.ask({ code: SEND_MESSAGE_V2, extFields: sendFields('orders') }, BODY)
  expect(answer?.header.code).toBe(17)
})

test('a missing field is named in the refusal', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  const { b: _topic, ...extFields } = sendFields('orders')
  const answer = await client.ask({ code: SEND_MESSAGE_V2, extFields }, BODY)
  expect(answer?.header.code).toBe(29)
  expect(answer?.header.remark).toContain('topic')
})

test('a negative queue number lets the broker choose among the queues', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  const chosen = new Set<number>()
  for (let count = 0; count < 40; count++) {
    const extFields = sendFields('orders', {}, { e: '-1' })
    const answer = await client.ask({ code: SEND_MESSAGE_V2, extFields }, BODY)
    chosen.add(Number(answer?.header.extFields['queueId']))
  }
  expect(chosen).toEqual(new Set([0, 1, 2, 3]))
})

test('a one-way send is stored and not answered, also when it is refused', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  const flag = ONEWAY_FLAG
  client.send({ code: SEND_MESSAGE_V2, flag, extFields: sendFields('orders') }, BODY)
  client.send({ code: SEND_MESSAGE_V2, flag, extFields: sendFields('a b') }, BODY)
  await world.world.run(() => world.store.queue('orders', 0).maxOffset === 1)
  expect(await stored(client, 'orders')).toHaveLength(1)
  expect(client.received).toHaveLength(1)
})

test('a batch becomes consecutive messages and is answered with all ids', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  await client.ask({ code: SEND_MESSAGE_V2, extFields: sendFields('orders') }, BODY)
  const items = ['one', 'two', 'three'].map((text, flag) => ({
    flag,
    body: Buffer.from(text),
    properties: `TAGS\u0001${text}\u0002UNIQ_KEY\u0001K${flag}`,
  }))
  const answer = await client.ask(
    { code: SEND_BATCH_MESSAGE, extFields: sendFields('orders') },
    encodeBatch(items),
  )
  expect(answer?.header.extFields['queueOffset']).toBe('1')
  const messages = (await stored(client, 'orders')).slice(1)
  expect(messages.map(({ body, queueOffset, flag }) => [String(body), queueOffset, flag])).toEqual([
    ['one', 1, 0],
    ['two', 2, 1],
    ['three', 3, 2],
  ])
  expect(messages.map(({ properties }) => properties.get('UNIQ_KEY'))).toEqual(['K0', 'K1', 'K2'])
  const ids = messages.map(message => message.offsetMessageId).join(',')
  expect(answer?.header.extFields['msgId']).toBe(ids)
})

test('a batch of many messages has an answer longer than the usual room', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  const items = Array.from({ length: 200 }, () => ({ flag: 0, body: BODY, properties: '' }))
  const answer = await client.ask(
    { code: SEND_BATCH_MESSAGE, extFields: sendFields('orders') },
    encodeBatch(items),
  )
  expect(new Set(answer?.header.extFields['msgId']?.split(','))).toHaveProperty('size', 200)
})

test.each([
  ['a delay', 'TIMER_DELAY_MS\u00011000\u0002', 13],
  ['a transaction', 'TRAN_MSG\u0001true\u0002', 3],
])('a batch with %s in its last message stores none of them', async (_, properties, code) => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  const items = [
    { flag: 0, body: BODY, properties: '' },
    { flag: 0, body: BODY, properties },
  ]
  const end = world.store.endOffset
  const answer = await client.ask(
    { code: SEND_BATCH_MESSAGE, extFields: sendFields('orders') },
    encodeBatch(items),
  )
  expect(answer?.header.code).toBe(code)
  expect(world.store.endOffset).toBe(end)
})

test('a consumer that gives up sends its message to the dead letters', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  world.broker.groups.createOnUse('group-a')
  const send = (reconsumeTimes: string): ReturnType<WireClient['ask']> => {
    const more = { j: reconsumeTimes, l: '3' }
    const extFields = sendFields('%RETRY%group-a', { DELAY: '1' }, more)
    return client.ask({ code: SEND_MESSAGE_V2, extFields }, BODY)
  }
  expect((await send('3'))?.header.code).toBe(0)
  expect((await send('4'))?.header.code).toBe(0)
  expect(await stored(client, SCHEDULE_TOPIC, '0')).toHaveLength(1)
  const dead = await stored(client, '%DLQ%group-a')
  expect(dead.map(message => message.reconsumeTimes)).toEqual([4])
})

test('when the disk fails, what was accepted and not flushed is never answered', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  await client.ask({ code: SEND_MESSAGE_V2, extFields: sendFields('orders') }, BODY)
  world.world.faults.failNext({ call: 'datasync', path: /commitlog/, error: 'STORE_FAILED' })
  const opaque = client.send({ code: SEND_MESSAGE_V2, extFields: sendFields('orders') }, BODY)
  expect(await client.untilClosed()).toBe(true)
  expect(client.answerTo(opaque)).toBeUndefined()
  const other = await world.connect()
  const refused = await other.ask({ code: SEND_MESSAGE_V2, extFields: sendFields('orders') }, BODY)
  expect(refused?.header.code).toBe(14)
})
