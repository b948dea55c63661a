import { expect, test } from 'vitest'
import type { LoadedPart } from '../chunk.ts'
import { FiredAhead } from './fired-ahead.ts'

const DUE_MS = 1_000
const FULL_COUNT = 65_536

function partAfter(previous: LoadedPart | undefined, liveCount: number): LoadedPart {
  const rest = { endBytes: 0, count: 1, removedCount: 0, blockBytes: 0, isOver: false }
  return { ...rest, liveCount, previous }
}

/** Many fire out of one part while the fire position is before them. */
function fireHerd(ahead: FiredAhead, part: LoadedPart): void {
  for (let timerId = 0; timerId < FULL_COUNT; timerId++) {
    ahead.push({ deliverTimeMs: DUE_MS, timerId }, part)
  }
}

test('a herd whose parts are done with does not fill it before the next snapshot', () => {
  const ahead = new FiredAhead()
  fireHerd(ahead, partAfter(partAfter(undefined, 0), 0))
  expect(ahead.isFull).toBe(true)
  ahead.look(DUE_MS - 1)
  expect(ahead.isFull).toBe(false)
})

test('a part behind one that still waits is named, and fills it', () => {
  const ahead = new FiredAhead()
  fireHerd(ahead, partAfter(partAfter(undefined, 1), 0))
  ahead.look(DUE_MS - 1)
  expect(ahead.isFull).toBe(true)
})
