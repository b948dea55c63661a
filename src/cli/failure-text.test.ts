import { expect, test } from 'vitest'
import { BrokerError } from '../core/base/index.ts'
import { exitCodeOf } from './exit-code.ts'
import { failureText, wantsJson } from './failure-text.ts'

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
  expect(failureText('odd', false)).toBe('orrery: odd')
})

test('as JSON an error that nobody foresaw has a code and details like any other', () => {
  expect(JSON.parse(failureText('odd', true))).toEqual({
    error: { code: 'SYSTEM_ERROR', message: 'odd', details: {} },
  })
  expect(JSON.parse(failureText(new TypeError('odd'), true))).toEqual({
    error: {
      code: 'SYSTEM_ERROR',
      message: 'odd',
      details: { stack: expect.stringMatching(/^TypeError: odd\n    at /) },
    },
  })
})

test('JSON is asked for by the flag, wherever it stands before the end of flags', () => {
  expect(wantsJson(['send', 't', 'b', '--json', '--colour'])).toBe(true)
  expect(wantsJson(['serve', '--json=on'])).toBe(true)
  expect(wantsJson(['serve', '--json', 'off'])).toBe(false)
  expect(wantsJson(['serve', '--json=off'])).toBe(false)
  expect(wantsJson(['send', 't', '--', '--json'])).toBe(false)
  expect(wantsJson(['send', 't', 'b'])).toBe(false)
})

test('scripts can tell wrong use, an absent server and failed work apart', () => {
  expect(exitCodeOf(wrong)).toBe(2)
  expect(exitCodeOf(new BrokerError('SUBSCRIPTION_INVALID'))).toBe(2)
  expect(exitCodeOf(new BrokerError('MESSAGE_INVALID'))).toBe(2)
  expect(exitCodeOf(new BrokerError('COMMAND_LINE_INVALID'))).toBe(2)
  expect(exitCodeOf(new BrokerError('NOT_A_NAME_SERVER'))).toBe(2)
  expect(exitCodeOf(new BrokerError('LISTEN_FAILED'))).toBe(2)
  expect(exitCodeOf(new BrokerError('STORE_LOCKED'))).toBe(3)
  expect(exitCodeOf(new BrokerError('CONNECT_FAILED'))).toBe(3)
  expect(exitCodeOf(new BrokerError('STORE_FULL'))).toBe(1)
  expect(exitCodeOf(new Error('odd'))).toBe(1)
})
