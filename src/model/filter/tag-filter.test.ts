import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { BrokerError } from '../../core/base/index.ts'
import { tagsCodeOf } from '../message/index.ts'
import { matchesTagsCode, parseTagExpression } from './index.ts'

test.each([null, undefined, '', '*', ' * ', '  '])('%j wants every message', expression => {
  const filter = parseTagExpression(expression)
  expect(filter).toEqual({ kind: 'all' })
  expect(matchesTagsCode(filter, 0)).toBe(true)
  expect(matchesTagsCode(filter, tagsCodeOf('TagA'))).toBe(true)
})

test('tags are wanted by the hash that the consume queue holds', () => {
  const filter = parseTagExpression('TagA || 中文标签||TagA')
  expect(filter).toEqual({
    kind: 'tags',
    tags: ['TagA', '中文标签'],
    hashes: new Set([2_598_919, 622_041_809]),
  })
  expect(matchesTagsCode(filter, 622_041_809)).toBe(true)
  expect(matchesTagsCode(filter, tagsCodeOf('TagB'))).toBe(false)
  expect(matchesTagsCode(filter, tagsCodeOf(undefined))).toBe(false)
})

test('tags of equal hash pass both: the consumer tells them apart', () => {
  expect(matchesTagsCode(parseTagExpression('AaAa'), tagsCodeOf('BBBB'))).toBe(true)
})

test('empty parts are left out, and separators alone are refused', () => {
  expect(parseTagExpression('|| a ||  || b ||')).toMatchObject({ tags: ['a', 'b'] })
  expect(() => parseTagExpression(' || || ')).toThrow(BrokerError)
})

test('a message passes when its tag is one of those named', () => {
  const tag = fc.stringMatching(/^[^|*\s]+$/)
  fc.assert(
    fc.property(fc.array(tag, { minLength: 1 }), tag, (tags, other) => {
      const filter = parseTagExpression(tags.join(' || '))
      for (const wanted of tags) expect(matchesTagsCode(filter, tagsCodeOf(wanted))).toBe(true)
      const hashes = tags.map(tagsCodeOf)
      const code = tagsCodeOf(other)
      expect(matchesTagsCode(filter, code)).toBe(hashes.includes(code))
    }),
  )
})
