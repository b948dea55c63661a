import { expect, test } from 'vitest'
import { changedAttributes } from './topic-settings.ts'

test('attributes are added, changed and removed as tools write it', () => {
  const before = { 'message.type': 'NORMAL', 'cleanup.policy': 'DELETE' }
  expect(changedAttributes(before, '+message.type=DELAY,-cleanup.policy')).toEqual({
    'message.type': 'DELAY',
  })
  expect(changedAttributes(before, '')).toEqual(before)
  expect(changedAttributes({}, '-message.type')).toEqual({})
})

test.each([
  ['message.type=DELAY', 'PARAMETER_INVALID'],
  ['+message.type', 'PARAMETER_INVALID'],
  ['-message.type=DELAY', 'PARAMETER_INVALID'],
  ['+=x', 'PARAMETER_INVALID'],
  ['+message.type=LATER', 'NOT_SUPPORTED'],
  ['+queue.type=BatchCQ', 'NOT_SUPPORTED'],
  ['+constructor=x', 'NOT_SUPPORTED'],
  ['+retention=5', 'NOT_SUPPORTED'],
])('the change %s is refused with %s', (changes, code) => {
  expect(() => changedAttributes({}, changes)).toThrow(expect.objectContaining({ code }))
})
