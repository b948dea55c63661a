import { expect, test } from 'vitest'
import { stepsOf } from './forecast.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const NOW_MS = 1_900_000_000_000 + 12_345

test('a forecast begins at the time that is given, to the millisecond', () => {
  const fromMs = NOW_MS + 7
  expect(stepsOf({ fromMs }, MINUTE_MS, NOW_MS)).toEqual({
    fromMs,
    toMs: fromMs + HOUR_MS,
    stepMs: MINUTE_MS,
  })
})

test('a forecast from now begins with the whole step in which now is', () => {
  const { fromMs, toMs } = stepsOf({}, MINUTE_MS, NOW_MS)
  expect(fromMs % MINUTE_MS).toBe(0)
  expect(NOW_MS - fromMs).toBeGreaterThan(0)
  expect(NOW_MS - fromMs).toBeLessThan(MINUTE_MS)
  expect(toMs).toBe(NOW_MS + HOUR_MS)
})

test('a forecast ends at the time that is given', () => {
  const toMs = NOW_MS + 3 * HOUR_MS + 1
  expect(stepsOf({ toMs }, MINUTE_MS, NOW_MS).toMs).toBe(toMs)
})
