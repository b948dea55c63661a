import { array, assert, constantFrom, property, string, tuple } from 'fast-check'
import { expect, test } from 'vitest'
import { findProperty, javaHash } from '../../../model/message/index.ts'
import { keyHashOf, keyHashOfText } from './index-layout.ts'
import { hashOn, RecordKeys, wordEnd } from './record-keys.ts'

const names = constantFrom('UNIQ_KEY', 'KEYS', 'REAL_TOPIC', 'XKEYS', 'KEYSX', 'UNIQ', 'K', 'TAGS')
const values = string({ unit: 'binary', maxLength: 12 }).filter(
  text => !/[\u0001\u0002]/.test(text),
)

test('keys are found in bytes as they are in text, whatever stands around them', () => {
  const keys = new RecordKeys()
  const isSame = property(array(tuple(names, values)), constantFrom('', '\u0002'), (pairs, end) => {
    const text = pairs.map(([name, value]) => `${name}\u0001${value}`).join('\u0002') + end
    // What lies around the properties of a record does not count.
    const source = Buffer.from(`KEYS\u0001no\u0002${text}\u0002KEYS\u0001no`)
    const start = Buffer.byteLength('KEYS\u0001no\u0002')
    keys.read(source, start, start + Buffer.byteLength(text))
    const between = (from: number, to: number): string | undefined =>
      to === 0 ? undefined : source.toString('utf8', from, to)
    const seen = Buffer.from(text).toString()
    expect(between(keys.uniqueKeyStart, keys.uniqueKeyEnd)).toBe(findProperty(seen, 'UNIQ_KEY'))
    expect(between(keys.keysStart, keys.keysEnd)).toBe(findProperty(seen, 'KEYS'))
    expect(between(keys.realTopicStart, keys.realTopicEnd)).toBe(findProperty(seen, 'REAL_TOPIC'))
  })
  assert(isSame)
})

test('the hash of bytes goes on like that of their text', () => {
  const isSame = property(
    string({ unit: 'binary' }),
    string({ unit: 'grapheme' }),
    (topic, key) => {
      const source = Buffer.from(key)
      const text = source.toString()
      const hash = hashOn(javaHash(`${topic}#`), source, 0, source.length)
      expect(hash).toBe(javaHash(`${topic}#${text}`))
      expect(keyHashOf(hash)).toBe(keyHashOfText(topic, text))
    },
  )
  assert(isSame)
})

test('words end at spaces', () => {
  const source = Buffer.from('a  bc d')
  expect([0, 1, 2, 3, 6].map(start => wordEnd(source, start, source.length))).toEqual([
    1, 1, 2, 5, 7,
  ])
})

test('the one hash that has no absolute value counts as 0, as in Apache', () => {
  expect(keyHashOf(-0x8000_0000)).toBe(0)
  expect(keyHashOf(-5)).toBe(5)
  expect(keyHashOfText('TopicTest', 'k1')).toBe(2_746_024)
})
