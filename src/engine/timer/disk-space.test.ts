import { expect, test } from 'vitest'
import { SeededRandom, SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { type Accepted, DIRECTORY, mistakes, TestBroker, timerFiles } from './testing.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const COUNT = 1_500
/** A moved message is found by its first id for so long after its time, as the format page says. */
const MOVED_KEPT_MS = 30 * DAY_MS

function nowOf(world: SimulatedWorld): number {
  return world.platform.clock.timeMs()
}

/** Entries of the index of moved messages. The broker must be stopped. */
async function movedCount(world: SimulatedWorld): Promise<number> {
  const values = await world.finish(world.outside.keyValues.open(`${DIRECTORY}/orrery/moved`))
  // Behind the marker.
  const range = values.range(Buffer.from([1]), Buffer.from([2]), 10 * COUNT)
  const { length } = await world.finish(range)
  await world.finish(values.close())
  return length
}

test('when nothing waits any more the disk holds nothing of what waited', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const random = new SeededRandom(1)
  let broker = await TestBroker.open(world, {}, sink => sink.refused.add('Closed'))
  const startMs = nowOf(world)
  const herdMs = Math.ceil(startMs / DAY_MS + 70) * DAY_MS
  const accepted: Accepted[] = []
  for (let key = 0; key < COUNT; key++) {
    const aheadMs = random.pick([3_000, 20 * MINUTE_MS, DAY_MS, 5 * DAY_MS, 90 * DAY_MS])
    const deliverTimeMs = random.chance(0.3)
      ? herdMs
      : startMs + Math.floor(random.fraction() * aheadMs)
    const topic = random.chance(0.1) ? 'Closed' : 'Target'
    accepted.push(broker.accept({ key, deliverTimeMs, topic, bodyBytes: random.below(2_000) }))
    if (key % 20 === 0) await world.runFor(20)
  }
  for (const message of accepted) {
    if (random.chance(0.6)) await world.finish(broker.cancel(message))
    else if (random.chance(0.3)) {
      await world.finish(
        broker.move(message, nowOf(world) + Math.floor(random.fraction() * 100 * DAY_MS)),
      )
    }
  }
  await world.runFor(10_000)
  world.crash()
  broker = await TestBroker.open(world, {}, sink => sink.refused.add('Closed'))
  const dues = accepted.flatMap(message => message.mayBeDueMs).toSorted((a, b) => a - b)
  for (const share of [0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 1]) {
    const dueMs = dues[Math.floor(share * (dues.length - 1))] ?? 0
    world.stepClock(Math.max(0, dueMs - nowOf(world) - 11_000))
    await world.runFor(20_000)
  }
  expect(broker.timers.statistics().parkedCount).toBeGreaterThan(0)
  broker.sink.refused.clear()
  await world.runFor(2 * MINUTE_MS)
  expect(broker.timers.statistics().waitingCount).toBe(0)
  const published = [...(await broker.published()), ...(await broker.published('Closed'))]
  expect(mistakes(accepted, published)).toEqual([])
  expect(await timerFiles(world)).toEqual([])
  await broker.stop()
  expect(await movedCount(world)).toBeGreaterThan(0)
  broker = await TestBroker.open(world)
  world.stepClock(MOVED_KEPT_MS)
  await world.runFor(20_000)
  await broker.stop()
  expect(await movedCount(world)).toBe(0)
  expect(await timerFiles(world)).toEqual([])
}, 60_000)
