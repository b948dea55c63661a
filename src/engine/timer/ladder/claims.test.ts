import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../../core/platform/simulated/index.ts'
import { Claims } from './claims.ts'
import { FiredAhead } from './fired-ahead.ts'
import { Overdue } from './overdue.ts'
import { IN_LOG, LOG_BLOCK, Window } from './window.ts'

const BLOCK = 7

test('what is removed while a checkpoint reads it from the log is not copied', async () => {
  const { platform } = new SimulatedWorld({ seed: 1 })
  const nowMs = platform.clock.timeMs()
  const window = new Window(nowMs, 100)
  const overdue = new Overdue(platform.clock, 0)
  const claims = new Claims({ platform, window, ahead: new FiredAhead(), overdue }, () => nowMs)
  for (const timerId of [100, 200, 300]) {
    const place = { block: LOG_BLOCK, position: IN_LOG, lane: 0 }
    window.add({ deliverTimeMs: nowMs, timerId, sizeBytes: 100, ...place })
  }
  expect(claims.claim(nowMs)).toBe(true)
  const kept: number[] = []
  await claims.keepAll(
    claim => {
      if (claim.timerId === 200) claims.remove(200)
      return Promise.resolve(Buffer.alloc(claim.sizeBytes))
    },
    claim => {
      kept.push(claim.timerId)
      return BLOCK
    },
  )
  expect(kept).toEqual([100, 300])
})
