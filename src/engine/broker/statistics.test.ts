import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { Statistics } from './statistics.ts'

test('counts go to the broker and to the topic', () => {
  const statistics = new Statistics(new SimulatedWorld({ seed: 1 }).platform)
  statistics.countPut('T', 3, 300)
  statistics.countPut('U', 1, 10)
  statistics.countGet('T', 2, 200)
  statistics.countGet('T', 0, 0)
  statistics.countSentBack('T')
  expect(statistics.broker).toMatchObject({
    putCount: 4,
    putBytes: 310,
    getCount: 2,
    getBytes: 200,
    getFoundCount: 1,
    getMissCount: 1,
    sentBackCount: 1,
  })
  expect(statistics.topic('T')).toMatchObject({ putCount: 3, getCount: 2, sentBackCount: 1 })
  expect(statistics.topic('U')).toMatchObject({ putCount: 1, getCount: 0 })
})

test('rates are per second over the last ten seconds, minute and ten minutes', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const statistics = new Statistics(world.platform)
  statistics.start()
  expect(statistics.rates('putCount')).toEqual([0, 0, 0])
  statistics.countPut('T', 600, 1)
  await world.runFor(59_900)
  const [short, middle, long] = statistics.rates('putCount')
  expect(short).toBe(0)
  expect(middle).toBeGreaterThan(9)
  expect(long).toBeCloseTo(middle)
  statistics.countPut('T', 100, 1)
  expect(statistics.rates('putCount')[0]).toBeGreaterThan(9)
  statistics.stop()
})

test('totals remember the last two midnights', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const statistics = new Statistics(world.platform)
  statistics.start()
  statistics.countPut('T', 5, 1)
  world.stepClock(86_400_000)
  await world.runFor(11_000)
  statistics.countPut('T', 2, 1)
  expect(statistics.totals('putCount')).toEqual({ yesterdayMorning: 0, todayMorning: 5, now: 7 })
  world.stepClock(86_400_000)
  await world.runFor(11_000)
  expect(statistics.totals('putCount')).toEqual({ yesterdayMorning: 5, todayMorning: 7, now: 7 })
  statistics.stop()
})
