import { expect, test } from 'vitest'
import { readWholeFile, replaceFile } from '../../../core/platform/index.ts'
import { SimulatedWorld } from '../../../core/platform/simulated/index.ts'
import { type Accepted, DIRECTORY, mistakes, TestBroker } from '../testing.ts'

const OFFSETS = `${DIRECTORY}/config/delayOffset.json`

function nowOf(world: SimulatedWorld): number {
  return world.platform.clock.timeMs()
}

test('each level is delivered in order of acceptance, on time and never early', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const broker = await TestBroker.open(world)
  const accepted: Accepted[] = []
  for (let key = 0; key < 2_000; key++) {
    accepted.push(broker.acceptLevel({ key, level: 1 + (key % 4) }))
    if (key % 10 === 0) await world.runFor(7)
  }
  await world.runFor(40_000)
  const published = await broker.published()
  expect(mistakes(accepted, published)).toEqual([])
  for (const level of [0, 1, 2, 3]) {
    const keys = published.map(message => message.key).filter(key => key % 4 === level)
    expect(keys).toEqual(keys.toSorted((a, b) => a - b))
  }
  for (const message of published) {
    const dueMs = accepted[message.key]?.deliverTimeMs ?? 0
    expect(message.storeTimeMs - dueMs).toBeLessThan(100)
  }
})

test('a restart goes on where each level was', async () => {
  const world = new SimulatedWorld({ seed: 2 })
  let broker = await TestBroker.open(world)
  const accepted: Accepted[] = []
  for (let key = 0; key < 100; key++) {
    accepted.push(broker.acceptLevel({ key, level: 1 + (key % 4) }))
    await world.runFor(30)
  }
  await broker.stop()
  broker = await TestBroker.open(world)
  await world.runFor(3_000)
  world.kill()
  broker = await TestBroker.open(world)
  expect(broker.timers.statistics().levelCount).toBeGreaterThan(0)
  await world.runFor(40_000)
  expect(mistakes(accepted, await broker.published())).toEqual([])
  expect(broker.timers.statistics().levelCount).toBe(0)
})

test('another table of levels leaves accepted messages at their times', async () => {
  const world = new SimulatedWorld({ seed: 3 })
  let broker = await TestBroker.open(world)
  const accepted = [
    broker.acceptLevel({ key: 1, level: 2 }),
    broker.acceptLevel({ key: 2, level: 4 }),
  ]
  await world.runFor(100)
  // Nothing of this is below a checkpoint: the next process applies it again from the log.
  world.kill()
  broker = await TestBroker.open(world, { timers: { levelsMs: [500, 600, 700, 800] } })
  await world.runFor(2_000)
  expect(await broker.published()).toEqual([])
  await world.runFor(40_000)
  const published = await broker.published()
  expect(mistakes(accepted, published)).toEqual([])
  for (const message of published) {
    const dueMs = accepted.find(({ key }) => key === message.key)?.deliverTimeMs ?? 0
    expect(message.storeTimeMs - dueMs).toBeLessThan(100)
  }
})

test('a topic that refuses does not hold up its level, and gets its messages later', async () => {
  const world = new SimulatedWorld({ seed: 4 })
  let broker = await TestBroker.open(world, {}, sink => sink.refused.add('Closed'))
  const accepted: Accepted[] = []
  for (let key = 0; key < 40; key++) {
    const topic = key % 2 === 0 ? 'Closed' : 'Target'
    accepted.push(broker.acceptLevel({ key, level: 1, topic }))
  }
  await world.runFor(2_000)
  expect(await broker.published('Target')).toHaveLength(20)
  expect(broker.timers.statistics().parkedCount).toBe(20)
  await world.runFor(6_000)
  world.crash()
  broker = await TestBroker.open(world, {}, sink => sink.refused.add('Closed'))
  expect(broker.timers.statistics().parkedCount).toBe(20)
  broker.sink.refused.clear()
  await world.runFor(40_000)
  const published = [...(await broker.published('Target')), ...(await broker.published('Closed'))]
  expect(mistakes(accepted, published)).toEqual([])
})

test('a busy log stops a level for a moment only', async () => {
  const world = new SimulatedWorld({ seed: 5 })
  const broker = await TestBroker.open(world)
  broker.sink.isBusy = true
  const accepted = [broker.acceptLevel({ key: 1, level: 1 })]
  await world.runFor(3_000)
  broker.sink.isBusy = false
  await world.runFor(200)
  expect(mistakes(accepted, await broker.published())).toEqual([])
})

test('the offsets are exported as Apache writes them', async () => {
  const world = new SimulatedWorld({ seed: 6 })
  const broker = await TestBroker.open(world)
  for (let key = 0; key < 3; key++) broker.acceptLevel({ key, level: 1 })
  broker.acceptLevel({ key: 3, level: 3 })
  await world.runFor(3_000)
  await broker.stop()
  const bytes = await world.finish(readWholeFile(world.outside.files, OFFSETS))
  expect(bytes?.toString()).toMatch(/"offsetTable":\{1:3,3:0\}/)
})

test('after Apache had the folder open, its offsets count', async () => {
  const world = new SimulatedWorld({ seed: 7 })
  let broker = await TestBroker.open(world)
  const first = broker.acceptLevel({ key: 1, level: 2 })
  const second = broker.acceptLevel({ key: 2, level: 2 })
  await world.runFor(1_000)
  await broker.stop()
  // Apache has delivered the first one, and says so in its own way.
  const text = '{"dataVersion":{"counter":3},"offsetTable":{2:1\n}}'
  await world.finish(replaceFile(world.outside.files, OFFSETS, Buffer.from(text)))
  broker = await TestBroker.open(world)
  await world.runFor(second.deliverTimeMs + 1_000 - nowOf(world))
  expect((await broker.published()).map(message => message.key)).toEqual([2])
  expect(first.acknowledgedAtMs).toBeDefined()
})

test('progress outside the queue is corrected and reported', async () => {
  const world = new SimulatedWorld({ seed: 8 })
  let broker = await TestBroker.open(world)
  const accepted = [broker.acceptLevel({ key: 1, level: 2 })]
  await world.runFor(100)
  await broker.stop()
  const text = '{"offsetTable":{2:7}}'
  await world.finish(replaceFile(world.outside.files, OFFSETS, Buffer.from(text)))
  broker = await TestBroker.open(world)
  accepted.push(broker.acceptLevel({ key: 2, level: 2 }))
  await world.runFor(10_000)
  expect((await broker.published()).map(message => message.key)).toEqual([2])
  const warned = world.logLines.filter(line => line.message.includes('delay level'))
  expect(warned.map(line => line.fields)).toEqual([{ level: 2, offset: 7, corrected: 1 }])
})

test('a message that is damaged in the log makes none behind it early', async () => {
  const world = new SimulatedWorld({ seed: 5 })
  let broker = await TestBroker.open(world)
  const first = broker.acceptLevel({ key: 1, level: 4 })
  const damagedAt = broker.store.endOffset
  broker.acceptLevel({ key: 2, level: 4 })
  await world.runFor(5)
  const last = broker.acceptLevel({ key: 3, level: 4 })
  await world.runFor(50)
  world.kill()
  world.disk.flipBit(`${DIRECTORY}/commitlog/${'0'.repeat(20)}`, damagedAt + 100, 0)
  broker = await TestBroker.open(world)
  await world.runFor(60_000)
  expect(mistakes([first, last], await broker.published())).toEqual([])
  expect(broker.timers.statistics()).toMatchObject({ levelCount: 0, lostCount: 1 })
})
