import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { codeOf } from './testing.ts'
import {
  appendProperty,
  findProperty,
  findPropertyOrEmpty,
  formatProperties,
  hasProperty,
  parseProperties,
  removeProperties,
} from './index.ts'

/** Few characters, so that names repeat and hide in values; separators at any place. */
const encoded = fc.string({ unit: fc.constantFrom('a', 'b', '\u0001', '\u0002'), maxLength: 24 })
const name = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 3 })

describe('parsing', () => {
  test('leaves out what has no value', () => {
    expect(parseProperties('a\u0001\u0002b\u00011\u0002cc\u00012')).toEqual(
      new Map([
        ['b', '1'],
        ['cc', '2'],
      ]),
    )
  })

  test('leaves out what has no name, and cuts at the first separator of a pair', () => {
    expect(parseProperties('\u0001x\u0002a\u0001b\u0001c\u0002d\u0002\u0002')).toEqual(
      new Map([['a', 'b\u0001c']]),
    )
    expect(parseProperties('').size).toBe(0)
  })

  test('takes the last of several values', () => {
    expect(parseProperties('a\u00011\u0002a\u00012\u0002a\u0001\u0002')).toEqual(
      new Map([['a', '2']]),
    )
  })

  test('gives back what was formatted', () => {
    const value = fc.string({ minLength: 1 }).filter(text => !text.includes('\u0002'))
    const pair = fc.tuple(
      value.filter(text => !text.includes('\u0001')),
      value,
    )
    fc.assert(
      fc.property(fc.array(pair), pairs => {
        expect(parseProperties(formatProperties(pairs))).toEqual(new Map(pairs))
      }),
    )
  })
})

describe('finding', () => {
  test('agrees with parsing, whatever the text', () => {
    fc.assert(
      fc.property(encoded, name, (properties, wanted) => {
        const parsed = parseProperties(properties)
        expect(findProperty(properties, wanted)).toBe(parsed.get(wanted))
        expect(hasProperty(properties, wanted)).toBe(parsed.has(wanted))
      }),
      { numRuns: 5000 },
    )
  })

  test('does not take the end of a name or a value for a name', () => {
    const properties = 'XKEYS\u00011\u0002v\u0001KEYS\u0001no\u0002KEYS2\u00013\u0002'
    expect(findProperty(properties, 'KEYS')).toBeUndefined()
    expect(findProperty(`${properties}KEYS\u0001yes`, 'KEYS')).toBe('yes')
  })

  test('tells an empty value from none on request', () => {
    expect(findPropertyOrEmpty('a\u0001\u0002', 'a')).toBe('')
    expect(findPropertyOrEmpty('a\u00011\u0002a\u0001\u0002', 'a')).toBe('1')
    expect(findPropertyOrEmpty('a\u0001\u0002a\u00011\u0002', 'a')).toBe('1')
    expect(findPropertyOrEmpty('ab\u0001\u0002', 'a')).toBeUndefined()
    expect(findProperty('a\u0001\u0002', 'a')).toBeUndefined()
  })
})

describe('appending', () => {
  test('adds a separator only where it is missing', () => {
    const both = 'a\u00011\u0002b\u00012\u0002'
    expect(appendProperty('a\u00011', 'b', '2')).toBe(both)
    expect(appendProperty('a\u00011\u0002', 'b', '2')).toBe(both)
    expect(appendProperty('', 'b', '2')).toBe('b\u00012\u0002')
  })

  test('sets that property and leaves the others', () => {
    fc.assert(
      fc.property(encoded, name, (properties, added) => {
        const expected = parseProperties(properties).set(added, 'new')
        expect(parseProperties(appendProperty(properties, added, 'new'))).toEqual(expected)
      }),
    )
  })
})

describe('removing', () => {
  test('takes out all pairs of these names and leaves the others', () => {
    fc.assert(
      fc.property(encoded, fc.array(name, { maxLength: 3 }), (properties, names) => {
        const rest = removeProperties(properties, names)
        const expected = parseProperties(properties)
        for (const removed of names) {
          expected.delete(removed)
          expect(findPropertyOrEmpty(rest, removed)).toBeUndefined()
        }
        expect(parseProperties(rest)).toEqual(expected)
      }),
      { numRuns: 5000 },
    )
  })

  test('gives the same text when there is nothing to take out', () => {
    const properties = 'XKEYS\u00011\u0002v\u0001KEYS'
    expect(removeProperties(properties, ['KEYS', 'TAGS'])).toBe(properties)
  })

  test('leaves nothing of the only pair', () => {
    expect(removeProperties('a\u00011', ['a'])).toBe('')
    expect(removeProperties('b\u00012\u0002a\u00011', ['a'])).toBe('b\u00012\u0002')
  })
})

test.each([
  ['', 'v'],
  ['n', ''],
  ['n\u0001', 'v'],
  ['n\u0002', 'v'],
  ['n', 'v\u0002x\u0001y'],
])('formatting %j with %j is refused', (key, value) => {
  expect(codeOf(() => formatProperties([[key, value]]))).toBe('MESSAGE_INVALID')
})
