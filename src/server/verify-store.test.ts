import { expect, test } from 'vitest'
import { SeededRandom, SimulatedWorld } from '../core/platform/simulated/index.ts'
import { findingsOn, refusalOf, startOnDamage, unfoundDamage } from './testing/damaged-store.ts'
import { EngineRun, filesOn, makeStore } from './testing/small-store.ts'

const EMPTY = Buffer.alloc(0)

// The counts here keep the test short; test/simulation/verify.test.ts does the same at length.

test('a whole store has no finding, and the check changes nothing', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  await makeStore(world)
  const before = await filesOn(world)
  expect(await findingsOn(world)).toEqual([])
  const after = await filesOn(world)
  const isSame = (path: string): boolean =>
    after.get(path)?.equals(before.get(path) ?? EMPTY) === true
  expect([...after.keys()]).toEqual([...before.keys()])
  expect([...before.keys()].filter(path => !isSame(path))).toEqual([])
})

test('each flipped bit and each cut tail is found in its file and range', async () => {
  expect(await unfoundDamage(new SeededRandom(11), { flips: 100, cuts: 30 })).toEqual([])
})

test('a start on a damaged store serves the rest and reports the loss', async () => {
  const random = new SeededRandom(12)
  const problems: string[] = []
  for (let count = 0; count < 5; count++) {
    problems.push(...(await startOnDamage(random, 'flip')))
    problems.push(...(await startOnDamage(random, 'cut')))
  }
  expect(problems).toEqual([])
})

test('after a kill nothing is called damage that the next start makes good', async () => {
  for (const afterMs of [1, 400, 3_000, 7_100]) {
    const world = new SimulatedWorld({ seed: afterMs })
    const run = await EngineRun.start(world)
    for (let count = 0; count < 50; count++) run.sendIn('orders', 100 * count)
    await world.runFor(afterMs)
    world.crash()
    const findings = await findingsOn(world)
    expect(findings.filter(({ kind }) => kind === 'damage')).toEqual([])
  }
})

test('a folder that a broker has open, or that never was one, is refused', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const run = await EngineRun.start(world)
  expect(await refusalOf(world, '/data')).toBe('STORE_LOCKED')
  await run.stop()
  expect(await refusalOf(world, '/data')).toBe('none')
  expect(await refusalOf(world, '/other')).toBe('STORE_MISSING')
})
