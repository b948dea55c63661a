import { expect, test } from 'vitest'
import { loadOptions } from '../core/config/index.ts'
import { SimulatedWorld } from '../core/platform/simulated/index.ts'
import { PutOutcome, PutRequest } from '../engine/broker/index.ts'
import {
  decodeRecords,
  encodeHost,
  encodeRecallHandle,
  formatProperties,
  type Message,
} from '../model/message/index.ts'
import { type Engine, openEngine } from './engine.ts'

const MINUTE_MS = 60_000
const HOST = encodeHost('127.0.0.1', 10_911)
const LATE = { ORRERY_LATE_AFTER_MS: '60000' }

function opened(world: SimulatedWorld): Promise<Engine> {
  const { options } = loadOptions({ flags: { data: '/data', diskFreeBytesMin: '0' } })
  return world.finish(openEngine(options, world.platform, HOST))
}

/** Sends a message that is due in a minute; returns its id. */
async function sent(
  world: SimulatedWorld,
  engine: Engine,
  properties: Readonly<Record<string, string>>,
): Promise<string> {
  const request = new PutRequest()
  request.topic = 'orders'
  request.bornHost = HOST
  request.body = Buffer.from('hello')
  request.bodyEnd = request.body.length
  request.nowMs = world.platform.clock.timeMs()
  const all = { TIMER_DELAY_MS: String(MINUTE_MS), KEYS: 'k', ...properties }
  request.properties = formatProperties(Object.entries(all))
  const outcome = new PutOutcome()
  engine.broker.put.put(request, outcome)
  await world.finish(engine.store.whenApplied(outcome.commitLogOffset))
  const { topic, deliverTimeMs, uniqueKey, commitLogOffset } = outcome
  const brokerName = 'broker-a'
  return encodeRecallHandle({
    topic,
    brokerName,
    deliverTimeMs,
    uniqueKey,
    timerId: commitLogOffset,
  })
}

async function messages(world: SimulatedWorld, engine: Engine, topic: string): Promise<Message[]> {
  const found: Message[] = []
  for (const queue of engine.store.queuesOf(topic)) {
    const request = { fromOffset: 0, countMax: 100, bytesMax: 65_536, accepts: undefined }
    const read = await world.finish(Promise.resolve(engine.store.readQueue(queue, request)))
    found.push(...decodeRecords(read.bytes))
  }
  return found
}

/** The broker is down when the message falls due, for ten minutes. */
async function reopened(world: SimulatedWorld, engine: Engine): Promise<Engine> {
  await world.finish(engine.stop())
  world.exit()
  world.stepClock(10 * MINUTE_MS)
  const again = await opened(world)
  await world.runFor(2_000)
  return again
}

test('what is to be dropped when late is not delivered, also after crashes, and too late to cancel', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const first = await opened(world)
  const id = await sent(world, first, { ORRERY_ON_LATE: 'drop', ...LATE })
  let engine = await reopened(world, first)
  expect(engine.broker.statistics.broker.lateDroppedCount).toBe(1)
  expect(engine.timers.statistics().waitingCount).toBe(0)
  for (const ending of ['crash', 'kill', 'crash'] as const) {
    world[ending]()
    // In time again: only the record tells that it was dropped.
    world.stepClock(-10 * MINUTE_MS)
    engine = await opened(world)
    await world.runFor(12 * MINUTE_MS)
    expect(await messages(world, engine, 'orders')).toEqual([])
  }
  expect(await world.finish(engine.scheduled.cancel({ id }))).toBe('too-late')
  const said = world.logLines.filter(({ fields }) => fields['droppedCount'] === 1)
  expect(said).toMatchObject([{ level: 'warn', fields: { deadLetterCount: 0 } }])
})

test('what is to be a dead letter when late goes to the dead letters of its topic', async () => {
  const world = new SimulatedWorld({ seed: 2 })
  const first = await opened(world)
  const id = await sent(world, first, { ORRERY_ON_LATE: 'deadLetter', ...LATE })
  const engine = await reopened(world, first)
  expect(await messages(world, engine, 'orders')).toEqual([])
  const [letter, ...others] = await messages(world, engine, '%DLQ%orders')
  expect(others).toEqual([])
  expect(letter?.body.toString()).toBe('hello')
  const properties = Object.fromEntries(letter?.properties ?? [])
  expect(properties).toMatchObject({
    KEYS: 'k',
    DLQ_ORIGIN_TOPIC: 'orders',
    ORRERY_DEAD_LETTER_REASON: 'late',
  })
  expect(Number(properties['ORRERY_TIMER_ID'])).toBeGreaterThanOrEqual(0)
  expect(properties).not.toHaveProperty('ORRERY_ON_LATE')
  expect(engine.broker.statistics.broker.lateDeadLetterCount).toBe(1)
  expect(await world.finish(engine.scheduled.cancel({ id }))).toBe('too-late')
})

test.each([
  ['in time', { ORRERY_ON_LATE: 'drop', ...LATE }, 0],
  ['late, and to be delivered', { ORRERY_ON_LATE: 'deliver', ...LATE }, 10 * MINUTE_MS],
  [
    'not later than permitted',
    { ORRERY_ON_LATE: 'drop', ORRERY_LATE_AFTER_MS: '3600000' },
    10 * MINUTE_MS,
  ],
])('what is %s is delivered', async (_name, policy, jumpMs) => {
  const world = new SimulatedWorld({ seed: 3 })
  const engine = await opened(world)
  await sent(world, engine, policy)
  world.stepClock(jumpMs)
  await world.runFor(2 * MINUTE_MS)
  expect(await messages(world, engine, 'orders')).toHaveLength(1)
})

test('what a closed topic has parked is judged when the topic takes it', async () => {
  const world = new SimulatedWorld({ seed: 4 })
  const engine = await opened(world)
  await sent(world, engine, { ORRERY_ON_LATE: 'drop', ...LATE })
  await sent(world, engine, {})
  const { topics } = engine.broker
  const settings = { ...topics.get('orders') }
  await world.finish(topics.update('orders', { ...settings, perm: 4 }))
  await world.runFor(5 * MINUTE_MS)
  await world.finish(topics.update('orders', settings))
  await world.runFor(MINUTE_MS)
  expect(await messages(world, engine, 'orders')).toHaveLength(1)
  expect(engine.broker.statistics.broker.lateDroppedCount).toBe(1)
})

test('a policy that is wrong, or beside a delay level, is refused at once', async () => {
  const world = new SimulatedWorld({ seed: 5 })
  const engine = await opened(world)
  await expect(sent(world, engine, { ORRERY_ON_LATE: 'drop' })).rejects.toMatchObject({
    code: 'LATE_POLICY_INVALID',
  })
  await expect(
    sent(world, engine, { DELAY: '3', ORRERY_ON_LATE: 'drop', ...LATE }),
  ).rejects.toMatchObject({ code: 'LATE_POLICY_NOT_FOR_LEVELS' })
})
