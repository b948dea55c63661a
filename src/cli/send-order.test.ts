import { expect, test } from 'vitest'
import { BrokerError } from '../core/base/index.ts'
import { sendOrder, type SendFlags } from './send-order.ts'

const BODY = Buffer.from('b')

function when(flags: SendFlags): unknown {
  return sendOrder('t', BODY, flags).when
}

function codeOf(flags: SendFlags): string {
  try {
    sendOrder('t', BODY, flags)
    return 'accepted'
  } catch (error) {
    if (error instanceof BrokerError) return error.code
    throw error
  }
}

test('each way to say when gives its time', () => {
  expect(when({})).toEqual({ kind: 'now' })
  expect(when({ delay: '10s' })).toEqual({ kind: 'delay', delayMs: 10_000 })
  expect(when({ delay: '0' })).toEqual({ kind: 'delay', delayMs: 0 })
  expect(when({ at: '2030-01-01T00:00:00Z' })).toEqual({
    kind: 'at',
    deliverTimeMs: Date.UTC(2030, 0, 1),
  })
  expect(when({ level: '18' })).toEqual({ kind: 'level', level: 18 })
})

test('two ways to say when are refused', () => {
  expect(codeOf({ delay: '1s', level: '1' })).toBe('PARAMETER_INVALID')
  expect(codeOf({ delay: '1s', at: '2030-01-01T00:00:00Z' })).toBe('PARAMETER_INVALID')
})

test.each(['0', '-1', '1.5', 'two', '', '1e3'])('the level %j is refused', level => {
  expect(codeOf({ level })).toBe('PARAMETER_INVALID')
})

test('properties are split at the first equals sign', () => {
  expect(sendOrder('t', BODY, { property: ['a=1=2', 'b='] }).properties).toEqual({
    a: '1=2',
    b: '',
  })
  expect(codeOf({ property: ['=1'] })).toBe('PARAMETER_INVALID')
  expect(codeOf({ property: ['a'] })).toBe('PARAMETER_INVALID')
})
