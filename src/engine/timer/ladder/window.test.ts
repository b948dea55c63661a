import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Window } from './window.ts'

const START_MS = 1_700_000_000_000
const KIB = 1024

interface Taken {
  readonly deliverTimeMs: number
  readonly timerId: number
  readonly lane: number
}

function take(
  window: Window,
  nowMs: number,
  limits: {
    countMax?: number
    bytesMax?: number
    isEarliestFirst?: boolean
    overdueCountMax?: number
  } = {},
): Taken[] {
  const taken: Taken[] = []
  const all = {
    countMax: Infinity,
    bytesMax: Infinity,
    overdueCountMax: Infinity,
    isEarliestFirst: false,
    ...limits,
  }
  window.takeDue(nowMs, all, slot => {
    const { entries } = window
    taken.push({
      deliverTimeMs: entries.deliverTimeMs(slot),
      timerId: entries.timerId(slot),
      lane: entries.lane(slot),
    })
  })
  return taken
}

function takeAll(window: Window, nowMs: number, countMax: number): Taken[] {
  const all: Taken[] = []
  for (;;) {
    const taken = take(window, nowMs, { countMax })
    if (taken.length === 0) return all
    all.push(...taken)
  }
}

function add(
  window: Window,
  entry: { delayMs: number; timerId: number; lane?: number; sizeBytes?: number },
): void {
  const { delayMs, timerId, lane = 1, sizeBytes = 1 } = entry
  const deliverTimeMs = START_MS + delayMs
  window.add({ deliverTimeMs, timerId, sizeBytes, block: 0, position: 0, lane })
}

function idsOf(taken: readonly Taken[]): number[] {
  return taken.map(({ timerId }) => timerId)
}

test('entries of a topic come out by deliver time, then by timer id, and none before its time', () => {
  const window = new Window(START_MS, 1000)
  add(window, { delayMs: 30, timerId: 3 })
  add(window, { delayMs: 10, timerId: 9 })
  add(window, { delayMs: 10, timerId: 2 })
  add(window, { delayMs: 70_000, timerId: 1 })
  add(window, { delayMs: 10_000_000, timerId: 4 })
  expect(takeAll(window, START_MS + 9, 10)).toEqual([])
  expect(idsOf(takeAll(window, START_MS + 30, 1))).toEqual([2, 9, 3])
  expect(window.nextDueMs()).toBe(START_MS + 70_000)
  expect(idsOf(takeAll(window, START_MS + 10_000_000, 10))).toEqual([1, 4])
  expect(window.count).toBe(0)
  expect(window.nextDueMs()).toBe(Infinity)
})

test('a topic with many due messages holds up another by its quantum of 64 KiB', () => {
  const window = new Window(START_MS, 10_000)
  for (let id = 0; id < 5_000; id++) add(window, { delayMs: 1, timerId: id, sizeBytes: KIB })
  expect(take(window, START_MS + 5, { countMax: 100 })).toHaveLength(100)
  for (let id = 5_000; id < 5_003; id++) {
    add(window, { delayMs: 6, timerId: id, lane: 2, sizeBytes: KIB })
  }
  const taken = take(window, START_MS + 10, { countMax: 200 })
  expect(taken.findIndex(({ lane }) => lane === 2)).toBeLessThan(64)
  expect(taken.filter(({ lane }) => lane === 2).map(({ timerId }) => timerId)).toEqual([
    5_000, 5_001, 5_002,
  ])
})

test('topics get as many bytes as each other, whatever the sizes of their messages', () => {
  const window = new Window(START_MS, 100_000)
  for (let id = 0; id < 20_000; id++)
    add(window, { delayMs: 0, timerId: id, lane: 1, sizeBytes: 500 })
  for (let id = 0; id < 30; id++) {
    add(window, { delayMs: 0, timerId: 50_000 + id, lane: 2, sizeBytes: 300 * KIB })
  }
  const taken = take(window, START_MS, { countMax: Infinity, bytesMax: 8 * 1024 * KIB })
  const small = taken.filter(({ lane }) => lane === 1).length * 500
  const large = taken.filter(({ lane }) => lane === 2).length * 300 * KIB
  expect(Math.abs(small - large)).toBeLessThan(365 * KIB)
})

test('what is due earliest goes first where that is asked for', () => {
  const window = new Window(START_MS, 10_000)
  for (let id = 0; id < 3_000; id++) {
    add(window, { delayMs: id, timerId: id, lane: id % 3, sizeBytes: 64 * KIB })
  }
  const taken = take(window, START_MS + 5_000, { isEarliestFirst: true })
  expect(idsOf(taken)).toEqual(Array.from({ length: 3_000 }, (_, id) => id))
})

test('what is overdue comes oldest first, as much as may, and what is live in between', () => {
  const window = new Window(START_MS, 10_000, { untilMs: START_MS + 100 })
  for (let id = 0; id < 100; id++) {
    add(window, { delayMs: 100 - id, timerId: id, lane: id % 5, sizeBytes: KIB })
  }
  add(window, { delayMs: 200, timerId: 500, lane: 3 })
  const first = take(window, START_MS + 300, { overdueCountMax: 40 })
  const overdue = first.filter(({ timerId }) => timerId < 500)
  expect(overdue.map(({ timerId }) => timerId)).toEqual(
    Array.from({ length: 40 }, (_, n) => 99 - n),
  )
  expect(first).toHaveLength(41)
  expect(window.hasOverdue).toBe(true)
  expect(window.nextDueMs()).toBe(Infinity)
  expect(take(window, START_MS + 300, { overdueCountMax: 0 })).toEqual([])
  expect(take(window, START_MS + 300)).toHaveLength(60)
  expect(window.hasOverdue).toBe(false)
})

test('nothing is due before the bound that the fire position takes from here', () => {
  const window = new Window(START_MS, 10_000)
  for (let id = 0; id < 100; id++) add(window, { delayMs: 100 + id, timerId: id })
  take(window, START_MS + 500, { countMax: 10 })
  expect(window.earliestDueMs()).toBe(START_MS + 110)
  add(window, { delayMs: 50, timerId: 200 })
  take(window, START_MS + 500, { countMax: 1 })
  add(window, { delayMs: 70, timerId: 201 })
  take(window, START_MS + 500, { countMax: 1 })
  expect(window.earliestDueMs()).toBe(START_MS + 50)
  take(window, START_MS + 500, { countMax: 89 })
  expect(window.earliestDueMs()).toBe(START_MS + 70)
  take(window, START_MS + 500)
  expect(window.earliestDueMs()).toBe(Infinity)
})

test('a full window takes messages of topics that have little in it, up to its limit', () => {
  const window = new Window(START_MS, 1_024)
  for (let id = 0; id < 896; id++) add(window, { delayMs: 5, timerId: id, sizeBytes: 10 })
  expect(window.hasRoomFor(1)).toBe(false)
  for (let id = 1_000; window.hasRoomFor(2); id++) {
    add(window, { delayMs: 5, timerId: id, lane: 2, sizeBytes: 10 })
  }
  expect(window.count).toBeGreaterThan(940)
  for (let id = 2_000; window.count < 1_024; id++) {
    add(window, { delayMs: 5, timerId: id, lane: 3, sizeBytes: 1 })
  }
  expect(window.hasRoomFor(99)).toBe(false)
  take(window, START_MS + 5, { countMax: 1 })
  expect(window.hasRoomFor(99)).toBe(true)
})

test('a window agrees with a sorted list, whatever is added and whenever the clock stands', () => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('add' as const),
      delayMs: fc.integer({ min: -20_000, max: 40_000 }),
      lane: fc.integer({ min: 1, max: 3 }),
    }),
    fc.record({
      kind: fc.constant('turn' as const),
      byMs: fc.integer({ min: -9_000, max: 15_000 }),
      countMax: fc.constantFrom(1, 5, Infinity),
    }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), steps => {
      const window = new Window(START_MS, 1000)
      let nowMs = START_MS
      let waiting: Taken[] = []
      let timerId = 0
      for (const action of steps) {
        if (action.kind === 'add') {
          const { lane } = action
          const deliverTimeMs = nowMs + action.delayMs
          window.add({ deliverTimeMs, timerId, sizeBytes: 1, block: 0, position: 0, lane })
          waiting.push({ deliverTimeMs, timerId, lane })
          timerId++
        } else {
          nowMs += action.byMs
          const due = waiting.filter(entry => entry.deliverTimeMs <= nowMs)
          const { countMax } = action
          const taken = take(window, nowMs, { countMax })
          expect(taken).toHaveLength(Math.min(countMax, due.length))
          const ids = new Set(idsOf(taken))
          expect(due.filter(entry => ids.has(entry.timerId))).toHaveLength(taken.length)
          waiting = waiting.filter(entry => !ids.has(entry.timerId))
        }
        const earliestMs = Math.min(Infinity, ...waiting.map(entry => entry.deliverTimeMs))
        expect(window.earliestDueMs()).toBeLessThanOrEqual(earliestMs)
        expect(window.nextDueMs()).toBeLessThanOrEqual(Math.max(earliestMs, nowMs))
        expect(window.count).toBe(waiting.length)
      }
      expect(takeAll(window, nowMs + 100_000, 7)).toHaveLength(waiting.length)
      expect(window.earliestDueMs()).toBe(Infinity)
    }),
  )
})

test('each topic keeps its order when all that is due is taken, whatever the clock has done', () => {
  const delays = fc.array(
    fc.tuple(fc.integer({ min: 0, max: 9_000 }), fc.integer({ min: 1, max: 3 })),
  )
  fc.assert(
    fc.property(delays, fc.array(fc.integer({ min: 0, max: 9_000 })), (entries, turns) => {
      const window = new Window(START_MS, 1000)
      for (const [timerId, [delayMs, lane]] of entries.entries()) {
        add(window, { delayMs, timerId, lane })
      }
      const taken = turns.flatMap(delayMs => take(window, START_MS + delayMs, { countMax: 2 }))
      taken.push(...take(window, START_MS + 10_000))
      for (const lane of [1, 2, 3]) {
        const ofLane = taken.filter(entry => entry.lane === lane)
        const sorted = ofLane.toSorted(
          (a, b) => a.deliverTimeMs - b.deliverTimeMs || a.timerId - b.timerId,
        )
        expect(ofLane).toEqual(sorted)
      }
    }),
  )
})
