import { expect, test } from 'vitest'
import { BrokerError } from '../../core/base/index.ts'
import { formatProperties } from '../message/index.ts'
import { checkLatePolicy, onLateOf } from './late-policy.ts'

const DUE_MS = 1_800_000_000_000

function codeOf(policy: Readonly<Record<string, string>>, delays = ''): string | undefined {
  try {
    checkLatePolicy(formatProperties(Object.entries(policy)), delays)
    return undefined
  } catch (error) {
    return error instanceof BrokerError ? error.code : 'another'
  }
}

test.each([
  [{ ORRERY_ON_LATE: 'drop', ORRERY_LATE_AFTER_MS: '0' }],
  [{ ORRERY_ON_LATE: 'deliver', ORRERY_LATE_AFTER_MS: '60000' }],
  [{ ORRERY_ON_LATE: 'deadLetter', ORRERY_LATE_AFTER_MS: '315576000000' }],
])('%o is a late policy', policy => {
  expect(codeOf(policy)).toBeUndefined()
})

test.each([
  [{ ORRERY_ON_LATE: 'drop' }],
  [{ ORRERY_LATE_AFTER_MS: '5' }],
  [{ ORRERY_ON_LATE: 'Drop', ORRERY_LATE_AFTER_MS: '5' }],
  [{ ORRERY_ON_LATE: 'drop', ORRERY_LATE_AFTER_MS: '-5' }],
  [{ ORRERY_ON_LATE: 'drop', ORRERY_LATE_AFTER_MS: '1m' }],
  [{ ORRERY_ON_LATE: 'drop', ORRERY_LATE_AFTER_MS: '315576000001' }],
])('%o is refused', policy => {
  expect(codeOf(policy)).toBe('LATE_POLICY_INVALID')
})

test('a late policy beside a delay level is refused by its own error', () => {
  const policy = { ORRERY_ON_LATE: 'drop', ORRERY_LATE_AFTER_MS: '5' }
  expect(codeOf(policy, 'DELAY\u00013\u0002')).toBe('LATE_POLICY_NOT_FOR_LEVELS')
  expect(codeOf(policy, 'DELAY\u00010\u0002TIMER_DELAY_MS\u00015000\u0002')).toBeUndefined()
})

test('the policy applies from the millisecond behind its own on', () => {
  const accepted = formatProperties([
    ['ORRERY_ON_LATE', 'drop'],
    ['ORRERY_LATE_AFTER_MS', '1000'],
    ['TIMER_OUT_MS', String(DUE_MS)],
  ])
  expect(onLateOf(accepted, DUE_MS)).toBe('deliver')
  expect(onLateOf(accepted, DUE_MS + 1000)).toBe('deliver')
  expect(onLateOf(accepted, DUE_MS + 1001)).toBe('drop')
  expect(onLateOf(accepted.replace('drop', 'deadLetter'), DUE_MS + 1001)).toBe('deadLetter')
  expect(onLateOf(accepted.replace('drop', 'deliver'), DUE_MS + 9999)).toBe('deliver')
  expect(onLateOf('TIMER_OUT_MS\u00011\u0002', DUE_MS)).toBe('deliver')
})
