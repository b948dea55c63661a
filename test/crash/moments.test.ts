import { expect, test } from 'vitest'

import { MOMENTS, MomentTally } from './moments.ts'
import { SeededRandom } from './seeded-random.ts'

test('a run tries every moment before it tries one again', () => {
  const tally = new MomentTally()
  const tried = MOMENTS.map(() => {
    const moment = tally.next(new SeededRandom(1))
    tally.add(moment, false)
    return moment
  })
  expect(tried.toSorted()).toEqual([...MOMENTS].toSorted())
})

test('two hundred kills hit each moment at least twenty times, though a third of them miss', () => {
  const tally = new MomentTally()
  const random = new SeededRandom(7)
  for (let kill = 0; kill < 200; kill++) {
    tally.add(tally.next(random), random.between(0, 2) > 0)
  }
  expect(tally.killCount).toBe(200)
  expect(MomentTally.hitCountMin(200)).toBe(20)
  for (const { hitCount } of tally.scores.values()) expect(hitCount).toBeGreaterThanOrEqual(20)
})

test('a short run needs no number of hits', () => {
  expect(MomentTally.hitCountMin(6)).toBe(0)
  expect(MomentTally.hitCountMin(40)).toBe(4)
})
