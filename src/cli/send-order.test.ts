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
  expect(codeOf({ delay: '1s', level: '1' })).toBe('COMMAND_LINE_INVALID')
  expect(codeOf({ delay: '1s', at: '2030-01-01T00:00:00Z' })).toBe('COMMAND_LINE_INVALID')
})

test.each(['0', '-1', '1.5', 'two', '', '1e3'])('the level %j is refused', level => {
  expect(codeOf({ level })).toBe('COMMAND_LINE_INVALID')
})

test.each(['DELAY', 'TIMER_DELAY_SEC', 'TIMER_DELAY_MS', 'TIMER_DELIVER_MS'])(
  'the property %s is refused beside a flag that says when, and accepted alone',
  name => {
    const property = [`${name}=20`]
    for (const flag of [{ delay: '2s' }, { at: '2030-01-01T00:00:00Z' }, { level: '1' }]) {
      expect(codeOf({ ...flag, property })).toBe('COMMAND_LINE_INVALID')
    }
    expect(codeOf({ property })).toBe('accepted')
    expect(codeOf({ delay: '2s', property: ['colour=blue'] })).toBe('accepted')
  },
)

test('a level out of range is told the range', () => {
  expect(() => sendOrder('t', BODY, { level: '0' })).toThrow('0 is no level; give 1 to 18')
})

test('a topic that is empty or no name is refused before anything is sent', () => {
  expect(() => sendOrder('', BODY, {})).toThrow('topic=is empty')
  expect(() => sendOrder('a b', BODY, {})).toThrow('topic="a b"')
})

test('properties are split at the first equals sign', () => {
  expect(sendOrder('t', BODY, { property: ['a=1=2', 'b='] }).properties).toEqual({
    a: '1=2',
    b: '',
  })
  expect(codeOf({ property: ['=1'] })).toBe('COMMAND_LINE_INVALID')
  expect(codeOf({ property: ['a'] })).toBe('COMMAND_LINE_INVALID')
})
