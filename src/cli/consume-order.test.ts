import { expect, test } from 'vitest'
import { BrokerError } from '../core/base/index.ts'
import { type ConsumeFlags, consumeOrder } from './consume-order.ts'

function codeOf(topic: string, flags: Partial<ConsumeFlags>): string {
  try {
    consumeOrder(topic, { group: 'g', tag: '*', ...flags })
    return 'accepted'
  } catch (error) {
    if (error instanceof BrokerError) return error.code
    throw error
  }
}

test('topic, group, tags and count are taken as they are given', () => {
  expect(consumeOrder('t', { group: 'g', tag: 'a || b', max: '3' })).toEqual({
    topic: 't',
    group: 'g',
    tags: 'a || b',
    messagesMax: 3,
  })
  expect(consumeOrder('t', { group: 'g', tag: '*' }).messagesMax).toBeUndefined()
})

test.each(['', ' ', 'a ||', '|| a', 'a || || b', '||'])('the tags %j are refused', tag => {
  expect(codeOf('t', { tag })).toBe('COMMAND_LINE_INVALID')
})

test.each(['0', '-1', '1.5', 'two', '', '1e3'])('the count %j is refused', max => {
  expect(codeOf('t', { max })).toBe('COMMAND_LINE_INVALID')
})

test('names that no broker takes are refused before a server is asked', () => {
  expect(codeOf('', {})).toBe('TOPIC_NAME_INVALID')
  expect(codeOf('a b', {})).toBe('TOPIC_NAME_INVALID')
  expect(codeOf('t', { group: '' })).toBe('GROUP_NAME_INVALID')
  expect(codeOf('t', { group: 'a b' })).toBe('GROUP_NAME_INVALID')
})
