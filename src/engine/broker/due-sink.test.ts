import { expect, test } from 'vitest'
import { BrokerError, type ErrorCode } from '../../core/base/index.ts'
import { decodeRecords, SCHEDULE_TOPIC, TIMER_TOPIC } from '../../model/message/index.ts'
import { REQUEST_CODE } from '../../model/wire/index.ts'
import {
  pullFields,
  RemotingWorld,
  sendFields,
  STORE_HOST,
  type WireClient,
} from '../../../test/support/remoting-world.ts'
import { BrokerDueSink, type DueStore } from './due-sink.ts'

const { SEND_MESSAGE_V2, PULL_MESSAGE } = REQUEST_CODE
const BODY = Buffer.from('hello')

interface Accepted {
  readonly world: RemotingWorld
  readonly client: WireClient
  readonly record: Buffer
}

/** Sends a timer message and returns its accept record, as a timer store would hand it over. */
async function accept(
  properties: Readonly<Record<string, string>> = {},
  more: Readonly<Record<string, string>> = {},
): Promise<Accepted> {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  const extFields = sendFields('orders', { TIMER_DELAY_SEC: '60', ...properties }, more)
  const answer = await client.ask({ code: SEND_MESSAGE_V2, extFields }, BODY)
  expect(answer?.header.code).toBe(0)
  return { world, client, record: await heldRecord(client, TIMER_TOPIC, '0') }
}

async function heldRecord(client: WireClient, topic: string, queueId: string): Promise<Buffer> {
  const extFields = pullFields(topic, { queueId, sysFlag: '4' })
  const body = (await client.ask({ code: PULL_MESSAGE, extFields }))?.body
  return body ?? Buffer.alloc(0)
}

function sinkOf(world: RemotingWorld, store: DueStore = world.store): BrokerDueSink {
  const { topics, groups, statistics } = world.broker
  const { clock, timers, log } = world.world.platform
  const parts = { store, topics, groups, statistics, clock, timers, log }
  return new BrokerDueSink({ ...parts, storeHost: STORE_HOST })
}

async function published(world: RemotingWorld, client: WireClient, queueId: string) {
  await world.world.run(() => world.store.appliedOffset === world.store.endOffset)
  return decodeRecords(await heldRecord(client, 'orders', queueId))
}

test('a due message is published as it was sent, with the id of its timer', async () => {
  const more = { e: '2', h: '7', f: '1' }
  const { world, client, record } = await accept({ TAGS: 'red', own: 'x' }, more)
  // In the middle of other bytes, as in a block that was read from disk.
  const source = Buffer.concat([Buffer.alloc(50, 1), record, Buffer.alloc(50, 2)])
  expect(sinkOf(world).deliver(source, 50, 123_456)).toBe('appended')
  source.fill(0)
  const [message] = await published(world, client, '2')
  expect(message).toMatchObject({ topic: 'orders', queueId: 2, flag: 7, sysFlag: 1, body: BODY })
  expect(message?.bornTimeMs).toBe(1_767_225_600_000)
  expect(Object.fromEntries(message?.properties ?? [])).toMatchObject({
    TAGS: 'red',
    own: 'x',
    TIMER_DELAY_SEC: '60',
    REAL_TOPIC: 'orders',
    REAL_QID: '2',
    ORRERY_TIMER_ID: '123456',
  })
  expect(message?.bornHost).toEqual(decodeRecords(record)[0]?.bornHost)
})

test('a published message is found by its tags', async () => {
  const { world, client, record } = await accept({ TAGS: 'red' })
  sinkOf(world).deliver(record, 0, 1)
  await world.world.run(() => world.store.appliedOffset === world.store.endOffset)
  const pull = async (subscription: string): Promise<number | undefined> => {
    const extFields = pullFields('orders', { subscription, sysFlag: '4' })
    return (await client.ask({ code: PULL_MESSAGE, extFields }))?.header.code
  }
  expect(await pull('blue')).toBe(20)
  expect(await pull('red')).toBe(0)
})

test('a message of a delay level is published in the same way', async () => {
  const { world, client } = await accept()
  const extFields = sendFields('orders', { DELAY: '2' }, { e: '1' })
  await client.ask({ code: SEND_MESSAGE_V2, extFields }, BODY)
  const record = await heldRecord(client, SCHEDULE_TOPIC, '1')
  expect(sinkOf(world).deliver(record, 0, 77)).toBe('appended')
  const [message] = await published(world, client, '1')
  expect(message?.properties.get('DELAY')).toBe('2')
  expect(message?.properties.get('ORRERY_TIMER_ID')).toBe('77')
})

test('when the topic has fewer queues than before, another one is taken', async () => {
  const { world, client, record } = await accept({}, { e: '3' })
  const { topics } = world.broker
  const settings = { ...topics.get('orders'), writeQueueCount: 2, readQueueCount: 2 }
  await world.world.finish(topics.update('orders', settings))
  expect(sinkOf(world).deliver(record, 0, 1)).toBe('appended')
  expect(await published(world, client, '1')).toHaveLength(1)
})

test('a topic that does not permit writing refuses, and takes the message once it does', async () => {
  const { world, record } = await accept()
  const { topics } = world.broker
  const sink = sinkOf(world)
  await world.world.finish(topics.update('orders', { ...topics.get('orders'), perm: 4 }))
  const end = world.store.endOffset
  expect(sink.deliver(record, 0, 1)).toBe('refused')
  expect(world.store.endOffset).toBe(end)
  await world.world.finish(topics.update('orders', { ...topics.get('orders'), perm: 6 }))
  expect(sink.deliver(record, 0, 1)).toBe('appended')
})

test('a topic that has vanished is made again, unless topics are not made on use', async () => {
  const { world, record } = await accept()
  const fresh = await RemotingWorld.open({ seed: 2 })
  // Not before a crash leaves the topic there.
  expect(sinkOf(fresh).deliver(record, 0, 1)).toBe('refused')
  await fresh.world.finish(fresh.broker.topics.find('orders')?.durable ?? Promise.resolve())
  expect(sinkOf(fresh).deliver(record, 0, 1)).toBe('appended')
  expect(fresh.broker.topics.find('orders')?.writeQueueCount).toBe(4)
  const strict = await RemotingWorld.open({ seed: 3, autoCreate: false })
  expect(sinkOf(strict).deliver(record, 0, 1)).toBe('refused')
  expect(world.broker.topics.find('orders')).toBeDefined()
})

test.each<[ErrorCode, string]>([
  ['STORE_BUSY', 'busy'],
  ['STORE_FULL', 'busy'],
  ['STORE_FAILED', 'busy'],
  ['SHUTTING_DOWN', 'busy'],
  ['MESSAGE_TOO_LARGE', 'refused'],
  ['PROPERTIES_TOO_LARGE', 'refused'],
])('when the log says %s the message is %s', async (code, outcome) => {
  const { world, record } = await accept()
  const failing: DueStore = {
    queue: (topic, queueId) => world.store.queue(topic, queueId),
    appendDue: () => {
      throw new BrokerError(code)
    },
  }
  expect(sinkOf(world, failing).deliver(record, 0, 1)).toBe(outcome)
})
