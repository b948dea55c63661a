import { describe, expect, test } from 'vitest'

import { servedProcessors } from '../../src/doors/remoting/index.ts'
import { ladderSectionOf } from '../../src/engine/timer/index.ts'
import { encodeHeartbeat, REQUEST_CODE, RESPONSE_CODE } from '../../src/model/wire/index.ts'
import { pullFields, RemotingWorld, type WireClient } from '../support/remoting-world.ts'
import { CLOSED_TOPIC, ClockScene, OPEN_TOPIC } from './clock-scene.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** A step is noticed within a second; reading, loading and a slow disk take their time. */
const SOON_MS = 2 * SECOND_MS

interface Step {
  readonly name: string
  readonly take: (scene: ClockScene) => void
}

const steps: readonly Step[] = [
  { name: 'forward by an hour', take: step(HOUR_MS) },
  { name: 'back by an hour', take: step(-HOUR_MS) },
  { name: 'back by a day', take: step(-DAY_MS) },
  { name: 'on after a sleep in which uptime stood still', take: sleep(false) },
  { name: 'on after a sleep in which uptime went on', take: sleep(true) },
]

const restarts = ['no restart', 'a restart before', 'a restart after'] as const

function step(ms: number): Step['take'] {
  return ({ world }) => {
    world.stepClock(ms)
  }
}

function sleep(isUptimeCounted: boolean): Step['take'] {
  return ({ world }) => {
    world.sleep(8 * HOUR_MS, { isUptimeCounted })
  }
}

/** Messages of all kinds: in levels, in the window, in the ladder near and far, and parked. */
async function filledScene(): Promise<ClockScene> {
  const scene = new ClockScene(5)
  await scene.start()
  await scene.open(OPEN_TOPIC)
  await scene.open(CLOSED_TOPIC)
  scene.send('parked', { topic: CLOSED_TOPIC, delayMs: SECOND_MS })
  scene.send('done', { delayMs: SECOND_MS })
  scene.send('done level', { level: 1, delayMs: SECOND_MS })
  await scene.close(CLOSED_TOPIC)
  scene.send('level', { level: 5, delayMs: MINUTE_MS })
  scene.send('long level', { level: 18, delayMs: 2 * HOUR_MS })
  scene.send('ladder near', { delayMs: 20 * MINUTE_MS })
  scene.send('ladder hour', { delayMs: 3 * HOUR_MS })
  scene.send('ladder far', { delayMs: 3 * DAY_MS })
  // A checkpoint moves the fire position past what is done.
  await scene.pass(12 * SECOND_MS)
  scene.send('window', { delayMs: 4 * SECOND_MS })
  await scene.pass(100)
  return scene
}

/** What is due was stored once, at its time or at most `lateMs` after it; the rest not yet. */
async function expectAsDue(
  scene: ClockScene,
  options: { readonly lateMs: (dueMs: number) => number; readonly except?: readonly string[] },
): Promise<void> {
  for (const [name, { dueMs, storedMs }] of await scene.waited()) {
    if (options.except?.includes(name) === true) continue
    const isDue = dueMs + options.lateMs(dueMs) < scene.nowMs
    if (isDue) expect(storedMs, name).toHaveLength(1)
    expect(storedMs.length, name).toBeLessThanOrEqual(1)
  }
}

/** Never early by the clock of that moment, and never twice. */
async function expectInTime(scene: ClockScene, lateMs: (dueMs: number) => number): Promise<void> {
  for (const [name, { dueMs, storedMs }] of await scene.waited()) {
    expect(storedMs, name).toHaveLength(1)
    expect(storedMs[0], name).toBeGreaterThanOrEqual(dueMs)
    if (name === 'parked') continue
    expect(storedMs[0], name).toBeLessThanOrEqual(dueMs + lateMs(dueMs))
  }
}

describe.each(steps)('a clock that goes $name', ({ take }) => {
  test.each(restarts)('neither loses, repeats nor hurries a message, with %s', async restart => {
    const scene = await filledScene()
    if (restart === 'a restart before') await scene.restart()
    const steppedAtMs = scene.nowMs
    take(scene)
    if (restart === 'a restart after') await scene.restart()
    const resumedAtMs = scene.nowMs
    // What became due while the clock jumped comes soon after.
    const lateMs = (dueMs: number): number => {
      const isJumpedOver = dueMs >= steppedAtMs - SOON_MS && dueMs <= resumedAtMs
      return SOON_MS + (isJumpedOver ? resumedAtMs - dueMs : 0)
    }
    await scene.pass(SOON_MS + SECOND_MS)
    await expectAsDue(scene, { lateMs, except: ['parked'] })
    // Whatever is behind the fire position: what is accepted now is on time.
    const delaysMs = [1, 700, 4 * SECOND_MS, 30 * SECOND_MS, 10 * MINUTE_MS]
    for (const delayMs of delaysMs) scene.send(`new ${delayMs}`, { delayMs })
    scene.send('new level', { level: 2, delayMs: 5 * SECOND_MS })
    await scene.open(CLOSED_TOPIC)
    await scene.passTo(scene.nowMs + 11 * MINUTE_MS)
    await expectAsDue(scene, { lateMs })
    await scene.passTo(Infinity)
    await scene.pass(12 * SECOND_MS)
    await expectInTime(scene, lateMs)
    expect(scene.engine.timers.statistics()).toMatchObject({ waitingCount: 0, parkedCount: 0 })
  })
})

test('the fire position stays where it was when the clock goes back', async () => {
  const scene = await filledScene()
  const steppedAtMs = scene.nowMs
  scene.world.stepClock(-DAY_MS)
  scene.send('new', { delayMs: SECOND_MS })
  await scene.pass(12 * SECOND_MS)
  await scene.restart()
  const { firedMs } = ladderSectionOf(scene.engine.store.section('ladder'))
  expect(firedMs).toBeGreaterThan(steppedAtMs - 6 * SECOND_MS)
  expect(scene.nowMs).toBeLessThan(steppedAtMs - DAY_MS + MINUTE_MS)
})

test('a level keeps its order when the clock goes back: what is new waits for what is older', async () => {
  const scene = await filledScene()
  scene.world.stepClock(-10 * MINUTE_MS)
  scene.send('behind', { level: 5, delayMs: MINUTE_MS })
  await scene.pass(2 * MINUTE_MS)
  expect((await scene.waited()).get('behind')?.storedMs).toEqual([])
  await scene.passTo(scene.nowMs + 10 * MINUTE_MS)
  const waited = await scene.waited()
  const { dueMs = 0, storedMs = [] } = waited.get('level') ?? {}
  expect(storedMs[0]).toBeGreaterThanOrEqual(dueMs)
  expect(waited.get('behind')?.storedMs).toEqual(storedMs)
})

test.each([
  ['forward', HOUR_MS],
  ['back', -DAY_MS],
])('a step %s is in the log once', async (_direction, ms) => {
  const scene = await filledScene()
  scene.world.stepClock(ms)
  await scene.pass(MINUTE_MS)
  const lines = scene.world.logLines.filter(({ message }) => message.startsWith('the clock went'))
  expect(lines).toHaveLength(1)
})

const PULL_MS = 10 * SECOND_MS

async function servedClient(): Promise<{ served: RemotingWorld; client: WireClient }> {
  const served = await RemotingWorld.open({ processors: servedProcessors })
  served.broker.start()
  served.broker.topics.createOnUse('orders', 1)
  const client = await served.connect()
  const body = encodeHeartbeat({
    clientId: 'a',
    fingerprint: 0,
    withoutSubscriptions: false,
    producerGroups: ['p'],
    consumers: [],
  })
  await client.ask({ code: REQUEST_CODE.HEART_BEAT, version: 399, language: 'GO' }, body)
  return { served, client }
}

describe.each([
  ['forward by an hour', HOUR_MS],
  ['back by a day', -DAY_MS],
])('doors of a broker whose clock goes %s', (_name, ms) => {
  test('keep a client that sends heartbeats', async () => {
    const { served } = await servedClient()
    served.world.stepClock(ms)
    await served.world.runFor(MINUTE_MS)
    expect(served.broker.clients.clientCount).toBe(1)
  })

  test('hold a long poll for as long as it asked', async () => {
    const { served, client } = await servedClient()
    const extFields = pullFields('orders', { suspendTimeoutMillis: String(PULL_MS) })
    const opaque = client.send({ code: REQUEST_CODE.PULL_MESSAGE, extFields })
    await served.world.runFor(SECOND_MS)
    served.world.stepClock(ms)
    await served.world.runFor(PULL_MS - 2 * SECOND_MS)
    expect(client.answerTo(opaque)).toBeUndefined()
    await served.world.runFor(3 * SECOND_MS)
    expect(client.answerTo(opaque)?.header.code).toBe(RESPONSE_CODE.PULL_NOT_FOUND)
  })
})

test('a sleep in which uptime went on ends heartbeats and long polls', async () => {
  const { served, client } = await servedClient()
  const extFields = pullFields('orders', { suspendTimeoutMillis: String(PULL_MS) })
  const opaque = client.send({ code: REQUEST_CODE.PULL_MESSAGE, extFields })
  await served.world.runFor(SECOND_MS)
  served.world.sleep(HOUR_MS, { isUptimeCounted: true })
  await served.world.runFor(SECOND_MS)
  expect(client.answerTo(opaque)?.header.code).toBe(RESPONSE_CODE.PULL_NOT_FOUND)
  await served.world.runFor(15 * SECOND_MS)
  expect(served.broker.clients.clientCount).toBe(0)
})
