import { describe, expect, test } from 'vitest'
import { SeededRandom, SimulatedWorld } from '../../../core/platform/simulated/index.ts'
import { type Accepted, mistakes, TestBroker, timerFiles } from '../testing.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

function nowOf(world: SimulatedWorld): number {
  return world.platform.clock.timeMs()
}

/** Time of the next full minute that is at least `aheadMs` away. */
function minuteAfter(world: SimulatedWorld, aheadMs: number): number {
  return Math.ceil((nowOf(world) + aheadMs) / MINUTE_MS) * MINUTE_MS
}

async function settled(world: SimulatedWorld, broker: TestBroker): Promise<void> {
  await world.finish(broker.store.whenApplied(broker.store.endOffset - 1))
}

/** Most that anything was published after its deliver time. */
async function latestMs(broker: TestBroker, accepted: readonly Accepted[]): Promise<number> {
  const dueMs = new Map(accepted.map(message => [message.key, message.deliverTimeMs]))
  let latest = 0
  for (const message of await broker.published()) {
    latest = Math.max(latest, message.storeTimeMs - (dueMs.get(message.key) ?? 0))
  }
  return latest
}

describe('deliver times', () => {
  test.each([
    ['1 ms', 1],
    ['just what goes to the window at once', 4_999],
    ['just what does not', 5_001],
    ['a minute', MINUTE_MS],
    ['two hours', 2 * HOUR_MS],
    ['a day', DAY_MS],
    ['two days', 2 * DAY_MS],
    ['sixty days', 60 * DAY_MS],
    ['three years', 3 * 365 * DAY_MS],
  ])('%s ahead is met within a few milliseconds', async (_name, delayMs) => {
    const world = new SimulatedWorld({ seed: 1 })
    let broker = await TestBroker.open(world)
    const message = { key: 1, deliverTimeMs: nowOf(world) + delayMs }
    const accepted = [broker.accept(message)]
    await settled(world, broker)
    if (delayMs > HOUR_MS) {
      await broker.stop()
      world.stepClock(delayMs - 30_000)
      broker = await TestBroker.open(world)
    }
    await world.runFor(Math.max(0, message.deliverTimeMs - nowOf(world) - 2))
    expect(await broker.published()).toEqual([])
    await world.runFor(50)
    expect(mistakes(accepted, await broker.published())).toEqual([])
    expect(await latestMs(broker, accepted)).toBeLessThan(20)
    await broker.stop()
    expect(await timerFiles(world)).toEqual([])
  })

  test('at the borders of minute, hour and day are met to the millisecond', async () => {
    const midnightMs = 1_767_225_600_000
    const world = new SimulatedWorld({ seed: 2, startTimeMs: midnightMs - 2.4 * HOUR_MS })
    const broker = await TestBroker.open(world)
    const accepted: Accepted[] = []
    for (const borderMs of [minuteAfter(world, MINUTE_MS), midnightMs, midnightMs - HOUR_MS]) {
      for (const offMs of [-1, 0, 1, 19, 20, 999, 1000]) {
        const deliverTimeMs = borderMs + offMs
        accepted.push(broker.accept({ key: accepted.length, deliverTimeMs }))
      }
    }
    await world.runFor(midnightMs + 2_000 - nowOf(world))
    expect(mistakes(accepted, await broker.published())).toEqual([])
    expect(await latestMs(broker, accepted)).toBeLessThan(25)
  })
})

describe('more than fits into memory', () => {
  test('a herd of one millisecond is published once each, in the order of acceptance', async () => {
    const world = new SimulatedWorld({ seed: 3 })
    const broker = await TestBroker.open(world)
    const deliverTimeMs = minuteAfter(world, 2 * MINUTE_MS)
    const accepted: Accepted[] = []
    for (let key = 0; key < 5_000; key++) {
      accepted.push(broker.accept({ key, deliverTimeMs, bodyBytes: 600 }))
      if (key % 50 === 0) await settled(world, broker)
    }
    await world.runFor(deliverTimeMs - nowOf(world) + 30_000)
    const published = await broker.published()
    expect(mistakes(accepted, published)).toEqual([])
    expect(published.map(message => message.key)).toEqual(accepted.map(message => message.key))
  })

  test('what is read from the log again is delivered in steps that fit into memory', async () => {
    const world = new SimulatedWorld({ seed: 13 })
    const store = { cacheBytes: 8 * 1024 * 1024, unappliedBytesMax: 4 * 1024 * 1024 }
    const keepAll = { ...store, checkpointIntervalMs: HOUR_MS }
    const broker = await TestBroker.open(world, { store: keepAll })
    const deliverTimeMs = nowOf(world) + 4_500
    const accepted: Accepted[] = []
    for (let key = 0; key < 1_200; key++) {
      accepted.push(broker.accept({ key, deliverTimeMs, bodyBytes: 15_000 }))
      if (key % 100 === 0) await settled(world, broker)
    }
    let readBytes = 0
    let readBytesMost = 0
    let deliveredCount = 0
    world.faults.onCall = ({ call, path, sizeBytes }) => {
      if (call !== 'read' || !path.includes('/commitlog/')) return
      if (broker.sink.deliveredCount > deliveredCount) readBytes = 0
      deliveredCount = broker.sink.deliveredCount
      readBytes += sizeBytes
      readBytesMost = Math.max(readBytesMost, readBytes)
    }
    await world.runFor(deliverTimeMs + 10_000 - nowOf(world))
    expect(readBytesMost).toBeGreaterThan(512 * 1024)
    expect(readBytesMost).toBeLessThanOrEqual(2 * 1024 * 1024)
    const published = await broker.published()
    expect(mistakes(accepted, published)).toEqual([])
    expect(published.map(message => message.key)).toEqual(accepted.map(message => message.key))
  })

  test('what arrives steadily for the next minute is on time with a small window', async () => {
    const world = new SimulatedWorld({ seed: 4 })
    const broker = await TestBroker.open(world)
    const accepted: Accepted[] = []
    const random = new SeededRandom(4)
    // Twice as much waits as the window takes: what is due last must not take all of it.
    for (let tick = 0; tick < 400; tick++) {
      for (let index = 0; index < 20; index++) {
        const deliverTimeMs = nowOf(world) + 6_000 + Math.floor(random.fraction() * 54_000)
        accepted.push(broker.accept({ key: accepted.length, deliverTimeMs, bodyBytes: 1_000 }))
      }
      await world.runFor(500)
    }
    await world.runFor(70_000)
    expect(mistakes(accepted, await broker.published())).toEqual([])
    expect(await latestMs(broker, accepted)).toBeLessThan(500)
  })

  test('what is loaded for a time that the clock has left holds up nothing', async () => {
    const world = new SimulatedWorld({ seed: 12 })
    const broker = await TestBroker.open(world)
    const herdMs = minuteAfter(world, MINUTE_MS)
    const accepted: Accepted[] = []
    for (let key = 0; key < 1_500; key++) {
      accepted.push(broker.accept({ key, deliverTimeMs: herdMs, bodyBytes: 600 }))
      if (key % 50 === 0) await settled(world, broker)
    }
    // The window is full of the herd when the clock goes back.
    await world.runFor(herdMs - nowOf(world) - 20)
    world.stepClock(-HOUR_MS)
    const dueMs = nowOf(world) + 20_000
    for (let key = 1_500; key < 1_600; key++) {
      accepted.push(broker.accept({ key, deliverTimeMs: dueMs + key, bodyBytes: 600 }))
    }
    await world.runFor(30_000)
    const published = await broker.published()
    expect(published).toHaveLength(100)
    expect(await latestMs(broker, accepted)).toBeLessThan(100)
    await world.runFor(HOUR_MS + 10_000)
    expect(mistakes(accepted, await broker.published())).toEqual([])
  })

  test('what is due is not held up by what is not, in a coarse partition or a nearer one', async () => {
    const world = new SimulatedWorld({ seed: 8 })
    // All in one partition of 30 days, each in a file of its own; the first one fills the window.
    const coarseMs = Math.ceil((nowOf(world) + 61 * DAY_MS) / (30 * DAY_MS)) * 30 * DAY_MS
    const accepted: Accepted[] = []
    const limits = { timers: { windowBytesMax: 14_000, loadBytesMax: 1_048_576 } }
    let broker = await TestBroker.open(world, limits)
    for (const [key, days, bodyBytes] of [
      [1, 20, 15_000],
      [2, 21, 100],
      [3, 10, 100],
    ] as const) {
      const deliverTimeMs = coarseMs + days * DAY_MS
      accepted.push(broker.accept({ key, deliverTimeMs, bodyBytes }))
      await settled(world, broker)
      await broker.stop()
      broker = await TestBroker.open(world, limits)
    }
    world.stepClock(coarseMs + 10 * DAY_MS - 20_000 - nowOf(world))
    await world.runFor(5_000)
    accepted.push(broker.accept({ key: 4, deliverTimeMs: nowOf(world) + 14_000 }))
    await world.runFor(20_000)
    expect((await broker.published()).map(({ key }) => key).toSorted((a, b) => a - b)).toEqual([
      3, 4,
    ])
    expect(await latestMs(broker, accepted)).toBeLessThan(100)
  })

  test('a large partition far ahead is split early enough behind small ones', async () => {
    const world = new SimulatedWorld({ seed: 5 })
    const broker = await TestBroker.open(world)
    const accepted: Accepted[] = []
    const farMs = minuteAfter(world, 3 * HOUR_MS)
    for (let key = 0; key < 6_000; key++) {
      const deliverTimeMs = farMs + (key % 3)
      accepted.push(broker.accept({ key, deliverTimeMs, bodyBytes: 900 }))
      if (key % 50 === 0) await settled(world, broker)
    }
    for (let minute = 1; minute < 190; minute++) {
      const deliverTimeMs = nowOf(world) + minute * MINUTE_MS
      accepted.push(broker.accept({ key: accepted.length, deliverTimeMs }))
    }
    await world.runFor(farMs - nowOf(world) + 20 * MINUTE_MS)
    const published = await broker.published()
    expect(mistakes(accepted, published)).toEqual([])
    const first = published.find(message => message.key < 6_000)
    expect((first?.storeTimeMs ?? 0) - farMs).toBeLessThan(20)
  })
})

describe('a checkpoint', () => {
  test('in the middle of a herd leaves nothing to fire twice after a crash', async () => {
    for (const seed of [6, 7, 8]) {
      const world = new SimulatedWorld({ seed })
      const slow = { timers: { windowBytesMax: 256 * 1024, loadBytesMax: 64 * 1024 } }
      let broker = await TestBroker.open(world, slow)
      const deliverTimeMs = minuteAfter(world, 2 * MINUTE_MS)
      const accepted: Accepted[] = []
      for (let key = 0; key < 4_000; key++) {
        accepted.push(broker.accept({ key, deliverTimeMs, bodyBytes: 600 }))
        if (key % 50 === 0) await settled(world, broker)
      }
      await world.runFor(deliverTimeMs - nowOf(world))
      await world.run(() => broker.sink.deliveredCount > 1_000)
      const generation = broker.store.checkpointOffset
      broker.sink.isBusy = true
      await world.run(() => broker.store.checkpointOffset > generation, 20_000)
      world.kill()
      broker = await TestBroker.open(world, slow)
      await world.runFor(60_000)
      expect(mistakes(accepted, await broker.published())).toEqual([])
    }
  })

  test('while an earlier message still waits names what has fired', async () => {
    const world = new SimulatedWorld({ seed: 9 })
    let broker = await TestBroker.open(world)
    const startMs = nowOf(world)
    const accepted = [
      broker.accept({ key: 1, deliverTimeMs: startMs + 18_000 }),
      broker.accept({ key: 2, deliverTimeMs: startMs + 30_000 }),
    ]
    await world.runFor(18_500)
    expect(await broker.published()).toHaveLength(1)
    // Due before what has fired, and still waiting when the checkpoint comes.
    world.stepClock(-15_000)
    accepted.push(broker.accept({ key: 3, deliverTimeMs: startMs + 17_000 }))
    const before = broker.store.checkpointOffset
    await world.run(() => broker.store.checkpointOffset > before, 10_000)
    world.kill()
    broker = await TestBroker.open(world)
    await world.runFor(60_000)
    expect(mistakes(accepted, await broker.published())).toEqual([])
  })

  test('during a split can be started from, wherever the process dies', async () => {
    for (let seed = 20; seed < 30; seed++) {
      const world = new SimulatedWorld({ seed })
      const busy = { store: { checkpointIntervalMs: 150 } }
      // Checkpoints take long, so that much is split while they are written.
      world.faults.rates.slowCall = 0.3
      let broker = await TestBroker.open(world, busy)
      const accepted: Accepted[] = []
      const minuteMs = minuteAfter(world, 30_000)
      for (let key = 0; key < 1_500; key++) {
        const deliverTimeMs = minuteMs + ((key * 7) % 60_000)
        accepted.push(broker.accept({ key, deliverTimeMs, bodyBytes: 500 }))
        if (key % 50 === 0) await settled(world, broker)
      }
      let removed = false
      world.faults.onCall = ({ call, path }) => {
        if (call === 'remove' && path.includes('/ladder/1min/')) removed = true
      }
      await world.run(() => removed, 60_000)
      await world.runFor(seed - 19)
      if (seed % 2 === 0) world.kill()
      else world.crash()
      broker = await TestBroker.open(world, busy)
      await world.runFor(90_000 + minuteMs - nowOf(world))
      expect(mistakes(accepted, await broker.published())).toEqual([])
      await broker.stop()
      expect(await timerFiles(world)).toEqual([])
    }
  }, 60_000)
})

describe('a disk that does not do its part', () => {
  test('that is full for the partitions is asked again in a while, not at once', async () => {
    const world = new SimulatedWorld({ seed: 50 })
    const small = { timers: { stagingBytesMax: 128 * 1024 } }
    const broker = await TestBroker.open(world, small)
    const path = /\/ladder\/1min\//
    world.faults.failNext({ call: 'write', path, error: 'STORE_FULL', count: 6 })
    const accepted: Accepted[] = []
    for (let key = 0; key < 200; key++) {
      const deliverTimeMs = nowOf(world) + 60_000 + key
      accepted.push(broker.accept({ key, deliverTimeMs, bodyBytes: 1_000 }))
      await world.runFor(1)
    }
    expect(broker.store.congested).toBe(true)
    await world.runFor(800)
    expect(world.faults.counts().failedWrite).toBeLessThanOrEqual(3)
    await world.runFor(10_000)
    expect(broker.store.congested).toBe(false)
    await world.runFor(60_000)
    expect(mistakes(accepted, await broker.published())).toEqual([])
  })

  test.each(['ladder', 'parked'])(
    'that has no room when %s is made durable is not trusted again',
    async folder => {
      const world = new SimulatedWorld({ seed: 53 })
      const broker = await TestBroker.open(world, {}, sink => sink.refused.add('Closed'))
      broker.accept({ key: 1, deliverTimeMs: nowOf(world) + HOUR_MS })
      broker.accept({ key: 2, topic: 'Closed', deliverTimeMs: nowOf(world) + 10 })
      await world.runFor(100)
      const before = broker.store.checkpointOffset
      const path = new RegExp(`/${folder}/`)
      world.faults.failNext({ call: 'datasync', path, error: 'STORE_FULL' })
      await world.runFor(20_000)
      expect(broker.store.failure?.code).toBe('STORE_FAILED')
      expect(broker.store.checkpointOffset).toBe(before)
    },
  )

  test('that cannot be read for a moment holds up nobody else', async () => {
    const world = new SimulatedWorld({ seed: 51 })
    const broker = await TestBroker.open(world, { store: { checkpointIntervalMs: 3_600_000 } })
    const dueMs = nowOf(world) + 4_000
    const accepted: Accepted[] = []
    // More than the log keeps in memory, so that the first ones are read from disk.
    for (let key = 0; key < 500; key++) {
      const deliverTimeMs = key < 20 ? dueMs : dueMs + 100
      accepted.push(broker.accept({ key, deliverTimeMs, bodyBytes: 1_000 }))
      if (key % 10 === 0) await settled(world, broker)
    }
    world.faults.failNext({ call: 'read', path: /commitlog/, error: 'STORE_FAILED', count: 1 })
    await world.runFor(dueMs + 600 - nowOf(world))
    expect(world.faults.counts().failedRead).toBe(1)
    const early = (await broker.published()).map(message => message.key)
    expect(early).toContain(499)
    expect(early).not.toContain(0)
    await world.runFor(2_000)
    expect(mistakes(accepted, await broker.published())).toEqual([])
  })

  test('that cannot read a partition for a moment holds up no other', async () => {
    const world = new SimulatedWorld({ seed: 52 })
    let broker = await TestBroker.open(world)
    const minuteMs = minuteAfter(world, 2 * MINUTE_MS)
    const accepted = [
      broker.accept({ key: 1, deliverTimeMs: minuteMs - 1 }),
      broker.accept({ key: 2, deliverTimeMs: minuteMs + 500 }),
    ]
    await world.runFor(100)
    await broker.stop()
    broker = await TestBroker.open(world)
    const firstMs = minuteMs - MINUTE_MS
    const path = new RegExp(`/1min/${firstMs}-`)
    world.faults.failNext({ call: 'read', path, error: 'STORE_FAILED', count: 90 })
    await world.runFor(minuteMs + 600 - nowOf(world))
    expect((await broker.published()).map(message => message.key)).toEqual([2])
    await world.runFor(120_000)
    expect(mistakes(accepted, await broker.published())).toEqual([])
  })

  test('of which the power is cut has the files that were made during a checkpoint', async () => {
    for (let seed = 60; seed < 72; seed++) {
      const world = new SimulatedWorld({ seed })
      const busy = { store: { checkpointIntervalMs: 100 } }
      world.faults.rates.slowCall = 0.2
      let broker = await TestBroker.open(world, busy)
      const accepted: Accepted[] = []
      for (let key = 0; key < 60; key++) {
        const deliverTimeMs = nowOf(world) + 60_000 * (1 + key) + 10_000
        accepted.push(broker.accept({ key, deliverTimeMs }))
        await world.runFor(13)
      }
      await world.runFor(250)
      world.crash()
      broker = await TestBroker.open(world, busy)
      world.stepClock(3_700_000)
      await world.runFor(20_000)
      expect(mistakes(accepted, await broker.published())).toEqual([])
    }
  })
})
