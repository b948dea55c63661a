import { expect, test } from 'vitest'
import { SCHEDULE_TOPIC, TIMER_TOPIC } from '../../model/message/index.ts'
import { configWorld, fileJson, leaveFile, openTopics } from './testing.ts'
import { plainTopic } from './topic-settings.ts'
import { TOPIC_COUNT_MAX } from './topics.ts'

test('a new table has the topics of the system', async () => {
  const topics = await openTopics(await configWorld())
  expect(topics.get(SCHEDULE_TOPIC)).toMatchObject({ writeQueueCount: 18, perm: 6 })
  expect(topics.get(TIMER_TOPIC)).toMatchObject({ writeQueueCount: 5 })
  expect(topics.get('TBW102')).toMatchObject({ readQueueCount: 8, writeQueueCount: 8, perm: 7 })
  expect(topics.get('DefaultCluster')).toMatchObject({ writeQueueCount: 16, perm: 7 })
  expect(topics.get('broker-a')).toMatchObject({ writeQueueCount: 1, perm: 7 })
})

test.each([
  [4, 4],
  [8, 8],
  [100, 8],
  [0, 1],
  [-3, 1],
])('a topic made on use gets %i wished queues as %i', async (wished, queueCount) => {
  const topics = await openTopics(await configWorld())
  expect(topics.createOnUse('orders', wished)).toMatchObject({
    name: 'orders',
    readQueueCount: queueCount,
    writeQueueCount: queueCount,
    perm: 6,
    topicBytes: Buffer.from('orders'),
  })
})

test('a topic made on use is there at once and survives a power cut once it is durable', async () => {
  const world = await configWorld()
  const topics = await openTopics(world)
  const topic = topics.createOnUse('orders', 4)
  expect(topics.find('orders')).toBe(topic)
  expect(topics.createOnUse('orders', 2)).toBe(topic)
  await world.finish(topic.durable ?? Promise.reject(new Error('it cannot be durable yet')))
  expect(topic.durable).toBeUndefined()
  world.crash()
  expect((await openTopics(world)).find('orders')).toMatchObject({ writeQueueCount: 4 })
})

test('a topic whose first write fails is taken back, and the next use tries again', async () => {
  const world = await configWorld()
  const topics = await openTopics(world)
  world.faults.failNext({ call: 'write', path: /topics/, error: 'STORE_FULL' })
  const failed = topics.createOnUse('orders', 4)
  await expect(world.finish(failed.durable ?? Promise.resolve())).rejects.toMatchObject({
    code: 'STORE_FULL',
  })
  expect(topics.find('orders')).toBeUndefined()
  const again = topics.createOnUse('orders', 4)
  expect(again).not.toBe(failed)
  await world.finish(again.durable ?? Promise.resolve())
  expect((await openTopics(world)).find('orders')).toBeDefined()
})

test('without making on use an unknown topic is an error, also in a folder that had it', async () => {
  const world = await configWorld()
  await openTopics(world)
  const topics = await openTopics(world, { autoCreate: false })
  expect(topics.find('TBW102')).toBeUndefined()
  expect(() => topics.createOnUse('orders', 4)).toThrow(
    expect.objectContaining({ code: 'TOPIC_NOT_FOUND' }),
  )
  expect(topics.retryTopicOf('g', 2)).toMatchObject({ name: '%RETRY%g', writeQueueCount: 2 })
  expect(topics.deadLetterTopicOf('g')).toMatchObject({ name: '%DLQ%g', writeQueueCount: 1 })
})

test.each(['', 'a b', 'a/b', '../x', 'ü', 'x'.repeat(128)])(
  'the name %j makes no topic',
  async name => {
    const topics = await openTopics(await configWorld())
    expect(() => topics.createOnUse(name, 4)).toThrow(
      expect.objectContaining({ code: 'TOPIC_NAME_INVALID' }),
    )
  },
)

test('a file of Apache is read, and what we do not know of it is kept', async () => {
  const world = await configWorld()
  const config = {
    attributes: { 'message.type': 'DELAY' },
    order: true,
    perm: 4,
    readQueueNums: 3,
    topicFilterType: 'MULTI_TAG',
    topicName: 'orders',
    topicSysFlag: 1,
    writeQueueNums: 5,
    somethingNew: [1, 2],
  }
  const apache = {
    dataVersion: { counter: 41, stateVersion: 2, timestamp: 1_700_000_000_000 },
    mappingDataVersion: { counter: 1 },
    topicConfigTable: { orders: config },
  }
  await leaveFile(world, 'topics.json', JSON.stringify(apache, undefined, '\t'))
  const topics = await openTopics(world)
  expect(topics.get('orders')).toMatchObject({
    readQueueCount: 3,
    writeQueueCount: 5,
    perm: 4,
    order: true,
    filterType: 'MULTI_TAG',
    topicSysFlag: 1,
    attributes: { 'message.type': 'DELAY' },
  })
  await world.finish(topics.update('orders', { ...topics.get('orders'), perm: 6 }))
  expect(await fileJson(world, 'topics.json')).toMatchObject({
    dataVersion: { counter: 42, stateVersion: 2 },
    mappingDataVersion: { counter: 1 },
    topicConfigTable: { orders: { ...config, perm: 6 } },
  })
})

test('names of a file that could be no topics are left out', async () => {
  const world = await configWorld()
  const table = { '../../etc': { perm: 6 }, 'a b': {}, ok: { perm: 6 }, bad: 7 }
  await leaveFile(world, 'topics.json', JSON.stringify({ topicConfigTable: table }))
  const topics = await openTopics(world)
  expect(topics.find('../../etc')).toBeUndefined()
  expect(topics.find('a b')).toBeUndefined()
  expect(topics.find('bad')).toBeUndefined()
  expect(topics.find('ok')).toMatchObject({ writeQueueCount: 16 })
})

test('a longer table of levels adds queues to the schedule topic of an old folder', async () => {
  const world = await configWorld()
  await openTopics(world)
  const topics = await openTopics(world, { levelCount: 20 })
  expect(topics.get(SCHEDULE_TOPIC).writeQueueCount).toBe(20)
  expect((await openTopics(world, { levelCount: 5 })).get(SCHEDULE_TOPIC).writeQueueCount).toBe(20)
})

test('an update changes the topic that others hold, and tells listeners', async () => {
  const world = await configWorld()
  const topics = await openTopics(world)
  const topic = topics.createOnUse('orders', 4)
  const seen: string[] = []
  const stop = topics.onChange(({ name, writeQueueCount }) =>
    seen.push(`${name} ${writeQueueCount}`),
  )
  await world.finish(topics.update('orders', plainTopic(6)))
  await world.finish(topics.update('new', plainTopic(2)))
  stop()
  await world.finish(topics.update('new', plainTopic(3)))
  expect(topic.writeQueueCount).toBe(6)
  expect(seen).toEqual(['orders 6', 'new 2'])
  world.crash()
  expect((await openTopics(world)).get('new').writeQueueCount).toBe(3)
})

test.each([
  ['no queue', 'orders', { writeQueueCount: 0 }, 'PARAMETER_INVALID'],
  ['too many queues', 'orders', { readQueueCount: 4097 }, 'PARAMETER_INVALID'],
  ['an unknown permission', 'orders', { perm: 8 }, 'PARAMETER_INVALID'],
  ['a fraction', 'orders', { perm: 1.5 }, 'PARAMETER_INVALID'],
  ['a bad name', 'or ders', {}, 'TOPIC_NAME_INVALID'],
  ['a system topic', SCHEDULE_TOPIC, {}, 'PARAMETER_INVALID'],
  ['a prefix of the system', 'rmq_sys_x', {}, 'PARAMETER_INVALID'],
  ['the topic of the cluster', 'DefaultCluster', {}, 'PARAMETER_INVALID'],
])('an update with %s is refused and changes nothing', async (_, name, changes, code) => {
  const world = await configWorld()
  const topics = await openTopics(world)
  const before = await fileJson(world, 'topics.json')
  const update = topics.update(name, { ...plainTopic(4), ...changes })
  await expect(world.finish(update)).rejects.toMatchObject({ code })
  expect(await fileJson(world, 'topics.json')).toEqual(before)
})

test('a topic may bear a name that means something to JavaScript', async () => {
  const world = await configWorld()
  const topics = await openTopics(world)
  for (const name of ['__proto__', 'constructor']) {
    await world.finish(topics.update(name, plainTopic(3)))
  }
  const again = await openTopics(world)
  expect(again.get('__proto__').writeQueueCount).toBe(3)
  expect(again.get('constructor').writeQueueCount).toBe(3)
})

test('requests cannot make more topics than the limit', async () => {
  const world = await configWorld()
  const topics = await openTopics(world)
  for (let index = topics.count; index < TOPIC_COUNT_MAX; index++)
    topics.createOnUse(`t${index}`, 1)
  expect(() => topics.createOnUse('one-more', 1)).toThrow(
    expect.objectContaining({ code: 'TOO_MANY_TOPICS' }),
  )
  expect(topics.createOnUse('t100', 1).name).toBe('t100')
})

test('the data version never comes back, across restarts and with a clock that goes back', async () => {
  const world = await configWorld()
  const seen = new Set<string>()
  for (let round = 0; round < 6; round++) {
    const topics = await openTopics(world)
    await world.finish(topics.update(`t${round}`, plainTopic(1)))
    const json = await fileJson(world, 'topics.json')
    seen.add(JSON.stringify(Object.entries(json ?? {}).find(([key]) => key === 'dataVersion')))
    world.stepClock(-60_000)
    world.exit()
  }
  expect(seen.size).toBe(6)
})

test('an update that cannot be written changes nothing', async () => {
  const world = await configWorld()
  const topics = await openTopics(world)
  const topic = await world.finish(topics.update('orders', plainTopic(4)))
  const seen: number[] = []
  topics.onChange(({ writeQueueCount }) => seen.push(writeQueueCount))
  world.faults.failNext({ call: 'datasync', path: /topics/, error: 'STORE_FAILED' })
  const update = topics.update('orders', plainTopic(6))
  await expect(world.finish(update)).rejects.toMatchObject({ code: 'STORE_FAILED' })
  expect(topic.writeQueueCount).toBe(4)
  expect(seen).toEqual([6, 4])
})

test('two updates at once that cannot be written both change nothing', async () => {
  const world = await configWorld()
  const topics = await openTopics(world)
  const topic = await world.finish(topics.update('orders', plainTopic(4)))
  world.faults.failNext({ call: 'datasync', path: /topics/, error: 'STORE_FULL', count: 3 })
  const updates = [6, 8, 9].map(count => topics.update('orders', plainTopic(count)))
  const outcomes = await world.finish(Promise.allSettled(updates))
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(topic.writeQueueCount).toBe(4)
})

test('of two updates at once the one that is written stays', async () => {
  const world = await configWorld()
  const topics = await openTopics(world)
  const topic = await world.finish(topics.update('orders', plainTopic(4)))
  world.faults.failNext({ call: 'datasync', path: /topics/, error: 'STORE_FULL' })
  const updates = [6, 8].map(count => topics.update('orders', plainTopic(count)))
  const outcomes = await world.finish(Promise.allSettled(updates))
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  expect(topic.writeQueueCount).toBe(8)
  world.crash()
  expect((await openTopics(world)).get('orders').writeQueueCount).toBe(8)
})
