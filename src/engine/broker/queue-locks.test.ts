import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { QUEUE_LOCK_MS, QueueLocks } from './queue-locks.ts'

const FIRST = { topic: 'T', queueId: 0 }
const SECOND = { topic: 'T', queueId: 1 }

test('a queue is held by one client of a group, and by one of every group', () => {
  const locks = new QueueLocks(new SimulatedWorld({ seed: 1 }).platform.clock)
  expect(locks.lock('g', 'a', [FIRST])).toEqual([FIRST])
  expect(locks.lock('g', 'b', [FIRST, SECOND])).toEqual([SECOND])
  expect(locks.lock('other', 'b', [FIRST])).toEqual([FIRST])
  expect(locks.lock('g', 'a', [FIRST, SECOND])).toEqual([FIRST])
})

test('a lock ends when it is not renewed for a minute, whatever the clock does', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const locks = new QueueLocks(world.platform.clock)
  locks.lock('g', 'a', [FIRST])
  await world.runFor(QUEUE_LOCK_MS - 1)
  world.stepClock(3_600_000)
  expect(locks.lock('g', 'b', [FIRST])).toEqual([])
  expect(locks.lock('g', 'a', [FIRST])).toEqual([FIRST])
  await world.runFor(QUEUE_LOCK_MS - 1)
  expect(locks.lock('g', 'b', [FIRST])).toEqual([])
  await world.runFor(1)
  expect(locks.holdsAny('g')).toBe(false)
  expect(locks.lock('g', 'b', [FIRST])).toEqual([FIRST])
})

test('only the holder can unlock', () => {
  const locks = new QueueLocks(new SimulatedWorld({ seed: 1 }).platform.clock)
  locks.lock('g', 'a', [FIRST, SECOND])
  locks.unlock('g', 'b', [FIRST])
  expect(locks.lock('g', 'b', [FIRST])).toEqual([])
  locks.unlock('g', 'a', [FIRST])
  expect(locks.lock('g', 'b', [FIRST, SECOND])).toEqual([FIRST])
  locks.unlock('g', 'a', [SECOND])
  locks.unlock('g', 'b', [FIRST])
  expect(locks.holdsAny('g')).toBe(false)
})
