import { expect, test } from 'vitest'
import { type LogLine, SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { ClockWatch } from './clock-watch.ts'

const HOUR_MS = 3_600_000

function watched(): { world: SimulatedWorld; watch: ClockWatch; lines: () => readonly LogLine[] } {
  const world = new SimulatedWorld({ seed: 1, startTimeMs: 1_767_225_600_000 })
  const watch = new ClockWatch(world.platform)
  watch.start()
  return { world, watch, lines: () => world.logLines }
}

test('a step forward is said once, with both times, and counted', async () => {
  const { world, watch, lines } = watched()
  await world.runFor(10_500)
  world.stepClock(HOUR_MS)
  await world.runFor(60_000)
  expect(lines()).toHaveLength(1)
  expect(lines()[0]).toMatchObject({ level: 'warn', message: expect.stringMatching(/forward/) })
  const { from, to, stepMs } = lines()[0]?.fields ?? {}
  expect(Date.parse(String(to)) - Date.parse(String(from))).toBe(stepMs)
  expect(Math.abs(Number(stepMs) - HOUR_MS)).toBeLessThanOrEqual(1)
  expect([watch.forwardCount, watch.backCount]).toEqual([1, 0])
})

test('so is a step back', async () => {
  const { world, watch, lines } = watched()
  world.stepClock(-24 * HOUR_MS)
  await world.runFor(60_000)
  expect(lines()).toMatchObject([{ level: 'warn', fields: { to: '2025-12-31T00:00:01.000Z' } }])
  expect([watch.forwardCount, watch.backCount]).toEqual([0, 1])
})

test('a clock that is put right by some seconds is no step', async () => {
  const { world, watch, lines } = watched()
  world.stepClock(4_900)
  await world.runFor(60_000)
  world.stepClock(-4_900)
  await world.runFor(60_000)
  expect(lines()).toEqual([])
  expect([watch.forwardCount, watch.backCount]).toEqual([0, 0])
})

test('nobody looks any more after a stop', async () => {
  const { world, watch, lines } = watched()
  watch.stop()
  world.stepClock(HOUR_MS)
  await world.runFor(60_000)
  expect(lines()).toEqual([])
})
