import { expect, test } from 'vitest'
import { SimulatedWorld } from '../core/platform/simulated/index.ts'
import { served } from './testing/served.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS

test('what was delivered before the clock went back and the broker died is not counted', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const first = await served(world)
  for (const delayMs of [20.1, 20.2, 20.3, 20.9].map(minutes => minutes * MINUTE_MS)) {
    await world.finish(first.client.send({ topic: 'orders', delayMs, body: 'x' }))
  }
  await world.runFor(MINUTE_MS)
  world.stepClock(19.2 * MINUTE_MS)
  await world.runFor(20 * SECOND_MS)
  expect(await world.finish(first.scheduled.count({}))).toBe(1)
  world.stepClock(-15 * MINUTE_MS)
  await world.runFor(20 * SECOND_MS)
  world.kill()
  const second = await served(world)
  await world.runFor(20 * SECOND_MS)
  expect(await world.finish(second.scheduled.count({}))).toBe(1)
  await world.runFor(17 * MINUTE_MS)
  expect(await world.finish(second.scheduled.count({}))).toBe(0)
})
