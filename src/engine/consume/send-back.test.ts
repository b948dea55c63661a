import { expect, test } from 'vitest'
import { RemotingWorld } from '../../../test/support/remoting-world.ts'
import {
  decodeRecord,
  encodeHost,
  PROPERTY,
  SCHEDULE_TOPIC,
  storeHostHex,
  tagsCodeOf,
  type Message,
} from '../../model/message/index.ts'
import { draftOf } from '../../model/message/testing.ts'
import { defaultSubscriptionGroupConfig } from '../../model/wire/index.ts'
import type { RecordDraft } from '../../model/message/index.ts'
import {
  COPYING_COUNT_MAX,
  SendBack,
  type RecordSource,
  type SendBackRequest,
} from './send-back.ts'

const STORE_HOST = encodeHost('127.0.0.1', 10_911)

class RetryWorld {
  readonly remoting: RemotingWorld
  readonly sendBack: SendBack

  constructor(remoting: RemotingWorld, store: RecordSource = remoting.store) {
    const { broker, world } = remoting
    const { topics, groups, statistics, put } = broker
    const { clock, random } = world.platform
    this.remoting = remoting
    this.sendBack = new SendBack({
      topics,
      groups,
      statistics,
      store,
      putter: put,
      clock,
      random,
      storeHost: STORE_HOST,
    })
  }

  static async open(): Promise<RetryWorld> {
    const remoting = await RemotingWorld.open()
    remoting.broker.groups.createOnUse('g')
    return new RetryWorld(remoting)
  }

  /** A message as it was delivered; returns its place in the log. */
  async deliver(changes: Partial<RecordDraft> = {}, topic = 'orders'): Promise<number> {
    const { store, world } = this.remoting
    const draft = draftOf({ topic: Buffer.from(topic), ...changes })
    const at = store.append(draft, store.queue(topic, 1), 0, world.platform.clock.timeMs())
    await world.finish(store.whenApplied(at))
    return at
  }

  back(changes: Partial<SendBackRequest>): Promise<void> {
    const request = {
      group: 'g',
      commitLogOffset: 0,
      delayLevel: 0,
      unitMode: false,
      clientVersion: 479,
      maxReconsumeTimes: undefined,
      ...changes,
    }
    return this.remoting.world.finish(this.sendBack.sendBack(request))
  }

  /** The only message of a queue, or none. */
  async only(topic: string, queueId: number): Promise<Message | undefined> {
    const { store, world } = this.remoting
    const queue = store.findQueue(topic, queueId)
    if (queue === undefined) return undefined
    const request = { fromOffset: 0, countMax: 2, bytesMax: 1_000_000, accepts: undefined }
    const { bytes, count } = await world.finish(Promise.resolve(store.readQueue(queue, request)))
    expect(count).toBe(1)
    return decodeRecord(bytes, 0)
  }
}

test('a message sent back waits in level 3 and is a copy that knows where it comes from', async () => {
  const retries = await RetryWorld.open()
  const commitLogOffset = await retries.deliver({
    flag: 7,
    sysFlag: 1,
    properties:
      'KEYS\u0001k1\u0002TAGS\u0001TagA\u0002UNIQ_KEY\u0001AB12\u0002WAIT\u0001true\u0002',
  })
  const originId = `${storeHostHex(encodeHost('192.168.1.2', 10_911))}${commitLogOffset
    .toString(16)
    .toUpperCase()
    .padStart(16, '0')}`
  await retries.back({ commitLogOffset })
  const copy = await retries.only(SCHEDULE_TOPIC, 2)
  expect(copy).toMatchObject({
    flag: 7,
    sysFlag: 1,
    reconsumeTimes: 1,
    bornTimeMs: 1_700_000_000_000,
    bornHost: { host: '192.168.1.9', port: 50_000 },
    storeHost: { host: '127.0.0.1', port: 10_911 },
    body: Buffer.from('hello'),
  })
  expect(Object.fromEntries(copy?.properties ?? [])).toEqual({
    KEYS: 'k1',
    TAGS: 'TagA',
    UNIQ_KEY: 'AB12',
    RETRY_TOPIC: 'orders',
    ORIGIN_MESSAGE_ID: originId,
    WAIT: 'false',
    DELAY: '3',
    REAL_TOPIC: '%RETRY%g',
    REAL_QID: '0',
  })
  expect(retries.remoting.broker.topics.get('%RETRY%g')).toMatchObject({
    perm: 6,
    writeQueueCount: 1,
  })
  expect(retries.remoting.broker.statistics.topic('orders').sentBackCount).toBe(1)
})

test.each([
  ['the second retry', { reconsumeTimes: 1 }, {}, 3],
  ['the sixteenth retry', { reconsumeTimes: 15 }, {}, 17],
  ['a level that the consumer chose', { reconsumeTimes: 1 }, { delayLevel: 1 }, 0],
  ['a level beyond the last', {}, { delayLevel: 99 }, 17],
])('%s waits in its level', async (_, message, request, queueId) => {
  const retries = await RetryWorld.open()
  await retries.back({ commitLogOffset: await retries.deliver(message), ...request })
  expect((await retries.only(SCHEDULE_TOPIC, queueId))?.properties.get('REAL_TOPIC')).toBe(
    '%RETRY%g',
  )
})

test.each([
  ['after as many tries as the group has', { reconsumeTimes: 16 }, {}],
  ['after as many tries as the consumer wants', { reconsumeTimes: 2 }, { maxReconsumeTimes: 2 }],
  ['when the consumer gives up', {}, { delayLevel: -1 }],
])('a message goes to the dead letters %s, at once', async (_, message, request) => {
  const retries = await RetryWorld.open()
  const properties =
    'TAGS\u0001TagA\u0002DELAY\u00013\u0002RETRY_TOPIC\u0001first\u0002ORIGIN_MESSAGE_ID\u0001ID\u0002'
  const commitLogOffset = await retries.deliver({ ...message, properties }, '%RETRY%g')
  await retries.back({ commitLogOffset, ...request })
  const letter = await retries.only('%DLQ%g', 0)
  expect(Object.fromEntries(letter?.properties ?? [])).toEqual({
    TAGS: 'TagA',
    RETRY_TOPIC: 'first',
    ORIGIN_MESSAGE_ID: 'ID',
    WAIT: 'false',
  })
  const queue = retries.remoting.store.findQueue('%DLQ%g', 0)
  expect((await queue?.readUnits(0, 1))?.tagsCode(0)).toBe(tagsCodeOf('TagA'))
  expect(retries.remoting.store.findQueue(SCHEDULE_TOPIC, 2)).toBeUndefined()
})

test('a message that came from a timer is not held by its old deliver time again', async () => {
  const retries = await RetryWorld.open()
  const spent = {
    [PROPERTY.TIMER_DELIVER_MS]: '1900000000000',
    [PROPERTY.TIMER_OUT_MS]: '1900000000000',
    [PROPERTY.REAL_TOPIC]: 'orders',
    [PROPERTY.REAL_QID]: '3',
    [PROPERTY.ORRERY_TIMER_ID]: '4711',
  }
  const properties = Object.entries(spent).map(([name, value]) => `${name}\u0001${value}\u0002`)
  const commitLogOffset = await retries.deliver({ properties: properties.join('') })
  await retries.back({ commitLogOffset, delayLevel: -1 })
  const letter = await retries.only('%DLQ%g', 0)
  for (const name of Object.keys(spent)) expect(letter?.properties.has(name)).toBe(false)
})

test('a committed half message is a plain one from then on', async () => {
  const retries = await RetryWorld.open()
  const commitLogOffset = await retries.deliver({ sysFlag: 9, preparedTransactionOffset: 77 })
  await retries.back({ commitLogOffset, delayLevel: -1 })
  expect(await retries.only('%DLQ%g', 0)).toMatchObject({
    sysFlag: 1,
    preparedTransactionOffset: 0,
  })
})

test('a group without retry queues has its messages dropped', async () => {
  const retries = await RetryWorld.open()
  const { broker, store, world } = retries.remoting
  const config = { ...defaultSubscriptionGroupConfig('g'), retryQueueNums: 0 }
  await world.finish(broker.groups.update(config))
  const commitLogOffset = await retries.deliver()
  const { endOffset } = store
  await retries.back({ commitLogOffset })
  expect(store.endOffset).toBe(endOffset)
})

test('nothing can be sent back from a place where no message begins, or by an unknown group', async () => {
  const retries = await RetryWorld.open()
  const commitLogOffset = await retries.deliver()
  for (const offset of [commitLogOffset + 1, commitLogOffset + 1_000_000, -1]) {
    await expect(retries.back({ commitLogOffset: offset })).rejects.toMatchObject({
      code: 'MESSAGE_NOT_FOUND',
    })
  }
  await expect(retries.back({ commitLogOffset, group: 'nobody' })).rejects.toMatchObject({
    code: 'GROUP_NOT_FOUND',
  })
})

test('a message that still waits for its time cannot be had early by sending it back', async () => {
  const retries = await RetryWorld.open()
  await retries.back({ commitLogOffset: await retries.deliver() })
  const waiting = await retries.only(SCHEDULE_TOPIC, 2)
  const request = { commitLogOffset: waiting?.commitLogOffset ?? -1, delayLevel: -1 }
  await expect(retries.back(request)).rejects.toMatchObject({ code: 'MESSAGE_NOT_FOUND' })
})

test('however many are sent back at once, few messages are read at the same time', async () => {
  const { remoting } = await RetryWorld.open()
  const { store, world } = remoting
  let readingCount = 0
  let readingCountMax = 0
  const retries = new RetryWorld(remoting, {
    whenApplied: offset => store.whenApplied(offset),
    readRecord: async offset => {
      readingCount++
      readingCountMax = Math.max(readingCountMax, readingCount)
      const record = await store.readRecord(offset)
      readingCount--
      return record
    },
  })
  const commitLogOffset = await retries.deliver()
  const all = Array.from({ length: 1000 }, () => retries.back({ commitLogOffset }))
  await world.finish(Promise.all(all))
  expect(readingCountMax).toBe(COPYING_COUNT_MAX)
  expect(store.findQueue(SCHEDULE_TOPIC, 2)?.maxOffset).toBe(1000)
})
