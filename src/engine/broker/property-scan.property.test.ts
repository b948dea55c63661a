import { array, assert, constantFrom, oneof, property, string, tuple } from 'fast-check'
import { expect, test } from 'vitest'
import {
  findProperty,
  findPropertyOrEmpty,
  parseProperties,
  PROPERTY,
} from '../../model/message/index.ts'
import { BROKER_PROPERTIES, PropertyScan } from './property-scan.ts'

const DELAYS = ['DELAY', 'TIMER_DELAY_SEC', 'TIMER_DELAY_MS', 'TIMER_DELIVER_MS']

const names = oneof(
  constantFrom(...Object.values(PROPERTY)),
  constantFrom('TAG', 'TAGSX', 'XTAGS', ''),
  string({ maxLength: 20 }),
)
const values = oneof(constantFrom('', 'true', '1', 'TAGS', 'UNIQ_KEY'), string({ maxLength: 10 }))
const texts = array(tuple(names, values, constantFrom('\u0001', '', '\u0001\u0001')), {
  maxLength: 12,
}).map(pairs => pairs.map(([name, value, end]) => name + end + value).join('\u0002'))

test('one pass finds what looking for each property finds', () => {
  const scan = new PropertyScan()
  const same = property(texts, text => {
    scan.read(text)
    const parsed = parseProperties(text)
    expect(scan.uniqueKey).toBe(findProperty(text, 'UNIQ_KEY'))
    expect(scan.tags).toBe(findProperty(text, 'TAGS'))
    expect(scan.isHalf).toBe(parsed.get('TRAN_MSG')?.toLowerCase() === 'true')
    expect(scan.isDeletion).toBe(parsed.has('TIMER_DEL_UNIQKEY'))
    expect(scan.hasOurs).toBe(BROKER_PROPERTIES.some(name => parsed.has(name)))
    expect(scan.hasDelay).toBe(DELAYS.some(name => findPropertyOrEmpty(text, name) !== undefined))
    for (const name of [...DELAYS, 'TIMER_OUT_MS']) {
      expect(findPropertyOrEmpty(scan.delays, name)).toBe(findPropertyOrEmpty(text, name))
    }
  })
  assert(same, { numRuns: 2000 })
})

test('a delay without a value is kept, so that it can be refused', () => {
  const scan = new PropertyScan()
  scan.read('TAGS\u0001a\u0002DELAY\u0001\u0002')
  expect(scan.delays).toBe('DELAY\u0001\u0002')
})

test('properties without a pair, or none at all, say nothing', () => {
  const scan = new PropertyScan()
  scan.read('TAGS\u0001a\u0002DELAY\u00011\u0002')
  for (const text of ['', 'TAGS', '\u0002\u0002', '\u0001']) {
    scan.read(text)
    expect([scan.tags, scan.delays, scan.hasOurs]).toEqual([undefined, '', false])
  }
})
