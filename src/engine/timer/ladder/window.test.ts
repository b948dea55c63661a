import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Window } from './window.ts'

const START_MS = 1_700_000_000_000

function takeAll(window: Window, nowMs: number, countMax: number): [number, number][] {
  const taken: [number, number][] = []
  for (;;) {
    const count = window.takeDue(nowMs, countMax, slot => {
      taken.push([window.deliverTimeMs(slot), window.timerId(slot)])
    })
    if (count === 0) return taken
  }
}

test('entries come out by deliver time, then by timer id, and none before its time', () => {
  const window = new Window(START_MS, 1000)
  const entries = [
    [30, 3],
    [10, 9],
    [10, 2],
    [70_000, 1],
    [10_000_000, 4],
  ] as const
  for (const [delayMs, timerId] of entries) {
    window.add({ deliverTimeMs: START_MS + delayMs, timerId, sizeBytes: 1, block: 0, position: 0 })
  }
  expect(takeAll(window, START_MS + 9, 10)).toEqual([])
  expect(takeAll(window, START_MS + 30, 1)).toEqual([
    [START_MS + 10, 2],
    [START_MS + 10, 9],
    [START_MS + 30, 3],
  ])
  expect(window.nextDueMs()).toBe(START_MS + 70_000)
  expect(takeAll(window, START_MS + 10_000_000, 10)).toEqual([
    [START_MS + 70_000, 1],
    [START_MS + 10_000_000, 4],
  ])
  expect(window.count).toBe(0)
  expect(window.nextDueMs()).toBe(Infinity)
})

test('a window agrees with a sorted list, whatever is added and whenever the clock stands', () => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('add' as const),
      delayMs: fc.integer({ min: -20_000, max: 40_000 }),
    }),
    fc.record({
      kind: fc.constant('turn' as const),
      byMs: fc.integer({ min: -9_000, max: 15_000 }),
    }),
  )
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 200 }),
      fc.integer({ min: 1, max: 7 }),
      (steps, countMax) => {
        const window = new Window(START_MS, 1000)
        let nowMs = START_MS
        let waiting: [number, number][] = []
        let timerId = 0
        for (const action of steps) {
          if (action.kind === 'add') {
            const deliverTimeMs = nowMs + action.delayMs
            window.add({ deliverTimeMs, timerId, sizeBytes: 1, block: 0, position: 0 })
            waiting.push([deliverTimeMs, timerId])
            timerId++
          } else {
            nowMs += action.byMs
            const due = waiting
              .filter(([dueMs]) => dueMs <= nowMs)
              .toSorted((a, b) => a[0] - b[0] || a[1] - b[1])
            waiting = waiting.filter(([dueMs]) => dueMs > nowMs)
            expect(takeAll(window, nowMs, countMax)).toEqual(due)
          }
          const next = Math.min(Infinity, ...waiting.map(([dueMs]) => dueMs))
          expect(window.nextDueMs()).toBe(next)
          expect(window.count).toBe(waiting.length)
        }
      },
    ),
  )
})
