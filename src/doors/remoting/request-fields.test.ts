import { expect, test } from 'vitest'
import { codeOf } from '../../model/message/testing.ts'
import {
  optionalBoolean,
  optionalInt32,
  requiredInt32,
  requiredInt64,
  requiredText,
  requiredVersion,
} from './request-fields.ts'

test.each(['', 'x', '1.5', '1e3', ' 1', '0x10', '99999999999999999', '9007199254740992', '--1'])(
  '%j is no whole number',
  text => {
    expect(codeOf(() => requiredInt64({ n: text }, 'n'))).toBe('PARAMETER_INVALID')
  },
)

test('whole numbers are read exactly, up to what a double holds', () => {
  expect(requiredInt64({ n: '9007199254740991' }, 'n')).toBe(9_007_199_254_740_991)
  expect(requiredInt64({ n: '-12' }, 'n')).toBe(-12)
  expect(Object.is(requiredInt64({ n: '-0' }, 'n'), 0)).toBe(true)
})

test('32 bits are 32 bits', () => {
  expect(requiredInt32({ n: '-2147483648' }, 'n')).toBe(-2_147_483_648)
  expect(codeOf(() => requiredInt32({ n: '2147483648' }, 'n'))).toBe('PARAMETER_INVALID')
  expect(optionalInt32({}, 'n')).toBeUndefined()
  expect(codeOf(() => optionalInt32({ n: 'x' }, 'n'))).toBe('PARAMETER_INVALID')
})

test('what is missing is named', () => {
  expect(() => requiredText({}, 'topic')).toThrow(/field=topic/)
  expect(() => requiredText({ topic: '' }, 'topic')).toThrow(/field=topic/)
})

test('true and false are read in any case, and nothing else is', () => {
  expect(optionalBoolean({ b: 'True' }, 'b')).toBe(true)
  expect(optionalBoolean({ b: 'false' }, 'b')).toBe(false)
  expect(optionalBoolean({}, 'b')).toBeUndefined()
  expect(codeOf(() => optionalBoolean({ b: '1' }, 'b'))).toBe('PARAMETER_INVALID')
})

test('a version may be nanoseconds, and is rounded like every other one', () => {
  const rounded = requiredVersion({ n: '1796054998128896923' }, 'n')
  expect(rounded).toBe(Number('1796054998128896923'))
  expect(codeOf(() => requiredVersion({ n: '1.5' }, 'n'))).toBe('PARAMETER_INVALID')
  expect(codeOf(() => requiredVersion({ n: '11111111111111111111' }, 'n'))).toBe(
    'PARAMETER_INVALID',
  )
})
