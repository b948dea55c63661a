import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BrokerError, type ErrorCode } from '../../core/base/index.ts'
import { formatProperties } from '../message/index.ts'
import {
  DEFAULT_DELAY_LEVELS,
  type DelayDecision,
  type DelayLimits,
  parseDelayLevels,
  resolveDelay,
} from './index.ts'

const NOW_MS = 1_700_000_000_000
const DAY_MS = 86_400_000
const LIMITS: DelayLimits = {
  delayMsMax: 30 * DAY_MS,
  levelsMs: parseDelayLevels(DEFAULT_DELAY_LEVELS),
}

/** The decision, or the code of the error; pairs may be empty. */
function resolved(
  pairs: Record<string, string>,
  limits: DelayLimits = LIMITS,
): DelayDecision | ErrorCode {
  const properties = Object.entries(pairs)
    .map(([name, value]) => `${name}\u0001${value}\u0002`)
    .join('')
  try {
    return resolveDelay(properties, NOW_MS, limits)
  } catch (error) {
    if (error instanceof BrokerError) return error.code
    throw error
  }
}

const now: DelayDecision = { kind: 'now' }

function timer(deliverTimeMs: number): DelayDecision {
  return { kind: 'timer', deliverTimeMs }
}

describe('a message without a delay', () => {
  test.each([
    {},
    { KEYS: 'k', TAGS: 'TIMER_DELAY_MS', WAIT: 'true' },
    { TIMER_DELAY_LEVEL: '5' },
    { TIMER_DEL_UNIQKEY: 'T+key' },
    { MY_TIMER_DELAY_MS: '5', DELAY2: '3' },
  ])('is delivered now: %j', pairs => {
    expect(resolved(pairs)).toEqual(now)
  })

  test('costs no object of its own', () => {
    expect(resolveDelay('KEYS\u0001k\u0002', NOW_MS, LIMITS)).toBe(resolveDelay('', 0, LIMITS))
  })
})

describe('a delay level', () => {
  test.each([
    ['1', 1, 1000],
    ['3', 3, 10_000],
    ['18', 18, 7_200_000],
    ['19', 18, 7_200_000],
    ['9007199254740991', 18, 7_200_000],
    ['007', 7, 180_000],
  ])('%s is level %i', (text, level, delayMs) => {
    expect(resolved({ DELAY: text })).toEqual({ kind: 'level', level, delayMs })
  })

  test('wins over the timer properties, even wrong ones', () => {
    const pairs = { TIMER_DELAY_SEC: 'x', TIMER_DELAY_MS: '-1', TIMER_DELIVER_MS: '5', DELAY: '2' }
    expect(resolved(pairs)).toEqual({ kind: 'level', level: 2, delayMs: 5000 })
  })

  test.each(['0', '-1', '-0'])('%s is none', text => {
    expect(resolved({ DELAY: text })).toEqual(now)
    expect(resolved({ DELAY: text, TIMER_DELAY_MS: '5' })).toEqual(timer(NOW_MS + 5))
  })

  test('is not measured by the limit of the timer', () => {
    const limits = { ...LIMITS, delayMsMax: 1 }
    expect(resolved({ DELAY: '18' }, limits)).toMatchObject({ kind: 'level', level: 18 })
  })
})

describe('a delay', () => {
  test('in seconds comes before one in milliseconds, that before a deliver time', () => {
    const all = {
      TIMER_DELIVER_MS: String(NOW_MS + 3),
      TIMER_DELAY_MS: '2',
      TIMER_DELAY_SEC: '1',
    }
    expect(resolved(all)).toEqual(timer(NOW_MS + 1000))
    const { TIMER_DELAY_SEC: _sec, ...withoutSec } = all
    expect(resolved(withoutSec)).toEqual(timer(NOW_MS + 2))
    expect(resolved({ TIMER_DELIVER_MS: all.TIMER_DELIVER_MS })).toEqual(timer(NOW_MS + 3))
  })

  test.each(['TIMER_DELAY_SEC', 'TIMER_DELAY_MS'])('%s of 0 is now', name => {
    expect(resolved({ [name]: '0', TIMER_DELIVER_MS: String(NOW_MS + 3) })).toEqual(now)
  })

  test.each(['TIMER_DELAY_SEC', 'TIMER_DELAY_MS', 'TIMER_DELIVER_MS'])(
    '%s below 0 is refused',
    name => {
      expect(resolved({ [name]: '-1' })).toBe('DELAY_NEGATIVE')
      expect(resolved({ [name]: '-9007199254740991' })).toBe('DELAY_NEGATIVE')
    },
  )

  test('is not resolved again after another broker kept the message for it', () => {
    const kept = { TIMER_DELAY_SEC: '10', TIMER_OUT_MS: '1699999999000' }
    expect(resolved(kept)).toEqual(now)
    expect(resolved({ ...kept, DELAY: '1' })).toMatchObject({ kind: 'level' })
  })
})

describe('a value that is no whole number in range is refused', () => {
  const values = [
    '',
    ' ',
    'NaN',
    'Infinity',
    '1.5',
    '1e3',
    '+5',
    ' 5',
    '5 ',
    '0x10',
    '5s',
    '٣',
    '--1',
  ]
  const beyond = ['9007199254740992', '-9007199254740992', '9'.repeat(400)]
  const names = ['DELAY', 'TIMER_DELAY_SEC', 'TIMER_DELAY_MS', 'TIMER_DELIVER_MS']
  test.each(names)('in %s', name => {
    for (const value of [...values, ...beyond]) {
      expect([value, resolved({ [name]: value })]).toEqual([value, 'DELAY_INVALID'])
    }
  })

  test('with a bounded message', () => {
    const properties = formatProperties([['TIMER_DELAY_MS', 'x'.repeat(30_000)]])
    expect(() => resolveDelay(properties, NOW_MS, LIMITS)).toThrow(/^.{1,300}$/)
  })
})

describe('a deliver time', () => {
  test.each([1, 1_700_000_000, 99_999_999_999])('of %i is refused as seconds', value => {
    expect(resolved({ TIMER_DELIVER_MS: String(value) })).toBe('DELIVER_TIME_IN_SECONDS')
  })

  test.each([0, 100_000_000_000, NOW_MS - 1, NOW_MS])('of %i has come', value => {
    expect(resolved({ TIMER_DELIVER_MS: String(value) })).toEqual(now)
  })
})

describe('the limit', () => {
  test.each([
    ['TIMER_DELAY_SEC', String(30 * 86_400), String(30 * 86_400 + 1)],
    ['TIMER_DELAY_MS', String(30 * DAY_MS), String(30 * DAY_MS + 1)],
    ['TIMER_DELIVER_MS', String(NOW_MS + 30 * DAY_MS), String(NOW_MS + 30 * DAY_MS + 1)],
  ])('is the last that %s may be', (name, last, beyond) => {
    expect(resolved({ [name]: last })).toEqual(timer(NOW_MS + 30 * DAY_MS))
    expect(resolved({ [name]: beyond })).toBe('DELIVER_TIME_TOO_FAR')
    expect(resolved({ [name]: String(Number.MAX_SAFE_INTEGER) })).toBe('DELIVER_TIME_TOO_FAR')
  })

  test('and its option are named', () => {
    expect(() => resolveDelay('TIMER_DELAY_SEC\u00013000000\u0002', NOW_MS, LIMITS)).toThrow(
      /limit=2592000000, option=timer\.delayMsMax \(timerMaxDelaySec/,
    )
  })

  test('does not let the sum overflow, however large it is', () => {
    const limits = { ...LIMITS, delayMsMax: Number.MAX_SAFE_INTEGER }
    expect(resolved({ TIMER_DELAY_MS: '9007199254740991' }, limits)).toBe('DELIVER_TIME_TOO_FAR')
    expect(resolved({ TIMER_DELAY_SEC: '9007199254740991' }, limits)).toBe('DELIVER_TIME_TOO_FAR')
    expect(resolved({ TIMER_DELIVER_MS: '9007199254740991' }, limits)).toEqual(
      timer(Number.MAX_SAFE_INTEGER),
    )
  })
})

describe('any numbers and texts', () => {
  const name = fc.constantFrom('DELAY', 'TIMER_DELAY_SEC', 'TIMER_DELAY_MS', 'TIMER_DELIVER_MS')

  test('lead to a decision within the limits or to an error with a code', () => {
    const value = fc.oneof(fc.string(), fc.bigInt().map(String), fc.double().map(String))
    const pairs = fc.array(fc.tuple(name, value), { maxLength: 6 })
    fc.assert(
      fc.property(pairs, given => {
        const decision = resolved(Object.fromEntries(given))
        if (typeof decision === 'string') {
          expect(decision).toMatch(/^DELAY_(INVALID|NEGATIVE)$|^DELIVER_TIME_(TOO_FAR|IN_SECONDS)$/)
        } else {
          expect(isWithinLimits(decision)).toBe(true)
        }
      }),
      { numRuns: 2000 },
    )
  })

  test('in range are kept to the millisecond', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 * DAY_MS }), delayMs => {
        const deliverTimeMs = NOW_MS + delayMs
        expect(resolved({ TIMER_DELAY_MS: String(delayMs) })).toEqual(timer(deliverTimeMs))
        expect(resolved({ TIMER_DELIVER_MS: String(deliverTimeMs) })).toEqual(timer(deliverTimeMs))
      }),
    )
  })
})

function isWithinLimits(decision: DelayDecision): boolean {
  switch (decision.kind) {
    case 'now':
      return true
    case 'level':
      return decision.level >= 1 && decision.level <= 18
    case 'timer':
      return decision.deliverTimeMs > NOW_MS && decision.deliverTimeMs <= NOW_MS + LIMITS.delayMsMax
  }
}
