import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../../core/platform/simulated/index.ts'
import { type Accepted, mistakes, TestBroker, type TestSink, timerFiles } from '../testing.ts'

const HOUR_MS = 3_600_000

function nowOf(world: SimulatedWorld): number {
  return world.platform.clock.timeMs()
}

function closed(sink: TestSink): void {
  sink.refused.add('Closed')
}

function closedAndBroken(sink: TestSink): void {
  sink.refused.add('Closed').add('Broken')
}

test('what a topic refuses is kept over crashes and delivered once it is taken', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  let broker = await TestBroker.open(world, {}, closed)
  const accepted: Accepted[] = []
  for (let key = 0; key < 300; key++) {
    const deliverTimeMs = nowOf(world) + 20 * key
    accepted.push(broker.accept({ key, topic: 'Closed', deliverTimeMs, bodyBytes: 300 }))
  }
  for (const ending of ['kill', 'crash', 'kill'] as const) {
    await world.runFor(3_300)
    world[ending]()
    broker = await TestBroker.open(world, {}, closed)
  }
  await world.runFor(10_000)
  expect(broker.timers.statistics()).toMatchObject({ parkedCount: 300, waitingCount: 300 })
  broker.sink.refused.clear()
  await world.runFor(60_000)
  expect(mistakes(accepted, await broker.published('Closed'))).toEqual([])
  await broker.stop()
  expect(await timerFiles(world)).toEqual([])
})

test('what comes in behind the fire position waits for its own time, also over a crash', async () => {
  const world = new SimulatedWorld({ seed: 2 })
  let broker = await TestBroker.open(world)
  // The fire position is where the clock was at the latest checkpoint.
  await world.runFor(11_000)
  world.stepClock(-HOUR_MS)
  const accepted: Accepted[] = []
  for (let key = 0; key < 50; key++) {
    accepted.push(broker.accept({ key, deliverTimeMs: nowOf(world) + 1_000 + 60_000 * key }))
  }
  await world.runFor(8_000)
  world.crash()
  broker = await TestBroker.open(world)
  for (let key = 50; key < 60; key++) {
    accepted.push(broker.accept({ key, deliverTimeMs: nowOf(world) + 30_000 }))
  }
  await world.runFor(500)
  world.kill()
  broker = await TestBroker.open(world)
  await world.runFor(HOUR_MS)
  const published = await broker.published()
  expect(mistakes(accepted, published)).toEqual([])
  for (const message of published) {
    const dueMs = accepted[message.key]?.deliverTimeMs ?? 0
    expect(message.storeTimeMs - dueMs).toBeLessThan(1_500)
  }
  await broker.stop()
  expect(await timerFiles(world)).toEqual([])
})

test('parked messages wait again when the clock goes back behind their time', async () => {
  const world = new SimulatedWorld({ seed: 3 })
  const broker = await TestBroker.open(world, {}, sink => sink.refused.add('Target'))
  const accepted = [broker.accept({ key: 1, deliverTimeMs: nowOf(world) + 1_000 })]
  await world.runFor(2_000)
  world.stepClock(-60_000)
  broker.sink.refused.clear()
  await world.runFor(40_000)
  expect(await broker.published()).toEqual([])
  await world.runFor(40_000)
  expect(mistakes(accepted, await broker.published())).toEqual([])
})

test('a herd that is refused does not fill the memory', async () => {
  const world = new SimulatedWorld({ seed: 4 })
  const store = {
    checkpointIntervalMs: HOUR_MS,
    cacheBytes: 4_194_304,
    unappliedBytesMax: 1_048_576,
  }
  const broker = await TestBroker.open(world, { store }, sink => sink.refused.add('Target'))
  let writtenBytes = 0
  world.faults.onCall = ({ call, path, sizeBytes }) => {
    if (call === 'write' && path.includes('/parked/')) writtenBytes += sizeBytes
  }
  for (let key = 0; key < 600; key++) {
    broker.accept({ key, deliverTimeMs: nowOf(world) + 100, bodyBytes: 15_000 })
    if (key % 3 === 0) await world.runFor(4)
  }
  await world.runFor(2_000)
  expect(broker.timers.statistics().parkedCount).toBe(600)
  expect(600 * 15_000 - writtenBytes).toBeLessThan(5 * 1024 * 1024)
})

test('what is damaged in a file of parked messages is lost alone, and keeps no file', async () => {
  for (const isLoadedBefore of [false, true]) {
    const world = new SimulatedWorld({ seed: 7 })
    let broker = await TestBroker.open(world, {}, closed)
    const accepted: Accepted[] = []
    for (let key = 0; key < 5; key++) {
      const deliverTimeMs = nowOf(world) + 20
      accepted.push(broker.accept({ key, topic: 'Closed', deliverTimeMs, bodyBytes: 300 }))
    }
    await world.runFor(8_000)
    if (!isLoadedBefore) await broker.stop()
    const [path = ''] = (await timerFiles(world)).filter(name => name.includes('parked'))
    // In the body of the first.
    world.disk.flipBit(path, 32 + 56 + 150, 3)
    if (!isLoadedBefore) broker = await TestBroker.open(world, {}, closed)
    broker.sink.refused.clear()
    await world.runFor(60_000)
    const published = await broker.published('Closed')
    expect(mistakes(accepted.slice(1), published)).toEqual([])
    expect(broker.timers.statistics()).toMatchObject({ parkedCount: 0, lostCount: 1 })
    await broker.stop()
    expect(await timerFiles(world)).toEqual([])
  }
})

test('what cannot be read for one topic holds up no other, and is tried again', async () => {
  const world = new SimulatedWorld({ seed: 5 })
  let broker = await TestBroker.open(world, {}, closedAndBroken)
  const broken = broker.accept({ key: 1, topic: 'Broken', deliverTimeMs: nowOf(world) + 100 })
  await world.runFor(1_000)
  await broker.stop()
  // After a start, what is parked goes to another file.
  broker = await TestBroker.open(world, {}, closedAndBroken)
  const other = broker.accept({ key: 2, topic: 'Closed', deliverTimeMs: nowOf(world) + 100 })
  await world.runFor(1_000)
  broker.sink.refused.clear()
  world.faults.failNext({ call: 'read', path: /\/parked\/1$/, error: 'STORE_FAILED', count: 500 })
  await world.runFor(30_000)
  expect(await broker.published('Broken')).toEqual([])
  expect(mistakes([other], await broker.published('Closed'))).toEqual([])
  // Not at every look: the pause grows.
  expect(world.faults.counts().failedRead).toBeLessThan(8)
  world.faults.heal()
  await world.runFor(60_000)
  expect(mistakes([broken], await broker.published('Broken'))).toEqual([])
  await broker.stop()
  expect(await timerFiles(world)).toEqual([])
})

test('the name of a new file is made durable by the next checkpoint when one has failed', async () => {
  const world = new SimulatedWorld({ seed: 7 })
  let broker = await TestBroker.open(world, {}, closed)
  const accepted = [broker.accept({ key: 1, topic: 'Closed', deliverTimeMs: nowOf(world) + 1_000 })]
  await world.runFor(2_000)
  world.faults.failNext({ call: 'syncDirectory', path: /\/parked$/, error: 'STORE_FULL' })
  let syncCount = 0
  world.faults.onCall = ({ call, path }) => {
    if (call === 'syncDirectory' && path.endsWith('/parked')) syncCount++
  }
  await world.runFor(15_000)
  expect(syncCount).toBe(2)
  world.crash()
  broker = await TestBroker.open(world)
  await world.runFor(60_000)
  expect(mistakes(accepted, await broker.published('Closed'))).toEqual([])
})
