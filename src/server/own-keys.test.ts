import { describe, expect, test } from 'vitest'
import { type BrokerClient, PullConsumer } from '../client/index.ts'
import { SimulatedWorld } from '../core/platform/simulated/index.ts'
import { PROPERTY } from '../model/message/index.ts'
import { REQUEST_CODE } from '../model/wire/index.ts'
import { served, type Served } from './testing/served.ts'

const TOPIC = 'orders'
const SECOND_MS = 1_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** A broker and a client of it on a simulated network. */
class Scene {
  readonly world: SimulatedWorld
  #server: Served['server']
  client: BrokerClient

  private constructor(world: SimulatedWorld, server: Served['server'], client: BrokerClient) {
    this.world = world
    this.#server = server
    this.client = client
  }

  static async begin(world = new SimulatedWorld({ seed: 3 })): Promise<Scene> {
    const { server, client } = await served(world)
    return new Scene(world, server, client)
  }

  async restart(how: 'stop' | 'kill' | 'power cut'): Promise<void> {
    await this.world.finish(this.client.close())
    if (how === 'stop') {
      await this.world.finish(this.#server.stop())
      this.world.exit()
    } else if (how === 'kill') this.world.kill()
    else this.world.crash()
    const next = await Scene.begin(this.world)
    this.#server = next.#server
    this.client = next.client
  }

  /** A clean stop, then what is in a folder of a database goes, then a start. */
  async lose(directory: string): Promise<void> {
    await this.world.finish(this.client.close())
    await this.world.finish(this.#server.stop())
    this.world.exit()
    const { files } = this.world.outside
    for (const name of await this.world.finish(files.list(directory))) {
      await this.world.finish(files.remove(`${directory}/${name}`))
    }
    const next = await Scene.begin(this.world)
    this.#server = next.#server
    this.client = next.client
  }

  async setWritable(isWritable: boolean): Promise<void> {
    const [queue] = await this.world.finish(this.client.readableQueues(TOPIC))
    const count = { readQueueNums: '4', writeQueueNums: '4' }
    const extFields = { topic: TOPIC, ...count, perm: isWritable ? '6' : '4' }
    const code = REQUEST_CODE.UPDATE_AND_CREATE_TOPIC
    await this.world.finish(this.client.ask(queue?.address ?? '', { code, extFields }))
  }

  /** Sends for later with the own key `key`. */
  send(
    body: string,
    delayMs: number,
    more: { readonly key?: string; readonly ifAbsent?: boolean } = {},
  ): ReturnType<BrokerClient['send']> {
    const { key: ownKey = 'k', ifAbsent } = more
    return this.client.send({ topic: TOPIC, body, ownKey, delayMs, ifAbsent })
  }

  async sent(body: string, delayMs: number, key = 'k'): Promise<string> {
    const { recallHandle } = await this.world.finish(this.send(body, delayMs, { key }))
    return recallHandle ?? ''
  }

  cancel(key = 'k'): Promise<string> {
    return this.world.finish(this.client.cancel({ topic: TOPIC, key }))
  }

  /** Bodies of all messages of the topic that can be pulled. */
  async pulled(): Promise<string[]> {
    const { world, client } = this
    const bodies: string[] = []
    const consumer = new PullConsumer(client, 'billing')
    for (const queue of await world.finish(consumer.queues(TOPIC))) {
      const { messages } = await world.finish(consumer.pull(queue, { offset: 0 }))
      bodies.push(...messages.map(({ body }) => body.toString()))
    }
    return bodies.toSorted()
  }
}

const RESTARTS = ['stop', 'kill', 'power cut'] as const
const DELAYS = [
  ['within seconds', 4 * SECOND_MS],
  ['within minutes', 3 * 60 * SECOND_MS],
  ['in days', 3 * DAY_MS],
] as const

describe.each(DELAYS)('a message with an own key, due %s,', (_name, delayMs) => {
  test('is replaced by the next with the key, and only that one is delivered', async () => {
    const scene = await Scene.begin()
    const { world } = scene
    const first = await scene.sent('first', delayMs)
    const receipt = await world.finish(scene.send('second', delayMs + SECOND_MS))
    expect(receipt.replacedHandle).toBe(first)
    expect(await world.finish(scene.client.cancel({ id: first }))).toBe('cancelled')
    await scene.sent('other', delayMs, 'other')
    world.stepClock(Math.max(0, delayMs - 20 * SECOND_MS))
    await world.runFor(30 * SECOND_MS)
    expect(await scene.pulled()).toEqual(['other', 'second'])
  })

  test.each(RESTARTS)('is found by it after a %s', async how => {
    const scene = await Scene.begin()
    const { world } = scene
    const first = await scene.sent('first', delayMs + HOUR_MS)
    await scene.restart(how)
    const second = await world.finish(scene.send('second', delayMs + HOUR_MS))
    expect(second.replacedHandle).toBe(first)
    await scene.restart(how)
    await world.runFor(6 * SECOND_MS)
    await scene.restart(how)
    expect(await world.finish(scene.client.cancel({ id: first }))).toBe('cancelled')
    expect(await scene.cancel()).toBe('cancelled')
    expect(await scene.cancel()).toBe('cancelled')
    await scene.restart(how)
    expect(await scene.cancel()).toBe('cancelled')
    world.stepClock(delayMs + HOUR_MS)
    await world.runFor(30 * SECOND_MS)
    expect(await scene.pulled()).toEqual([])
  })
})

describe('a message that is only to be stored when none waits with its key', () => {
  test('is refused while one does, which stays', async () => {
    const scene = await Scene.begin()
    const { world } = scene
    await world.finish(scene.send('first', 8 * SECOND_MS, { ifAbsent: true }))
    const sending = world.finish(scene.send('second', SECOND_MS, { ifAbsent: true }))
    await expect(sending).rejects.toMatchObject({ code: 'KEY_EXISTS' })
    await world.runFor(20 * SECOND_MS)
    expect(await scene.pulled()).toEqual(['first'])
  })

  test.each(['cancelled', 'delivered'])('is stored when that one was %s', async how => {
    const scene = await Scene.begin()
    const { world } = scene
    await scene.sent('first', 2 * SECOND_MS)
    if (how === 'cancelled') expect(await scene.cancel()).toBe('cancelled')
    await world.runFor(5 * SECOND_MS)
    await world.finish(scene.send('second', SECOND_MS, { ifAbsent: true }))
    await world.runFor(5 * SECOND_MS)
    expect(await scene.pulled()).toEqual(how === 'cancelled' ? ['second'] : ['first', 'second'])
  })
})

test('of many that are sent with one key at once the last one is delivered, and no other', async () => {
  const scene = await Scene.begin()
  const { world } = scene
  const bodies = Array.from({ length: 40 }, (_, index) => `${index}`)
  const receipts = await world.finish(
    Promise.all(bodies.map(body => scene.send(body, 20 * SECOND_MS))),
  )
  const replaced = new Set(receipts.map(({ replacedHandle }) => replacedHandle))
  const left = receipts.filter(({ recallHandle }) => !replaced.has(recallHandle))
  expect(replaced.size).toBe(40)
  expect(left).toHaveLength(1)
  await world.runFor(30 * SECOND_MS)
  const pulled = await scene.pulled()
  expect(pulled).toEqual(bodies.filter((_, index) => receipts[index] === left[0]))
})

test('of many that ask for an absent key at once one is stored', async () => {
  const scene = await Scene.begin()
  const { world } = scene
  const sends = Array.from({ length: 20 }, (_, index) =>
    scene.send(`${index}`, 20 * SECOND_MS, { ifAbsent: true }),
  )
  const outcomes = await world.finish(Promise.allSettled(sends))
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  await world.runFor(30 * SECOND_MS)
  expect(await scene.pulled()).toHaveLength(1)
})

test('a key belongs to one topic', async () => {
  const scene = await Scene.begin()
  const { world, client } = scene
  await scene.sent('here', 5 * SECOND_MS)
  const there = { topic: 'bills', body: 'there', ownKey: 'k', delayMs: 5 * SECOND_MS }
  expect((await world.finish(client.send(there))).replacedHandle).toBeUndefined()
  const cancelling = client.cancel({ topic: 'bills', key: 'k' })
  expect(await world.finish(cancelling)).toBe('cancelled')
  await world.runFor(8 * SECOND_MS)
  expect(await scene.pulled()).toEqual(['here'])
})

test('a moved message keeps its key, and is moved, replaced and delivered now by it', async () => {
  const scene = await Scene.begin()
  const { world, client } = scene
  const id = await scene.sent('first', HOUR_MS)
  expect(await world.finish(client.move({ id }, { delayMs: 2 * DAY_MS }))).toMatchObject({
    kind: 'moved',
  })
  const ref = { topic: TOPIC, key: 'k' }
  await world.finish(client.move(ref, { delayMs: 3 * DAY_MS }))
  await scene.restart('power cut')
  const { replacedHandle } = await world.finish(scene.send('second', HOUR_MS))
  expect(replacedHandle).toBe(id)
  expect(await world.finish(scene.client.move(ref, { delayMs: 0 }))).toMatchObject({
    kind: 'moved',
  })
  await world.runFor(SECOND_MS)
  expect(await scene.pulled()).toEqual(['second'])
  expect(await world.finish(scene.client.move(ref, { delayMs: 0 }))).toEqual({ kind: 'too-late' })
})

test('moves and replaces of one key at once leave one message', async () => {
  const scene = await Scene.begin()
  const { world, client } = scene
  await scene.sent('0', HOUR_MS)
  const ref = { topic: TOPIC, key: 'k' }
  const work = Array.from({ length: 30 }, (_, index) =>
    index % 3 === 0
      ? client.move(ref, { delayMs: HOUR_MS + index })
      : scene.send(`${index}`, HOUR_MS),
  )
  await world.finish(Promise.all(work))
  world.stepClock(HOUR_MS)
  await world.runFor(30 * SECOND_MS)
  expect(await scene.pulled()).toHaveLength(1)
})

test('an unknown key is not known', async () => {
  const scene = await Scene.begin()
  await scene.sent('a', HOUR_MS)
  expect(await scene.cancel('nobody')).toBe('unknown')
  await expect(scene.cancel('k'.repeat(256))).rejects.toMatchObject({ code: 'PARAMETER_INVALID' })
  const [queue] = await scene.world.finish(scene.client.readableQueues(TOPIC))
  const extFields = { topic: 't'.repeat(256), key: 'k' }
  const code = REQUEST_CODE.CANCEL_SCHEDULED_MESSAGE
  const answer = await scene.world.finish(
    scene.client.ask(queue?.address ?? '', { code, extFields }),
  )
  expect(answer.remark).toMatch(/^PARAMETER_INVALID: .*field=topic/)
})

test('a time that has come delivers now, in the place of what waits', async () => {
  const scene = await Scene.begin()
  const { world, client } = scene
  await scene.sent('first', HOUR_MS)
  const now = { topic: TOPIC, body: 'now', ownKey: 'k', deliverTimeMs: 1_500_000_000_000 }
  await world.finish(client.send(now))
  await world.runFor(SECOND_MS)
  expect(await scene.pulled()).toEqual(['now'])
})

describe('a key is refused', () => {
  test.each([
    ['without a deliver time', {}],
    ['with a level', { level: 3 }],
    ['that is too long', { ownKey: 'k'.repeat(256), delayMs: 5_000 }],
    ['with another condition', { properties: { ORRERY_KEY_WHEN: 'never' }, delayMs: 5_000 }],
  ])('%s', async (_name, more) => {
    const scene = await Scene.begin()
    const message = { topic: TOPIC, body: '', ownKey: 'k', ...more }
    const sending = scene.world.finish(scene.client.send(message))
    await expect(sending).rejects.toMatchObject({ code: 'MESSAGE_INVALID' })
  })

  test('in a batch', async () => {
    const scene = await Scene.begin()
    const message = { topic: TOPIC, body: '', properties: { [PROPERTY.ORRERY_KEY]: 'k' } }
    const sending = scene.world.finish(scene.client.sendBatch([message, message]))
    await expect(sending).rejects.toMatchObject({ code: 'MESSAGE_INVALID' })
  })
})

describe('what is refused of any message is refused beside a key:', () => {
  const policy = { ORRERY_ON_LATE: 'drop', ORRERY_LATE_AFTER_MS: '60000' }
  test.each([
    ['LATE_POLICY_INVALID', 'half a late policy', { properties: { ORRERY_ON_LATE: 'drop' } }],
    [
      'LATE_POLICY_INVALID',
      'a late policy out of range',
      { properties: { ...policy, ORRERY_LATE_AFTER_MS: '-5' } },
    ],
    [
      'LATE_POLICY_NOT_FOR_LEVELS',
      'a late policy with a level',
      { properties: policy, delayMs: undefined, level: 3 },
    ],
    ['DELAY_NEGATIVE', 'a negative delay', { delayMs: -1 }],
    ['DELIVER_TIME_TOO_FAR', 'a deliver time too far away', { delayMs: 4_000 * DAY_MS }],
    ['NOT_SUPPORTED', 'a half message', { properties: { TRAN_MSG: 'true' } }],
    ['PROPERTIES_TOO_LARGE', 'too many properties', { properties: { x: 'x'.repeat(32_500) } }],
    ['MESSAGE_TOO_LARGE', 'too large a body', { body: 'x'.repeat(4 * 1024 * 1024 + 1) }],
  ])('%s of %s', async (code, _name, more) => {
    const scene = await Scene.begin()
    const message = { topic: TOPIC, body: 'x', delayMs: 5 * SECOND_MS, ...more }
    for (const ownKey of [undefined, 'k']) {
      const sending = scene.world.finish(scene.client.send({ ...message, ownKey }))
      await expect(sending).rejects.toMatchObject({ code })
    }
  })
})

test('an index that was lost is made again from what waits, near and far and refused', async () => {
  const scene = await Scene.begin()
  const { world } = scene
  const delays = [8 * SECOND_MS, HOUR_MS, 3 * DAY_MS]
  const ids: string[] = []
  for (const delayMs of delays) ids.push(await scene.sent('first', delayMs, `${delayMs}`))
  await world.runFor(6 * SECOND_MS)
  await scene.lose('/data/orrery/keys')
  await world.runFor(SECOND_MS)
  for (const [index, delayMs] of delays.entries()) {
    const again = await world.finish(scene.send('second', HOUR_MS, { key: `${delayMs}` }))
    // The first is delivered by now, or about to be.
    if (index > 0) expect(again.replacedHandle).toBe(ids[index])
  }
  await scene.restart('power cut')
  for (const delayMs of delays) expect(await scene.cancel(`${delayMs}`)).toBe('cancelled')
})

test('a message that its topic refuses is replaced while it is parked', async () => {
  const scene = await Scene.begin()
  const { world } = scene
  const id = await scene.sent('first', 2 * SECOND_MS)
  await scene.setWritable(false)
  await world.runFor(5 * SECOND_MS)
  await scene.setWritable(true)
  const { replacedHandle } = await world.finish(scene.send('second', 3 * SECOND_MS))
  expect(replacedHandle).toBe(id)
  await world.runFor(30 * SECOND_MS)
  expect(await scene.pulled()).toEqual(['second'])
})
