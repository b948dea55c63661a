import { expect, test } from 'vitest'
import { PendingRemovals } from './pending-removals.ts'

function removed(removals: PendingRemovals, timerId: number): void {
  removals.begin({ timerId, removal: 'cancelled', changeOffset: 1, place: { kind: 'parked' } })
  const pending = removals.find(timerId)
  if (pending !== undefined) removals.applied(pending)
}

test('what is durable is known until everybody has gone who read before it', () => {
  const removals = new PendingRemovals()
  const first = removals.observe()
  const second = removals.observe()
  removed(removals, 10)
  first()
  expect(removals.find(10)?.isApplied).toBe(true)
  second()
  expect(removals.find(10)).toBeUndefined()
})

test('without a reader it is forgotten at once', () => {
  const removals = new PendingRemovals()
  removed(removals, 10)
  expect(removals.find(10)).toBeUndefined()
})

test('readers that follow one another without a gap do not keep it for ever', () => {
  const removals = new PendingRemovals()
  let ends = removals.observe()
  for (let timerId = 0; timerId < 1_000; timerId++) {
    const next = removals.observe()
    removed(removals, timerId)
    ends()
    ends = next
    for (let old = 0; old < timerId - 1; old++) expect(removals.find(old)).toBeUndefined()
  }
})

test('what is not durable yet is kept', () => {
  const removals = new PendingRemovals()
  const ends = removals.observe()
  removals.begin({ timerId: 10, removal: 'moved', changeOffset: 1, place: { kind: 'parked' } })
  ends()
  expect(removals.find(10)?.isApplied).toBe(false)
})
