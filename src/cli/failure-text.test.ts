import { expect, test } from 'vitest'
import { BrokerError } from '../core/base/index.ts'
import { exitCodeOf } from './exit-code.ts'
import { failureText } from './failure-text.ts'

const wrong = new BrokerError('OPTION_INVALID', { flush: 'x: use sync', retention: 'y: use 1m' })

test('a failure is a sentence with its code, and every detail has a line', () => {
  expect(failureText(wrong, false)).toBe(
    'orrery: options are wrong; every problem is listed [OPTION_INVALID]\n' +
      '  flush: x: use sync\n  retention: y: use 1m',
  )
})

test('as JSON a failure is one line with code, message and details', () => {
  expect(JSON.parse(failureText(wrong, true))).toEqual({
    error: {
      code: 'OPTION_INVALID',
      message: 'options are wrong; every problem is listed',
      details: { flush: 'x: use sync', retention: 'y: use 1m' },
    },
  })
})

test('an error that nobody foresaw shows its place', () => {
  expect(failureText(new Error('odd'), false)).toMatch(/^orrery: Error: odd\n    at /)
  expect(failureText('odd', true)).toBe('{"error":{"message":"odd"}}')
})

test('scripts can tell wrong use, an absent server and failed work apart', () => {
  expect(exitCodeOf(wrong)).toBe(2)
  expect(exitCodeOf(new BrokerError('SUBSCRIPTION_INVALID'))).toBe(2)
  expect(exitCodeOf(new BrokerError('MESSAGE_INVALID'))).toBe(2)
  expect(exitCodeOf(new BrokerError('STORE_LOCKED'))).toBe(3)
  expect(exitCodeOf(new BrokerError('CONNECT_FAILED'))).toBe(3)
  expect(exitCodeOf(new BrokerError('STORE_FULL'))).toBe(1)
  expect(exitCodeOf(new Error('odd'))).toBe(1)
})
