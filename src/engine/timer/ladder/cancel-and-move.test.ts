import { describe, expect, test } from 'vitest'
import { SimulatedWorld } from '../../../core/platform/simulated/index.ts'
import { CHUNK_HEADER_BYTES } from '../chunk.ts'
import { type Accepted, type Published, TestBroker, timerFiles } from '../testing.ts'

const SECOND_MS = 1000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

function nowOf(world: SimulatedWorld): number {
  return world.platform.clock.timeMs()
}

async function settled(world: SimulatedWorld, broker: TestBroker): Promise<void> {
  await world.finish(broker.store.whenApplied(broker.store.endOffset - 1))
}

interface Scene {
  readonly world: SimulatedWorld
  broker: TestBroker
  readonly message: Accepted
}

/** A broker with one message that waits, and after it another that must not be touched. */
async function waiting(delayMs: number, options: { refuse?: boolean } = {}): Promise<Scene> {
  const world = new SimulatedWorld({ seed: 5 })
  const broker = await TestBroker.open(world, {}, sink => {
    if (options.refuse === true) sink.refused.add('Target')
  })
  const message = broker.accept({ key: 1, deliverTimeMs: nowOf(world) + delayMs })
  broker.accept({ key: 2, deliverTimeMs: nowOf(world) + delayMs })
  await settled(world, broker)
  return { world, broker, message }
}

/** Runs until the time of the message is well over; returns what was delivered. */
async function deliveredKeys(scene: Scene): Promise<number[]> {
  const { world, message } = scene
  scene.broker.sink.refused.clear()
  const restMs = message.deliverTimeMs - nowOf(world)
  if (restMs > HOUR_MS) world.stepClock(restMs - 30_000)
  await world.runFor(Math.max(0, message.deliverTimeMs - nowOf(world)) + 5_000)
  const published = await scene.broker.published()
  return published.map(({ key }) => key)
}

/** Everything that is delivered up to some seconds after a time, in steps of the clock. */
async function deliveredBy(scene: Scene, untilMs: number): Promise<Published[]> {
  const { world } = scene
  for (const share of [0.3, 0.6]) {
    const stepMs = share * (untilMs - nowOf(world))
    if (stepMs > HOUR_MS) world.stepClock(stepMs)
    await world.runFor(2_000)
  }
  if (untilMs - nowOf(world) > 60_000) world.stepClock(untilMs - nowOf(world) - 60_000)
  await world.runFor(Math.max(0, untilMs - nowOf(world)) + 20_000)
  return scene.broker.published()
}

async function restart(scene: Scene, how: 'stop' | 'crash'): Promise<void> {
  if (how === 'stop') await scene.broker.stop()
  else scene.world.crash()
  scene.broker = await TestBroker.open(scene.world)
}

const DELAYS: readonly (readonly [name: string, delayMs: number])[] = [
  ['within seconds', 3 * SECOND_MS],
  ['within minutes', 3 * 60 * SECOND_MS],
  ['in days', 5 * DAY_MS],
  ['in years', 800 * DAY_MS],
]

describe.each(DELAYS)('a message due %s', (_name, delayMs) => {
  test('that is cancelled is never delivered, and the answer stays the same', async () => {
    const scene = await waiting(delayMs)
    const { world, broker, message } = scene
    expect(await world.finish(broker.cancel(message))).toBe('cancelled')
    expect(await world.finish(broker.cancel(message))).toBe('cancelled')
    expect(broker.timers.statistics().waitingCount).toBe(1)
    expect(await deliveredKeys(scene)).toEqual([2])
    expect(await world.finish(broker.cancel(message))).toBe('absent')
    expect(broker.timers.statistics().waitingCount).toBe(0)
    await broker.stop()
    expect(await timerFiles(world)).toEqual([])
  })

  test.each(['stop', 'crash'] as const)('and cancelled is so after a %s', async how => {
    const scene = await waiting(delayMs)
    const { world, message } = scene
    expect(await world.finish(scene.broker.cancel(message))).toBe('cancelled')
    await restart(scene, how)
    if (delayMs > 60 * SECOND_MS) {
      expect(await world.finish(scene.broker.cancel(message))).toBe('cancelled')
    }
    expect(await deliveredKeys(scene)).toEqual([2])
  })

  test('is cancelled after a checkpoint and a restart', async () => {
    const scene = await waiting(delayMs)
    const { world, message } = scene
    await restart(scene, 'stop')
    expect(await world.finish(scene.broker.cancel(message))).toBe('cancelled')
    await restart(scene, 'crash')
    expect(await deliveredKeys(scene)).toEqual([2])
  })

  test('is delivered when the cancel was not durable', async () => {
    const scene = await waiting(delayMs)
    void scene.broker.cancel(scene.message)
    scene.world.crash()
    scene.broker = await TestBroker.open(scene.world)
    expect(await deliveredKeys(scene)).toEqual([1, 2])
  })
})

test('what is delivered cannot be cancelled', async () => {
  const scene = await waiting(2 * SECOND_MS)
  expect(await deliveredKeys(scene)).toEqual([1, 2])
  expect(await scene.world.finish(scene.broker.cancel(scene.message))).toBe('absent')
})

test('a message whose topic refuses it is cancelled where it is parked', async () => {
  const scene = await waiting(2 * SECOND_MS, { refuse: true })
  const { world, broker, message } = scene
  await world.runFor(4_000)
  expect(broker.timers.statistics().parkedCount).toBe(2)
  expect(await world.finish(broker.cancel(message))).toBe('cancelled')
  expect(broker.timers.statistics().parkedCount).toBe(1)
  await restart(scene, 'stop')
  await world.runFor(60_000)
  expect(await deliveredKeys(scene)).toEqual([2])
})

test('two cancels at once are one', async () => {
  const { world, broker, message } = await waiting(HOUR_MS)
  const end = broker.store.endOffset
  const both = await world.finish(Promise.all([broker.cancel(message), broker.cancel(message)]))
  expect(both).toEqual(['cancelled', 'cancelled'])
  expect(broker.store.endOffset - end).toBeLessThan(400)
})

test('another deliver time than that of the message does not find it', async () => {
  const scene = await waiting(HOUR_MS)
  const { world, broker, message } = scene
  const forged = { ...message, cancels: [], deliverTimeMs: message.deliverTimeMs + 1 }
  expect(await world.finish(broker.cancel(forged))).toBe('absent')
  expect(await deliveredKeys(scene)).toEqual([1, 2])
})

describe.each(DELAYS)('a message that was due %s', (_name, delayMs) => {
  test.each(DELAYS)('is moved to a time %s', async (_other, otherMs) => {
    const scene = await waiting(delayMs)
    const { world, message } = scene
    const movedToMs = nowOf(world) + otherMs + 7
    expect(await world.finish(scene.broker.move(message, movedToMs))).toBe('done')
    expect(scene.broker.timers.statistics().waitingCount).toBe(2)
    await restart(scene, 'crash')
    await restart(scene, 'stop')
    const published = await deliveredBy(scene, Math.max(movedToMs, message.deliverTimeMs))
    expect(new Set(published.map(({ key }) => key))).toEqual(new Set([1, 2]))
    expect(published).toHaveLength(2)
    const moved = published.find(({ key }) => key === 1)
    expect(moved?.storeTimeMs).toBeGreaterThanOrEqual(movedToMs)
    expect(await world.finish(scene.broker.cancel(message))).toBe('absent')
  })

  test('is moved twice, then cancelled', async () => {
    const scene = await waiting(delayMs)
    const { world, message } = scene
    for (const otherMs of [DAY_MS, 90 * SECOND_MS]) {
      const movedToMs = nowOf(world) + otherMs
      expect(await world.finish(scene.broker.move(message, movedToMs))).toBe('done')
    }
    expect(await world.finish(scene.broker.cancel(message))).toBe('cancelled')
    await restart(scene, 'crash')
    expect(await world.finish(scene.broker.cancel(message))).toBe('cancelled')
    const published = await deliveredBy(scene, message.deliverTimeMs + 2 * DAY_MS)
    expect(published.map(({ key }) => key)).toEqual([2])
  })
})

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'a mark that was written and not synced is made durable by the next start (seed %d)',
  async seed => {
    const world = new SimulatedWorld({ seed })
    let broker = await TestBroker.open(world)
    const message = broker.accept({ key: 1, deliverTimeMs: nowOf(world) + 3 * DAY_MS })
    await world.runFor(6_000)
    await world.finish(broker.cancel(message))
    world.faults.failNext({ call: 'datasync', path: /ladder/, error: 'STORE_FAILED' })
    await world.runFor(6_000)
    world.faults.heal()
    world.kill()
    broker = await TestBroker.open(world)
    await world.runFor(12_000)
    world.crash()
    broker = await TestBroker.open(world)
    await world.runFor(1_000)
    expect(await world.finish(broker.cancel(message))).toBe('cancelled')
    expect(broker.timers.statistics().waitingCount).toBe(0)
  },
)

test('more cancels than memory for their marks hold up senders until a checkpoint', async () => {
  const world = new SimulatedWorld({ seed: 6 })
  const timers = { stagingBytesMax: 64 * 1024 }
  let broker = await TestBroker.open(world)
  const deliverTimeMs = nowOf(world) + HOUR_MS
  const messages: Accepted[] = []
  for (let key = 0; key < 1_500; key++) {
    messages.push(broker.accept({ key, deliverTimeMs }))
    if (key % 50 === 0) await settled(world, broker)
  }
  await broker.stop()
  broker = await TestBroker.open(world, { timers })
  let hasBeenCongested = false
  broker.store.onApplied(() => {
    hasBeenCongested ||= broker.store.congested
  })
  const answers = await world.finish(Promise.all(messages.map(message => broker.cancel(message))))
  expect(new Set(answers)).toEqual(new Set(['cancelled']))
  expect(hasBeenCongested).toBe(true)
  await world.runFor(6_000)
  expect(broker.store.congested).toBe(false)
  expect(broker.timers.statistics().waitingCount).toBe(0)
})

test('a message behind one whose header is damaged is found all the same', async () => {
  const world = new SimulatedWorld({ seed: 7 })
  const broker = await TestBroker.open(world)
  const deliverTimeMs = nowOf(world) + HOUR_MS
  const messages = [1, 2, 3].map(key => broker.accept({ key, deliverTimeMs }))
  await settled(world, broker)
  await broker.stop()
  const [path = ''] = await timerFiles(world)
  // The size of the first message.
  const damage = async (): Promise<void> => {
    const file = await world.outside.files.open(path, 'write')
    await file.write([Buffer.alloc(4, 0)], CHUNK_HEADER_BYTES)
    await file.close()
  }
  await world.finish(damage())
  const again = await TestBroker.open(world)
  const [, second, third] = messages
  if (second === undefined || third === undefined) throw new Error('three were accepted')
  expect(await world.finish(again.cancel(third))).toBe('cancelled')
  expect(await world.finish(again.cancel(second))).toBe('cancelled')
})
