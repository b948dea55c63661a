import { expect, test } from 'vitest'
import { SeededRandom } from '../../src/core/platform/simulated/index.ts'
import { startOnDamage, unfoundDamage } from '../../src/server/testing/damaged-store.ts'

test('each of 1,000 flipped bits and 100 cut tails is found in its file and range', async () => {
  expect(await unfoundDamage(new SeededRandom(1), { flips: 1000, cuts: 100 })).toEqual([])
})

test.each(['flip', 'cut'] as const)(
  'a start after a %s serves the rest and reports the loss, in 50 stores',
  async kind => {
    const random = new SeededRandom(2)
    const problems: string[] = []
    for (let count = 0; count < 50; count++) problems.push(...(await startOnDamage(random, kind)))
    expect(problems).toEqual([])
  },
)
