import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BrokerError } from '../../core/base/index.ts'
import {
  DEFAULT_DELAY_LEVELS,
  delayLevelMs,
  parseDelayLevels,
  parseDeliverAt,
  parseDuration,
} from './index.ts'

/** The code of the error that `action` throws, or what it returns. */
function outcome(action: () => unknown): unknown {
  try {
    return action()
  } catch (error) {
    if (error instanceof BrokerError) return error.code
    throw error
  }
}

describe('delay levels', () => {
  test('of RocketMQ are the default', () => {
    expect(parseDelayLevels(DEFAULT_DELAY_LEVELS).map(ms => ms / 1000)).toEqual([
      1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200,
    ])
  })

  test('may have other values, in any order, with any blanks', () => {
    expect(parseDelayLevels(' 2d  1s\t3h ')).toEqual([172_800_000, 1000, 10_800_000])
  })

  test.each(['', '1', '0s', '-1s', '1.5s', '1s,2s', '1 s', '1S', '1s 2x', '9999999999d'])(
    '%j is refused as an option',
    text => {
      expect(outcome(() => parseDelayLevels(text))).toBe('OPTION_INVALID')
    },
  )

  test('are at most 64', () => {
    expect(parseDelayLevels(Array(64).fill('1s').join(' '))).toHaveLength(64)
    expect(outcome(() => parseDelayLevels(Array(65).fill('1s').join(' ')))).toBe('OPTION_INVALID')
  })

  test('above the highest last as long as that', () => {
    expect(delayLevelMs([1000, 5000], 1)).toBe(1000)
    expect(delayLevelMs([1000, 5000], 2)).toBe(5000)
    expect(delayLevelMs([1000, 5000], 3)).toBe(5000)
    expect(() => delayLevelMs([1000], 0)).toThrow('a delay level is 1 or more')
  })
})

describe('a duration', () => {
  test.each([
    ['250ms', 250],
    ['10s', 10_000],
    ['15m', 900_000],
    ['36h', 129_600_000],
    ['30d', 2_592_000_000],
    ['0', 0],
    ['-0s', 0],
    ['1500', 1500],
    [1500, 1500],
  ])('%j is %i ms', (input, durationMs) => {
    expect(parseDuration(input)).toBe(durationMs)
  })

  test.each(['-1s', -5])('%j is refused as negative', input => {
    expect(outcome(() => parseDuration(input))).toBe('DELAY_NEGATIVE')
  })

  test.each(['', 's', '1.5h', '1e3', 1.5, Number.NaN, Infinity, '10 s', '1w', '1H', '1h30m', 1e21])(
    '%j is refused',
    input => {
      expect(outcome(() => parseDuration(input))).toBe('DURATION_INVALID')
    },
  )

  test('beyond 2^53 ms is refused and not rounded', () => {
    expect(parseDuration('9007199254740991')).toBe(Number.MAX_SAFE_INTEGER)
    expect(outcome(() => parseDuration('9007199254740992'))).toBe('DURATION_INVALID')
    expect(outcome(() => parseDuration('9999999999999999d'))).toBe('DURATION_INVALID')
  })
})

describe('a deliver time in ISO 8601', () => {
  test.each([
    ['2023-11-14T22:13:20Z', 0],
    ['2023-11-14T22:13:20.005Z', 5],
    ['2023-11-14 23:13:20+01:00', 0],
    ['2023-11-14T23:13:20+0100', 0],
    ['2023-11-15T00:13:20+02', 0],
    ['2023-11-14T17:43:20-04:30', 0],
    ['2023-11-14t22:13:20,1z', 100],
    ['2023-11-14T22:13:20.000001Z', 1],
    ['2023-11-14T22:13:20.999999999Z', 1000],
    ['2023-11-14T22:14Z', 40_000],
  ])('%s is read', (text, afterMs) => {
    expect(parseDeliverAt(text)).toBe(1_700_000_000_000 + afterMs)
  })

  test('is what JavaScript writes for any time', () => {
    const latest = Date.UTC(9999, 11, 31)
    fc.assert(
      fc.property(fc.integer({ min: 0, max: latest }), timeMs => {
        expect(parseDeliverAt(new Date(timeMs).toISOString())).toBe(timeMs)
      }),
    )
  })

  test('without an offset is refused with that hint', () => {
    expect(() => parseDeliverAt('2030-01-31T09:00:00')).toThrow('add an offset such as Z')
  })

  test.each([
    '2023-02-29T00:00:00Z',
    '2023-13-01T00:00:00Z',
    '2023-00-10T00:00:00Z',
    '2023-01-32T00:00:00Z',
    '2023-01-01T24:00:00Z',
    '2023-01-01T00:60:00Z',
    '2023-01-01T00:00:60Z',
    '2023-01-01T00:00:00+24:00',
    '2023-01-01T00:00:00+01:60',
    '2023-01-01Z',
    '2023-01-01',
    'tomorrow',
    '',
    '+12023-01-01T00:00:00Z',
  ])('%j is refused', text => {
    expect(outcome(() => parseDeliverAt(text))).toBe('DELIVER_TIME_INVALID')
  })

  test('of the 29th of February is read in a leap year', () => {
    expect(parseDeliverAt('2024-02-29T00:00:00Z')).toBe(Date.UTC(2024, 1, 29))
  })
})

describe('a deliver time as a number', () => {
  test('is milliseconds since 1970', () => {
    expect(parseDeliverAt('1700000000000')).toBe(1_700_000_000_000)
    expect(parseDeliverAt(1_700_000_000_000)).toBe(1_700_000_000_000)
    expect(parseDeliverAt(0)).toBe(0)
  })

  test('that looks like seconds is refused as such', () => {
    expect(outcome(() => parseDeliverAt(1_700_000_000))).toBe('DELIVER_TIME_IN_SECONDS')
  })

  test.each([-1, 1.5, Number.NaN, '9007199254740992', '1700000000000ms'])(
    '%j is refused',
    input => {
      expect(outcome(() => parseDeliverAt(input))).toBe('DELIVER_TIME_INVALID')
    },
  )
})
