import { expect, test } from 'vitest'
import { PullConsumer } from '../client/index.ts'
import type { Message } from '../model/message/index.ts'
import type { ScheduledMessage, ScheduleFilter } from '../model/schedule/index.ts'
import { REQUEST_CODE } from '../model/wire/index.ts'
import { served, type Served } from './testing/served.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

interface Scene extends Served {
  readonly startMs: number
}

async function begun(): Promise<Scene> {
  const scene = await served()
  return { ...scene, startMs: scene.world.platform.clock.timeMs() }
}

async function send(
  { world, client }: Scene,
  message: { topic: string; delayMs: number; body: string; keys?: string[]; tag?: string },
): Promise<string> {
  const { tag: tags, ...rest } = message
  const receipt = await world.finish(client.send({ ...rest, tags }))
  return receipt.recallHandle ?? ''
}

async function all(scene: Scene, filter: ScheduleFilter, limit = 100): Promise<ScheduledMessage[]> {
  const found: ScheduledMessage[] = []
  let cursor: string | undefined
  do {
    const page = await scene.world.finish(scene.scheduled.list(filter, { limit, cursor }))
    found.push(...page.messages)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return found
}

test('what waits is listed by deliver time, page by page, with the id of its send', async () => {
  const scene = await begun()
  const ids = new Map<number, string>()
  for (const delayMs of [3 * HOUR_MS, 2_000, 90 * 24 * HOUR_MS, 2 * HOUR_MS, 15_000]) {
    ids.set(delayMs, await send(scene, { topic: 'orders', delayMs, body: 'x', keys: ['k'] }))
  }
  const listed = await all(scene, {}, 2)
  const sorted = [...ids].toSorted(([a], [b]) => a - b).map(([, id]) => id)
  expect(listed.map(({ id }) => id)).toEqual(sorted)
  expect(listed[0]).toMatchObject({
    topic: 'orders',
    state: 'scheduled',
    keys: ['k'],
    bodyBytes: 1,
  })
})

test('filters are joined by and; a count counts what a list has', async () => {
  const scene = await begun()
  await send(scene, { topic: 'orders', delayMs: HOUR_MS, body: 'a', keys: ['order-1'], tag: 'red' })
  await send(scene, { topic: 'orders', delayMs: 3 * HOUR_MS, body: 'b', keys: ['order-2', 'x'] })
  await send(scene, { topic: 'mails', delayMs: HOUR_MS, body: 'c', keys: ['order-1'] })
  const cases: readonly (readonly [ScheduleFilter, number])[] = [
    [{}, 3],
    [{ topic: 'orders' }, 2],
    [{ topic: 'orders', tag: 'red' }, 1],
    [{ tag: 'green' }, 0],
    [{ key: 'order-1' }, 2],
    [{ key: 'order' }, 0],
    [{ keyPrefix: 'order-' }, 3],
    [{ keyPrefix: 'order-', topic: 'mails' }, 1],
    [{ toMs: scene.startMs + 2 * HOUR_MS }, 2],
    [{ fromMs: scene.startMs + 2 * HOUR_MS, topic: 'orders' }, 1],
    [{ state: 'parked' }, 0],
    [{ state: 'scheduled' }, 3],
  ]
  for (const [filter, count] of cases) {
    expect({ filter, count: (await all(scene, filter)).length }).toEqual({ filter, count })
    expect(await scene.world.finish(scene.scheduled.count(filter))).toBe(count)
  }
})

async function setWritable({ world, client }: Scene, topic: string, to: boolean): Promise<void> {
  const [queue] = await world.finish(client.readableQueues(topic))
  const counts = { readQueueNums: '4', writeQueueNums: '4' }
  const extFields = { topic, ...counts, perm: to ? '6' : '4' }
  const code = REQUEST_CODE.UPDATE_AND_CREATE_TOPIC
  await world.finish(client.ask(queue?.address ?? '', { code, extFields }))
}

test('what its topic refuses is listed and counted as parked until the topic takes it', async () => {
  const scene = await begun()
  const { world, client, scheduled } = scene
  const due = await send(scene, { topic: 'orders', delayMs: 2_000, body: 'due' })
  const later = await send(scene, { topic: 'orders', delayMs: HOUR_MS, body: 'later' })
  await world.finish(client.send({ topic: 'orders', level: 2, body: 'of a level' }))
  await send(scene, { topic: 'mails', delayMs: 2_000, body: 'taken' })
  const counted = async (filter: ScheduleFilter): Promise<number> => {
    const found = await all(scene, filter)
    expect(await world.finish(scheduled.count(filter))).toBe(found.length)
    expect(found.every(({ state }) => state === (filter.state ?? state))).toBe(true)
    return found.length
  }
  expect(await counted({ state: 'parked' })).toBe(0)
  await setWritable(scene, 'orders', false)
  await world.runFor(10_000)
  const parked = await all(scene, { state: 'parked' })
  expect(parked.map(({ id, topic, state }) => ({ id, topic, state }))).toEqual([
    { id: due, topic: 'orders', state: 'parked' },
    { id: undefined, topic: 'orders', state: 'parked' },
  ])
  const waiting = await all(scene, { state: 'scheduled' })
  expect(waiting.map(({ id, state }) => ({ id, state }))).toEqual([
    { id: later, state: 'scheduled' },
  ])
  expect(await counted({ state: 'parked' })).toBe(2)
  expect(await counted({ state: 'scheduled' })).toBe(1)
  expect(await counted({ topic: 'mails', state: 'parked' })).toBe(0)
  expect(await counted({ state: 'parked', fromMs: world.platform.clock.timeMs() })).toBe(0)
  expect(await counted({})).toBe(3)
  const whole = await world.finish(scheduled.find({ id: due }))
  expect(whole).toMatchObject({ id: due, state: 'parked' })
  await setWritable(scene, 'orders', true)
  await world.runFor(10_000)
  expect(await counted({ state: 'parked' })).toBe(0)
  expect(await counted({})).toBe(1)
})

test('a forecast has how many are due in each step, and their sum is the count', async () => {
  const scene = await begun()
  const fromMs = scene.startMs - (scene.startMs % HOUR_MS)
  for (const hours of [1, 1, 2, 5, 5, 5, 30]) {
    await send(scene, { topic: 'orders', delayMs: hours * HOUR_MS, body: 'x' })
  }
  const steps = { fromMs, toMs: fromMs + 48 * HOUR_MS, stepMs: HOUR_MS }
  const { counts, estimatedCount } = await scene.world.finish(scene.scheduled.forecast({}, steps))
  expect(counts).toHaveLength(48)
  expect(counts.filter(count => count > 0)).toEqual([2, 1, 3, 1])
  expect(estimatedCount).toBe(0)
  const other = await scene.world.finish(scene.scheduled.forecast({ topic: 'mails' }, steps))
  expect(other.counts.every(count => count === 0)).toBe(true)
})

test('a moved message is listed once, under its new time and its old id', async () => {
  const scene = await begun()
  const id = await send(scene, { topic: 'orders', delayMs: HOUR_MS, body: 'x' })
  await scene.world.finish(scene.client.move({ id }, { delayMs: 5 * HOUR_MS }))
  const listed = await all(scene, {})
  expect(listed.map(message => message.id)).toEqual([id])
  expect(listed[0]?.deliverTimeMs).toBeGreaterThanOrEqual(scene.startMs + 5 * HOUR_MS)
})

test('one message is shown with body and properties until it does not wait any more', async () => {
  const scene = await begun()
  const id = await send(scene, { topic: 'orders', delayMs: HOUR_MS, body: 'content', tag: 'red' })
  const shown = await scene.world.finish(scene.scheduled.find({ id }))
  expect(shown?.body.toString()).toBe('content')
  expect(shown?.properties.get('TAGS')).toBe('red')
  await scene.world.finish(scene.client.recall({ topic: 'orders', recallHandle: id }))
  expect(await scene.world.finish(scene.scheduled.find({ id }))).toBeUndefined()
  expect(await all(scene, {})).toEqual([])
})

/** Of the only message of the topic that can be pulled. */
async function delivered({ world, client }: Scene, topic: string): Promise<Message> {
  const consumer = new PullConsumer(client, 'billing')
  const found: Message[] = []
  for (const queue of await world.finish(consumer.queues(topic))) {
    found.push(...(await world.finish(consumer.pull(queue, { offset: 0 }))).messages)
  }
  const [message] = found
  if (found.length !== 1 || message === undefined) throw new Error(`${found.length} are there`)
  return message
}

const POLICY = { ORRERY_ON_LATE: 'drop', ORRERY_LATE_AFTER_MS: '3600000', own: 'x' }

test.each([
  ['sent', {}, 0, false],
  ['sent with a late policy', { properties: POLICY }, 0, false],
  ['moved', { tags: 'red' }, 1, false],
  ['moved twice, with a late policy', { properties: POLICY }, 2, false],
  ['sent in the place of another', { ownKey: 'k' }, 0, true],
  ['sent in the place of another and moved', { ownKey: 'k' }, 1, true],
])(
  'a message that was %s is shown with the properties that its consumers see',
  async (_name, more, moveCount, isReplacing) => {
    const scene = await begun()
    const { world, client, scheduled } = scene
    const message = { topic: 'orders', body: 'content', keys: ['a'], delayMs: HOUR_MS, ...more }
    if (isReplacing) await world.finish(client.send(message))
    const { recallHandle: id = '' } = await world.finish(client.send(message))
    for (let moves = 0; moves < moveCount; moves++) {
      await world.finish(client.move({ id }, { delayMs: 2 * MINUTE_MS }))
    }
    const shown = await world.finish(scheduled.find({ id }))
    await world.runFor(moveCount > 0 ? 3 * MINUTE_MS : 61 * MINUTE_MS)
    const { properties } = await delivered(scene, 'orders')
    expect(Object.fromEntries(shown?.properties ?? [])).toEqual(Object.fromEntries(properties))
    const names = ['ORRERY_FIRST', 'ORRERY_REPLACES', 'ORRERY_ON_LATE', 'ORRERY_LATE_AFTER_MS']
    expect([...properties.keys()].filter(name => names.includes(name))).toEqual([])
  },
)

test('a message that was moved, delivered and sent back shows nothing of the move', async () => {
  const scene = await begun()
  const { world, client } = scene
  const id = await send(scene, { topic: 'orders', delayMs: HOUR_MS, body: 'x' })
  await world.finish(client.move({ id }, { delayMs: 0 }))
  await world.runFor(MINUTE_MS)
  const { commitLogOffset } = await delivered(scene, 'orders')
  const [queue] = await world.finish(client.readableQueues('orders'))
  const asked = { offset: String(commitLogOffset), group: 'billing', delayLevel: '1' }
  const code = REQUEST_CODE.CONSUMER_SEND_MSG_BACK
  await world.finish(client.ask(queue?.address ?? '', { code, extFields: asked }))
  await world.runFor(MINUTE_MS)
  const { properties, reconsumeTimes } = await delivered(scene, '%RETRY%billing')
  expect(reconsumeTimes).toBe(1)
  expect([...properties.keys()]).not.toContain('ORRERY_FIRST')
})

test.each([
  ['a limit of 0', {}, { limit: 0, cursor: undefined }],
  ['a limit beyond the largest', {}, { limit: 1_001, cursor: undefined }],
  ['a cursor that is none', {}, { limit: 1, cursor: 'bm9uZQ' }],
  ['a topic that is too long', { topic: 'x'.repeat(256) }, { limit: 1, cursor: undefined }],
  ['a tag that is too long', { tag: 'x'.repeat(256) }, { limit: 1, cursor: undefined }],
  ['a key that is too long', { key: 'x'.repeat(256) }, { limit: 1, cursor: undefined }],
  ['an empty beginning of a key', { keyPrefix: '' }, { limit: 1, cursor: undefined }],
  ['times in the wrong order', { fromMs: 5, toMs: 5 }, { limit: 1, cursor: undefined }],
])('%s is refused', async (_name, filter, page) => {
  const scene = await begun()
  await expect(scene.world.finish(scene.scheduled.list(filter, page))).rejects.toMatchObject({
    code: 'PARAMETER_INVALID',
  })
})

test('a filter with texts as long as they may be is taken', async () => {
  const scene = await begun()
  const key = 'k'.repeat(255)
  await send(scene, { topic: 'orders', delayMs: HOUR_MS, body: 'a', keys: [key], tag: key })
  expect(await all(scene, { key, tag: key, keyPrefix: key })).toHaveLength(1)
})

test('a forecast of too many steps is refused', async () => {
  const scene = await begun()
  const steps = { fromMs: scene.startMs, toMs: scene.startMs + HOUR_MS, stepMs: 1 }
  await expect(scene.world.finish(scene.scheduled.forecast({}, steps))).rejects.toMatchObject({
    code: 'PARAMETER_INVALID',
  })
})

test('a page of messages with long keys ends early, and the next one goes on', async () => {
  const scene = await begun()
  const key = 'k'.repeat(30_000)
  for (let index = 0; index < 200; index++) {
    await send(scene, { topic: 'orders', delayMs: HOUR_MS, body: 'x', keys: [key] })
  }
  const page = scene.scheduled.list({}, { limit: 1_000, cursor: undefined })
  expect((await scene.world.finish(page)).messages.length).toBeLessThan(150)
  expect(await all(scene, {}, 1_000)).toHaveLength(200)
})

test('beyond as many lists and counts at once as there may be, others are told to come back', async () => {
  const scene = await begun()
  await send(scene, { topic: 'orders', delayMs: HOUR_MS, body: 'x' })
  const asking = Array.from({ length: 40 }, (_, index) => {
    if (index % 2 === 0) return scene.scheduled.count({ topic: 'orders' })
    return scene.scheduled.list({ topic: 'orders' }, { limit: 1, cursor: undefined })
  })
  const answers = await scene.world.finish(Promise.allSettled(asking))
  const refused = answers.filter(({ status }) => status === 'rejected')
  expect(refused).toHaveLength(8)
  for (const refusal of refused) {
    expect(refusal).toMatchObject({ reason: { code: 'STORE_BUSY' } })
  }
  expect(await scene.world.finish(scene.scheduled.count({ topic: 'orders' }))).toBe(1)
})
