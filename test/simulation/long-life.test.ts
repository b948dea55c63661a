import { expect, test } from 'vitest'

import { DeliveryLedger } from './delivery-ledger.ts'
import { LongLife } from './long-life.ts'
import { Violation } from './violation.ts'

const DUE_MS = 1_767_225_600_000

test('a day of messages is delivered to the millisecond, and nothing is left of it', async () => {
  const life = new LongLife({ seed: 3, days: 0.5, sendEveryMs: 5_000 })
  await life.live()
  expect(life.ledger.deliveredCount).toBe(8640)
  expect(life.ledger.waitingBytes).toBe(0)
  expect(life.diskShareMax).toBeGreaterThan(0)
}, 120_000)

function ledgerOfOne(): DeliveryLedger {
  const ledger = new DeliveryLedger(2)
  ledger.add(DUE_MS, 100)
  return ledger
}

test.each([
  ['early', [DUE_MS - 1]],
  ['late', [DUE_MS + 1]],
  ['twice', [DUE_MS, DUE_MS]],
])('a message that comes %s is a violation', (_how, times) => {
  const ledger = ledgerOfOne()
  expect(() => {
    for (const timeMs of times) ledger.delivered(0, timeMs, 100)
  }).toThrow(Violation)
})

test('a message that nobody sent is a violation', () => {
  expect(() => {
    ledgerOfOne().delivered(1, 0, 100)
  }).toThrow(Violation)
})
