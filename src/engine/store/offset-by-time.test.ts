import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import type { Store } from './store.ts'
import { flushed, messageOf, startStore } from './testing.ts'

/** Messages stored at 1000, 1000, 2000, 3000, 3000. */
async function filled(world: SimulatedWorld): Promise<Store> {
  const store = await startStore(world)
  const queue = store.queue('T', 0)
  for (const timeMs of [1_000, 1_000, 2_000, 3_000, 3_000]) {
    store.append(messageOf('T', 'body'), queue, 0, timeMs)
  }
  await flushed(world, store)
  return store
}

test.each([
  { timeMs: 0, lower: 0, upper: 0 },
  { timeMs: 1_000, lower: 0, upper: 1 },
  { timeMs: 1_001, lower: 2, upper: 1 },
  { timeMs: 2_000, lower: 2, upper: 2 },
  { timeMs: 2_500, lower: 3, upper: 2 },
  { timeMs: 3_000, lower: 3, upper: 4 },
  { timeMs: 9_000, lower: 5, upper: 4 },
])('at $timeMs the lower offset is $lower and the upper one $upper', async expected => {
  const world = new SimulatedWorld({ seed: 1 })
  const store = await filled(world)
  const queue = store.queue('T', 0)
  const find = (boundary: 'lower' | 'upper'): Promise<number> =>
    world.finish(store.offsetByTime(queue, expected.timeMs, boundary))
  expect(await find('lower')).toBe(expected.lower)
  expect(await find('upper')).toBe(expected.upper)
})

test('an empty queue has offset 0 at any time, and no store time', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const store = await startStore(world)
  const queue = store.queue('T', 0)
  expect(await world.finish(store.offsetByTime(queue, 5, 'lower'))).toBe(0)
  expect(await world.finish(store.offsetByTime(queue, 5, 'upper'))).toBe(0)
  expect(await world.finish(store.storeTimeOf(queue, 0))).toBe(-1)
})

test('the store time of each message is told', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const store = await filled(world)
  const queue = store.queue('T', 0)
  expect(await world.finish(store.storeTimeOf(queue, 2))).toBe(2_000)
  expect(await world.finish(store.storeTimeOf(queue, 5))).toBe(-1)
})
