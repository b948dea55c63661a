import { expect, test } from 'vitest'
import { decodeRecords, encodeBatch } from '../../../model/message/index.ts'
import { defaultSubscriptionGroupConfig, REQUEST_CODE } from '../../../model/wire/index.ts'
import {
  FAST_PORT,
  pullFields,
  RemotingWorld,
  sendFields,
  type WireClient,
  type WireFrame,
} from '../../../../test/support/remoting-world.ts'

const { SEND_MESSAGE_V2, SEND_BATCH_MESSAGE, PULL_MESSAGE, LITE_PULL_MESSAGE } = REQUEST_CODE

type Fields = Readonly<Record<string, string>>

async function put(client: WireClient, text: string, tags?: string): Promise<void> {
  const properties: Record<string, string> = tags === undefined ? {} : { TAGS: tags }
  const extFields = sendFields('orders', properties)
  const answer = await client.ask({ code: SEND_MESSAGE_V2, extFields }, Buffer.from(text))
  expect(answer?.header.code).toBe(0)
}

function pull(client: WireClient, more: Fields = {}): Promise<WireFrame | undefined> {
  return client.ask({ code: PULL_MESSAGE, extFields: pullFields('orders', more) })
}

function pullLater(client: WireClient, more: Fields = {}): number {
  return client.send({ code: PULL_MESSAGE, extFields: pullFields('orders', more) })
}

function texts(answer: WireFrame | undefined): string[] {
  return decodeRecords(answer?.body ?? Buffer.alloc(0)).map(({ body }) => String(body))
}

/** Code, remark and the four offsets that clients insist on. */
function place(answer: WireFrame | undefined): unknown[] {
  const { code, remark, extFields } = answer?.header ?? {}
  return [
    code,
    remark,
    extFields?.['nextBeginOffset'],
    extFields?.['minOffset'],
    extFields?.['maxOffset'],
    extFields?.['suggestWhichBrokerId'],
  ]
}

async function worldWith(count: number): Promise<{ world: RemotingWorld; client: WireClient }> {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  for (let index = 0; index < count; index++) await put(client, `m${index}`)
  return { world, client }
}

test('a pull returns the messages from its offset on and where to go on', async () => {
  const { client } = await worldWith(3)
  const answer = await pull(client, { queueOffset: '1' })
  expect(texts(answer)).toEqual(['m1', 'm2'])
  expect(place(answer)).toEqual([0, 'FOUND', '3', '0', '3', '0'])
})

test('a pull returns no more messages than it asks for, and never more than 32', async () => {
  const { client } = await worldWith(40)
  expect(texts(await pull(client, { maxMsgNums: '5' }))).toHaveLength(5)
  expect(texts(await pull(client, { maxMsgNums: '100' }))).toHaveLength(32)
})

test('one message is returned however small the byte limit is', async () => {
  const { client } = await worldWith(2)
  expect(texts(await pull(client, { maxMsgBytes: '1' }))).toEqual(['m0'])
})

test.each([
  ['at the end', { queueOffset: '2', sysFlag: '4' }, [19, 'OFFSET_OVERFLOW_ONE', '2', '0', '2']],
  ['beyond the end', { queueOffset: '9' }, [21, 'OFFSET_OVERFLOW_BADLY', '2', '0', '2']],
  ['before the start', { queueOffset: '-1' }, [21, 'OFFSET_TOO_SMALL', '0', '0', '2']],
  ['in an empty queue', { queueId: '1', sysFlag: '4' }, [19, 'NO_MESSAGE_IN_QUEUE', '0', '0', '0']],
  [
    'beyond an empty queue',
    { queueId: '1', queueOffset: '4' },
    [21, 'NO_MESSAGE_IN_QUEUE', '0', '0', '0'],
  ],
  ['of other tags', { subscription: 'red' }, [20, 'NO_MATCHED_MESSAGE', '2', '0', '2']],
])('a pull %s is answered with the code and offsets of RocketMQ', async (_, more, expected) => {
  const { client } = await worldWith(2)
  expect(place(await pull(client, more as Fields))).toEqual([...expected, '0'])
})

test('only messages with the tags of the request are returned', async () => {
  const { client } = await worldWith(1)
  await put(client, 'r', 'red')
  await put(client, 'g', 'green')
  await put(client, 'b', 'blue')
  const answer = await pull(client, { subscription: 'red || blue' })
  expect(texts(answer)).toEqual(['r', 'b'])
  expect(answer?.header.extFields['nextBeginOffset']).toBe('4')
})

test('a pull scans 800 messages of other tags and then lets the client come again', async () => {
  const { client } = await worldWith(0)
  const items = Array.from({ length: 1000 }, () => {
    return { flag: 0, body: Buffer.from('x'), properties: 'TAGS\u0001other\u0002' }
  })
  const request = { code: SEND_BATCH_MESSAGE, extFields: sendFields('orders') }
  await client.ask(request, encodeBatch(items))
  const answer = await pull(client, { subscription: 'red' })
  expect(place(answer)).toEqual([20, 'NO_MATCHED_MESSAGE', '800', '0', '1000', '0'])
})

test('LITE_PULL_MESSAGE is a pull', async () => {
  const { client } = await worldWith(1)
  const answer = await client.ask({ code: LITE_PULL_MESSAGE, extFields: pullFields('orders') })
  expect(texts(answer)).toEqual(['m0'])
})

test('the fast port does not serve pulls but takes messages', async () => {
  const { world } = await worldWith(1)
  const client = await world.connect(FAST_PORT)
  await put(client, 'm1')
  expect((await pull(client))?.header.code).toBe(3)
})

test.each([
  ['an unknown topic', { topic: 'nowhere' }, 17],
  ['a queue that is not there', { queueId: '4' }, 29],
  ['a bad group name', { consumerGroup: 'a b' }, 29],
  ['an empty subscription between separators', { subscription: ' || ' }, 23],
  ['another language of expressions', { expressionType: 'SQL92', subscription: 'a = 1' }, 3],
  ['a subscription by heartbeat that was never sent', { sysFlag: '2' }, 24],
  ['no count', { maxMsgNums: '0' }, 29],
  ['an offset that is no number', { queueOffset: 'x' }, 29],
])('a pull of %s is refused with its code', async (_, more, code) => {
  const { client } = await worldWith(1)
  expect((await pull(client, more as Fields))?.header.code).toBe(code)
})

test('a group that is switched off and a topic without read permission are refused', async () => {
  const { world, client } = await worldWith(1)
  const { topics, groups } = world.broker
  const group = { ...defaultSubscriptionGroupConfig('group-a'), consumeEnable: false }
  await world.world.finish(groups.update(group))
  expect((await pull(client))?.header.code).toBe(16)
  await world.world.finish(topics.update('orders', { ...topics.get('orders'), perm: 2 }))
  expect((await pull(client, { consumerGroup: 'group-b' }))?.header.code).toBe(16)
})

test('without a subscription in the request that of the heartbeat counts, if it is new enough', async () => {
  const { world, client } = await worldWith(0)
  await put(client, 'r', 'red')
  await put(client, 'g', 'green')
  const subscription = { topic: 'orders', expressionType: 'TAG', expression: 'green', version: 7 }
  const channel = { remoteHost: '127.0.0.1', remotePort: 1, send: (): void => undefined }
  world.broker.clients.heartbeat(channel, {
    clientId: 'c',
    language: 'JAVA',
    version: 479,
    producerGroups: [],
    consumers: [
      {
        group: 'group-a',
        consumeType: 'CONSUME_PASSIVELY',
        messageModel: 'CLUSTERING',
        consumeFromWhere: 'CONSUME_FROM_LAST_OFFSET',
        subscriptions: [subscription],
      },
    ],
  })
  expect(texts(await pull(client, { sysFlag: '2', subVersion: '7' }))).toEqual(['g'])
  expect((await pull(client, { sysFlag: '2', subVersion: '8' }))?.header.code).toBe(25)
})

test('the offset that a pull brings along is committed only when it says so', async () => {
  const { world, client } = await worldWith(3)
  const { offsets } = world.broker
  await pull(client, { commitOffset: '2' })
  expect(offsets.find('group-a', 'orders', 0)).toBeUndefined()
  await pull(client, { commitOffset: '2', sysFlag: '5' })
  expect(offsets.find('group-a', 'orders', 0)).toBe(2)
})

test('a pull that finds nothing waits and is answered when a message comes', async () => {
  const { world, client } = await worldWith(1)
  const opaque = pullLater(client, { queueOffset: '1' })
  await world.world.runFor(5000)
  expect(client.answerTo(opaque)).toBeUndefined()
  expect(world.broker.pulls.parkedCount).toBe(1)
  const producer = await world.connect()
  await put(producer, 'new')
  await world.world.runFor(50)
  expect(texts(client.answerTo(opaque))).toEqual(['new'])
  expect(world.broker.pulls.parkedCount).toBe(0)
})

test('a waiting pull is answered 19 when its time is over, within a second', async () => {
  const { world, client } = await worldWith(1)
  const opaque = pullLater(client, { queueOffset: '1', suspendTimeoutMillis: '3000' })
  await world.world.runFor(2900)
  expect(client.answerTo(opaque)).toBeUndefined()
  await world.world.runFor(1100)
  expect(place(client.answerTo(opaque))).toEqual([19, 'OFFSET_OVERFLOW_ONE', '1', '0', '1', '0'])
})

test('a message with other tags does not end the wait, and is not scanned again', async () => {
  const { world, client } = await worldWith(1)
  const more = { queueOffset: '1', subscription: 'red', suspendTimeoutMillis: '8000' }
  const opaque = pullLater(client, more)
  const lateOpaque = pullLater(client, { ...more, subscription: 'blue' })
  const producer = await world.connect()
  await put(producer, 'g', 'green')
  await world.world.runFor(100)
  expect(world.broker.pulls.parkedCount).toBe(2)
  await put(producer, 'r', 'red')
  await world.world.runFor(100)
  expect(texts(client.answerTo(opaque))).toEqual(['r'])
  await world.world.runFor(9000)
  expect(place(client.answerTo(lateOpaque))).toEqual([20, 'NO_MATCHED_MESSAGE', '3', '0', '3', '0'])
})

test('a message wakes every group that waits for it', async () => {
  const { world, client } = await worldWith(1)
  const opaques = Array.from({ length: 300 }, (_, index) =>
    pullLater(client, { queueOffset: '1', consumerGroup: `group-${index}` }),
  )
  await world.world.runFor(500)
  expect(world.broker.pulls.parkedCount).toBe(300)
  await put(await world.connect(), 'new')
  await world.world.run(() => opaques.every(opaque => client.answerTo(opaque) !== undefined))
  expect(opaques.map(opaque => texts(client.answerTo(opaque)))).toEqual(opaques.map(() => ['new']))
})

test('waiting pulls of a client that has gone are forgotten', async () => {
  const { world, client } = await worldWith(1)
  pullLater(client, { queueOffset: '1' })
  await world.world.run(() => world.broker.pulls.parkedCount === 1)
  client.destroy()
  await world.world.run(() => world.broker.pulls.parkedCount === 0)
  expect(world.broker.pulls.parkedCount).toBe(0)
})

test('when the door stops, waiting pulls are answered', async () => {
  const { world, client } = await worldWith(1)
  const opaque = pullLater(client, { queueOffset: '1' })
  await world.world.run(() => world.broker.pulls.parkedCount === 1)
  await world.world.finish(world.door.stop())
  await world.world.runFor(100)
  expect(client.answerTo(opaque)?.header.code).toBe(19)
  expect(client.isClosed).toBe(true)
})

test('beyond the limit of waiting pulls the next one is answered at once', async () => {
  const world = await RemotingWorld.open({
    pullLimits: { readingCountMax: 4, waitingCountMax: 10, parkedCountMax: 2 },
  })
  const client = await world.connect()
  await put(client, 'm0')
  const opaques = [1, 2, 3].map(() => pullLater(client, { queueOffset: '1' }))
  await world.world.runFor(200)
  expect(opaques.map(opaque => client.answerTo(opaque)?.header.code)).toEqual([
    undefined,
    undefined,
    19,
  ])
})

test.each([{ maxMsgBytes: 'x' }, { suspendTimeoutMillis: 'x' }])(
  'a pull that is refused for %j leaves no open request behind',
  async fields => {
    const { world, client } = await worldWith(1)
    for (let count = 0; count < 3; count++) {
      expect((await pull(client, fields))?.header.code).toBe(29)
    }
    // A connection with a request under way would be cut only after two seconds.
    const before = world.world.platform.clock.uptimeMs()
    await world.world.finish(world.door.stop())
    expect(world.world.platform.clock.uptimeMs() - before).toBeLessThan(1000)
  },
)

test('more pulls than may wait for their turn are refused', async () => {
  const world = await RemotingWorld.open({
    pullLimits: { readingCountMax: 0, waitingCountMax: 2, parkedCountMax: 2 },
  })
  const client = await world.connect()
  await put(client, 'm0')
  const opaques = [1, 2, 3].map(() => pullLater(client))
  await world.world.runFor(200)
  const remark = client.answerTo(opaques[2] ?? -1)?.header.remark
  expect(remark).toMatch(/^TOO_MANY_REQUESTS: /)
})
