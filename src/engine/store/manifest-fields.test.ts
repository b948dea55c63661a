import { describe, expect, test } from 'vitest'
import { BrokerError } from '../../core/base/index.ts'
import { countsOf, ManifestFields } from './manifest-fields.ts'

const SHOWN = {
  name: '1min',
  isSplit: true,
  startMs: -60_000.5,
  levelsMs: [1000, 5000],
  sizeBytes: 32,
  gone: [0, 7],
  chunks: [{ number: 1 }, { number: 2 }],
  offsets: { 1: 7, 18: 0 },
}

function damageOf(read: (fields: ManifestFields) => unknown, value: unknown): unknown {
  try {
    read(new ManifestFields(value, 'sections.x'))
  } catch (error) {
    if (error instanceof BrokerError) return [error.code, error.details['field']]
    throw error
  }
  return undefined
}

describe('the fields of a manifest', () => {
  test('are read as they were written', () => {
    const fields = new ManifestFields(SHOWN, 'sections.x')
    expect(fields.text('name')).toBe('1min')
    expect(fields.flag('isSplit')).toBe(true)
    expect(fields.timeMs('startMs')).toBe(-60_000.5)
    expect(fields.timesMs('levelsMs')).toEqual([1000, 5000])
    expect(fields.count('sizeBytes')).toBe(32)
    expect(fields.counts('gone')).toEqual([0, 7])
    expect(fields.objects('chunks').map(chunk => chunk.count('number'))).toEqual([1, 2])
    expect(fields.countTable('offsets')).toEqual({ 1: 7, 18: 0 })
    expect(fields.object('offsets').values()).toEqual({ 1: 7, 18: 0 })
    expect([fields.has('gone'), fields.has('away')]).toEqual([true, false])
  })

  const wrong: readonly [string, (fields: ManifestFields) => unknown, unknown, string][] = [
    ['nothing', fields => fields.count('n'), {}, '.n'],
    ['null for an object', () => 0, null, ''],
    ['a list for an object', () => 0, [], ''],
    ['a text for an object', fields => fields.object('o'), { o: 'x' }, '.o'],
    ['null for a time', fields => fields.timeMs('t'), { t: null }, '.t'],
    ['a text for a time', fields => fields.timesMs('t'), { t: [1, '2'] }, '.t[1]'],
    ['a fraction for a count', fields => fields.count('n'), { n: 1.5 }, '.n'],
    ['a count below 0', fields => fields.counts('n'), { n: [3, -1] }, '.n[1]'],
    ['a count beyond 2^53', fields => fields.count('n'), { n: 2 ** 53 }, '.n'],
    ['an object for a list', fields => fields.counts('n'), { n: { length: 1 } }, '.n'],
    ['a number for a flag', fields => fields.flag('f'), { f: 1 }, '.f'],
    ['a number for a text', fields => fields.text('s'), { s: 1 }, '.s'],
    ['a text in a table', fields => fields.countTable('o'), { o: { 1: 'x' } }, '.o.1'],
    ['an inherited name', fields => fields.object('constructor'), {}, '.constructor'],
    [
      'damage in a list of objects',
      fields => fields.objects('o').map(each => each.count('n')),
      { o: [{ n: 1 }, { n: null }] },
      '.o[1].n',
    ],
  ]
  test.each(wrong)('refuse %s and name the place', (_name, read, value, place) => {
    expect(damageOf(read, value)).toEqual(['STORE_DAMAGED', `sections.x${place}`])
  })

  test('may be a bare list of counts', () => {
    expect(countsOf([1, 2], 'sections.fired')).toEqual([1, 2])
    expect(() => countsOf(undefined, 'sections.fired')).toThrow(BrokerError)
  })
})
