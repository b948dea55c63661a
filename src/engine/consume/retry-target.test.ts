import { expect, test } from 'vitest'
import { defaultSubscriptionGroupConfig } from '../../model/wire/index.ts'
import { configWorld, openTables } from '../broker/testing.ts'
import { retryTarget, type RetrySend } from './retry-target.ts'

function send(changes: Partial<RetrySend>): RetrySend {
  return {
    topicName: '%RETRY%g',
    clientVersion: 479,
    reconsumeTimes: 0,
    maxReconsumeTimes: undefined,
    ...changes,
  }
}

test.each([
  ['the first retry', {}, '%RETRY%g'],
  ['the last one that the group allows', { reconsumeTimes: 16 }, '%RETRY%g'],
  ['one more than the group allows', { reconsumeTimes: 17 }, '%DLQ%g'],
  ['one more than the client allows', { reconsumeTimes: 3, maxReconsumeTimes: 2 }, '%DLQ%g'],
  ['as many as the client allows', { reconsumeTimes: 2, maxReconsumeTimes: 2 }, '%RETRY%g'],
  [
    'a limit from a client too old to have one',
    { reconsumeTimes: 3, maxReconsumeTimes: 2, clientVersion: 120 },
    '%RETRY%g',
  ],
])('%s goes to its topic', async (_, changes, name) => {
  const tables = await openTables(await configWorld())
  tables.groups.createOnUse('g')
  const target = retryTarget(send(changes), tables)
  expect(target.topic.name).toBe(name)
  expect(target.isDeadLetter).toBe(name === '%DLQ%g')
  expect(tables.topics.find(name)).toBe(target.topic)
})

test('what a group that consumes in order sends is given up by it, until its locks end', async () => {
  const world = await configWorld()
  const tables = await openTables(world)
  tables.groups.createOnUse('g')
  tables.locks.lock('g', 'a', [{ topic: 'T', queueId: 0 }])
  expect(retryTarget(send({}), tables).isDeadLetter).toBe(true)
  await world.runFor(60_000)
  expect(retryTarget(send({}), tables).isDeadLetter).toBe(false)
})

test('the retry topic has as many queues as the group says, and at least one', async () => {
  const world = await configWorld()
  const tables = await openTables(world)
  const configs = [
    { ...defaultSubscriptionGroupConfig('g'), retryQueueNums: 3 },
    { ...defaultSubscriptionGroupConfig('h'), retryQueueNums: 0 },
  ]
  for (const config of configs) await world.finish(tables.groups.update(config))
  expect(retryTarget(send({}), tables).topic.writeQueueCount).toBe(3)
  expect(retryTarget(send({ topicName: '%RETRY%h' }), tables).topic.writeQueueCount).toBe(1)
})

test('an unknown group has no retry topic, and a plain topic is none', async () => {
  const tables = await openTables(await configWorld())
  expect(() => retryTarget(send({ topicName: '%RETRY%nobody' }), tables)).toThrow(
    expect.objectContaining({ code: 'GROUP_NOT_FOUND' }),
  )
  expect(() => retryTarget(send({ topicName: 'orders' }), tables)).toThrow(
    expect.objectContaining({ code: 'TOPIC_NAME_INVALID' }),
  )
  expect(tables.topics.find('%RETRY%nobody')).toBeUndefined()
})
