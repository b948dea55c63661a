import { expect, test } from 'vitest'
import { SeededRandom } from '../../src/core/platform/simulated/index.ts'
import { startOnDamage, unfoundDamage } from '../../src/server/testing/damaged-store.ts'

/** `SHARE=1` is a thousand bits, a hundred tails and a hundred starts, which take minutes. */
const share = Number(process.env['SHARE'] ?? '0.2')

test('flipped bits and cut tails are each found in their file and range', async () => {
  const counts = { flips: 1000 * share, cuts: 100 * share }
  expect(await unfoundDamage(new SeededRandom(1), counts)).toEqual([])
}, 600_000)

test.each(['flip', 'cut'] as const)(
  'a start after a %s serves the rest and reports the loss',
  async kind => {
    const random = new SeededRandom(2)
    const problems: string[] = []
    for (let count = 0; count < 50 * share; count++)
      problems.push(...(await startOnDamage(random, kind)))
    expect(problems).toEqual([])
  },
  600_000,
)
