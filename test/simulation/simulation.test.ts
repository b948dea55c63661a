import { expect, test } from 'vitest'
import { OPERATION_NAMES } from './operations.ts'
import { playSeed, type SeedRequest } from './play.ts'
import { Totals } from './totals.ts'

function request(seed: number, operations: number): SeedRequest {
  return { seed, operations, bug: 'none', isVerbose: false }
}

test('no rule is broken in a few whole lives of a broker', async () => {
  const counts = new Totals()
  const faults = new Totals()
  for (let seed = 1; seed <= 6; seed++) {
    const result = await playSeed(request(seed, 500))
    expect(result.violation, `seed ${seed}`).toBeUndefined()
    expect(result.counts['restarts']).toBeGreaterThanOrEqual(2)
    counts.addAll(Object.entries(result.counts))
    faults.addAll(Object.entries(result.faults))
  }
  for (const name of OPERATION_NAMES)
    expect(counts.counts.get(`operation ${name}`), name).toBeGreaterThan(0)
  for (const kind of ['powerCut', 'kill', 'lostWrite', 'tornWrite', 'clockStep', 'failedCall']) {
    expect(faults.counts.get(kind), kind).toBeGreaterThan(0)
  }
}, 60_000)

test('the same seed is played the same way, another one is not', async () => {
  const first = await playSeed(request(7, 150))
  expect(await playSeed(request(7, 150))).toEqual(first)
  expect((await playSeed(request(8, 150))).trace).not.toBe(first.trace)
}, 60_000)

// The others change the broker for the life of a process, or need more seeds.
test.each(['skip-fsync', 'early-answer', 'mark-unsynced'] as const)(
  'the mistake %s is found',
  async bug => {
    const violations: (string | undefined)[] = []
    for (let seed = 1; seed <= 4; seed++) {
      violations.push((await playSeed({ ...request(seed, 300), bug })).violation)
    }
    expect(violations.filter(violation => violation !== undefined)).not.toEqual([])
  },
  60_000,
)
