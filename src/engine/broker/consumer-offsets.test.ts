import { array, asyncProperty, assert, constantFrom, integer, record } from 'fast-check'
import { expect, test } from 'vitest'
import type { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { ConsumerOffsets, OFFSETS_INTERVAL_MS } from './consumer-offsets.ts'
import { CONFIG_DIRECTORY, configWorld, fileJson, leaveFile } from './testing.ts'

function open(world: SimulatedWorld): Promise<ConsumerOffsets> {
  return world.finish(ConsumerOffsets.open(CONFIG_DIRECTORY, world.platform))
}

interface Place {
  readonly group: string
  readonly topic: string
  readonly queueId: number
}

function keyOf({ group, topic, queueId }: Place): string {
  return `${group} ${topic} ${queueId}`
}

test('an offset may go forwards and backwards, and what was never committed is unknown', async () => {
  const offsets = await open(await configWorld())
  offsets.commit('g', 'T', 0, 12)
  offsets.commit('g', 'T', 0, 5)
  expect(offsets.find('g', 'T', 0)).toBe(5)
  expect(offsets.find('g', 'T', 1)).toBeUndefined()
  expect(offsets.find('g', 'other', 0)).toBeUndefined()
  expect(offsets.find('other', 'T', 0)).toBeUndefined()
})

test('offsets are on disk five seconds after a change, and not written without one', async () => {
  const world = await configWorld()
  const offsets = await open(world)
  offsets.start()
  offsets.commit('g', '%RETRY%g', 0, 7)
  await world.runFor(OFFSETS_INTERVAL_MS + 1000)
  expect(await fileJson(world, 'consumerOffset.json')).toMatchObject({
    dataVersion: { counter: 1 },
    offsetTable: { '%RETRY%g@g': { 0: 7 } },
  })
  let renames = 0
  world.faults.onCall = ({ call }) => (renames += call === 'rename' ? 1 : 0)
  await world.runFor(4 * OFFSETS_INTERVAL_MS)
  expect(renames).toBe(0)
  offsets.commit('g', '%RETRY%g', 0, 7)
  await world.runFor(2 * OFFSETS_INTERVAL_MS)
  expect(renames).toBe(0)
})

test('a failed write is tried again', async () => {
  const world = await configWorld()
  const offsets = await open(world)
  offsets.start()
  offsets.commit('g', 'T', 0, 7)
  world.faults.failNext({ call: 'write', error: 'STORE_FULL' })
  await world.runFor(OFFSETS_INTERVAL_MS + 1000)
  expect(await fileJson(world, 'consumerOffset.json')).toBeUndefined()
  await world.runFor(OFFSETS_INTERVAL_MS)
  expect(await fileJson(world, 'consumerOffset.json')).toMatchObject({
    offsetTable: { 'T@g': { 0: 7 } },
  })
})

test('a stop writes what changed last, and nothing is written after it', async () => {
  const world = await configWorld()
  const offsets = await open(world)
  offsets.start()
  offsets.commit('g', 'T', 3, 9)
  await world.finish(offsets.stop())
  expect((await open(world)).find('g', 'T', 3)).toBe(9)
  offsets.commit('g', 'T', 3, 10)
  await world.runFor(60_000)
  expect((await open(world)).find('g', 'T', 3)).toBe(9)
})

test('a stop waits for a write that is under way when nothing has changed since', async () => {
  const world = await configWorld()
  const offsets = await open(world)
  offsets.commit('g', 'T', 3, 9)
  void offsets.flush()
  await world.finish(offsets.stop())
  world.crash()
  expect((await open(world)).find('g', 'T', 3)).toBe(9)
})

test('a stop writes again what a write under way has failed to write', async () => {
  const world = await configWorld()
  const offsets = await open(world)
  offsets.commit('g', 'T', 3, 9)
  world.faults.failNext({ call: 'write', error: 'STORE_FULL' })
  offsets.flush().catch(() => undefined)
  await world.finish(offsets.stop())
  world.crash()
  expect((await open(world)).find('g', 'T', 3)).toBe(9)
})

test('a file of Apache is read, what makes no sense in it is left out', async () => {
  const world = await configWorld()
  const text =
    '{"dataVersion":{"counter":3},"offsetTable":{"T@g":{0:12,1:7},"odd@name@g":{0:1},' +
    '"T@bad":{0:-1,"x":3,1:"7",2:1.5},"nothing":{0:1},"@g":{0:1},"T@list":[1]}}'
  await leaveFile(world, 'consumerOffset.json', text)
  const offsets = await open(world)
  expect(offsets.find('g', 'T', 0)).toBe(12)
  expect(offsets.find('g', 'T', 1)).toBe(7)
  expect(offsets.find('g', 'odd@name', 0)).toBe(1)
  offsets.commit('g', 'T', 0, 13)
  await world.finish(offsets.flush())
  const { offsetTable } = Object(await fileJson(world, 'consumerOffset.json'))
  expect(Object.keys(offsetTable).toSorted()).toEqual(['T@g', 'odd@name@g'])
})

test('after a power cut each offset is one that was committed at or after the last flush', async () => {
  const change = record({
    group: constantFrom('g1', 'g2', '__proto__'),
    topic: constantFrom('T', '%RETRY%g1', 'constructor'),
    queueId: integer({ min: 0, max: 3 }),
    offset: integer({ min: 0, max: 1000 }),
  })
  const changes = array(change, { maxLength: 20 })
  const survives = asyncProperty(integer(), changes, changes, async (seed, before, after) => {
    const world = await configWorld(seed)
    const offsets = await open(world)
    const allowed = new Map<string, Set<number | undefined>>()
    for (const each of before) {
      offsets.commit(each.group, each.topic, each.queueId, each.offset)
      allowed.set(keyOf(each), new Set([each.offset]))
    }
    await world.finish(offsets.flush())
    for (const each of after) {
      offsets.commit(each.group, each.topic, each.queueId, each.offset)
      const known = allowed.get(keyOf(each)) ?? new Set([undefined])
      allowed.set(keyOf(each), known.add(each.offset))
    }
    void offsets.flush()
    await world.run(() => true)
    world.crash()
    const again = await open(world)
    for (const each of [...before, ...after]) {
      const found = again.find(each.group, each.topic, each.queueId)
      expect([...(allowed.get(keyOf(each)) ?? [])]).toContain(found)
    }
  })
  await assert(survives, { numRuns: 50 })
})
