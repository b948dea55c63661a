import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Clock, Random } from '../../core/platform/index.ts'
import { codeOf } from './testing.ts'
import {
  decodeHost,
  decodeRecallHandle,
  encodeHost,
  encodeRecallHandle,
  javaHash,
  offsetMessageId,
  parseOffsetMessageId,
  retryTopic,
  storeHostHex,
  tagsCodeOf,
  UniqueKeys,
} from './index.ts'

test.each([
  ['TagA', 2_598_919],
  ['中文标签', 622_041_809],
  ['AaAaAaBBBBCC', 1_931_493_792],
  ['polygenelubricants', -2_147_483_648],
  ['', 0],
])('the Java hash of %j is %i', (text, hash) => {
  expect(javaHash(text)).toBe(hash)
  expect(tagsCodeOf(text)).toBe(hash)
})

test('no tags have the code 0', () => {
  expect(tagsCodeOf(undefined)).toBe(0)
})

function shown(host: string): string {
  return decodeHost(encodeHost(host, 1)).host
}

/** Bytes that count up, and a clock that stands where it is put. */
function keysAt(start: Date): { keys: UniqueKeys; clock: { nowMs: number } } {
  const clock = { nowMs: start.getTime() }
  let drawn = 0
  const random: Random = { below: () => 0, bytes: count => Buffer.alloc(count, ++drawn) }
  const source: Clock = { timeMs: () => clock.nowMs, uptimeMs: () => 0 }
  return { keys: new UniqueKeys(random, source), clock }
}

describe('a host', () => {
  test.each([
    ['192.168.1.2', 10_911, 'c0a8010200002a9f'],
    ['::ffff:192.168.1.2', 10_911, 'c0a8010200002a9f'],
    ['::1', 1, `${'0'.repeat(31)}100000001`],
    ['2001:DB8::1', 65_535, '20010db80000000000000000000000010000ffff'],
    ['fe80::1%eth0', 0, 'fe80000000000000000000000000000100000000'],
    ['64:ff9b::1.2.3.4', 0, '0064ff9b00000000000000000102030400000000'],
  ])('%s:%i is encoded', (host, port, hex) => {
    expect(encodeHost(host, port).toString('hex')).toBe(hex)
  })

  test.each([
    '',
    'localhost',
    '1.2.3',
    '1.2.3.256',
    '1.2.3.4.5',
    ':::',
    '1::2::3',
    '::12345',
    '1:2',
  ])('%j is refused', host => {
    expect(codeOf(() => encodeHost(host, 1))).toBe('PARAMETER_INVALID')
  })

  test.each([-1, 65_536, 1.5, Number.NaN])('with the port %d is refused', port => {
    expect(codeOf(() => encodeHost('1.2.3.4', port))).toBe('PARAMETER_INVALID')
  })

  test('is decoded to the shortest text', () => {
    expect(shown('2001:db8:0:0:1:0:0:0')).toBe('2001:db8:0:0:1::')
    expect(shown('0:0:0:0:0:0:0:0')).toBe('::')
    expect(shown('1:0:3:4:5:6:7:8')).toBe('1:0:3:4:5:6:7:8')
  })

  test('keeps its bytes through its text', () => {
    const port = fc.integer({ min: 0, max: 65_535 })
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), port, (address, given) => {
        const bytes = encodeHost(address, given)
        const decoded = decodeHost(bytes)
        expect(encodeHost(decoded.host, decoded.port)).toEqual(bytes)
        expect(decoded.port).toBe(given)
      }),
    )
  })
})

describe('an offset message id', () => {
  const prefix = storeHostHex(encodeHost('192.168.1.2', 10_911))

  test('has the text of Apache', () => {
    expect(offsetMessageId(prefix, 12_345)).toBe('C0A8010200002A9F0000000000003039')
  })

  test('is read again', () => {
    const addresses = fc.oneof(fc.ipV4(), fc.ipV6())
    fc.assert(
      fc.property(addresses, fc.maxSafeNat(), (address, commitLogOffset) => {
        const host = encodeHost(address, 10_911)
        const text = offsetMessageId(storeHostHex(host), commitLogOffset)
        const parsed = parseOffsetMessageId(text)
        expect(parsed).toEqual({ storeHost: decodeHost(host), commitLogOffset })
        expect(parseOffsetMessageId(text.toLowerCase())).toEqual(parsed)
      }),
    )
  })

  test.each(['', 'C0A8', 'G'.repeat(32), '0'.repeat(31), '0'.repeat(40), 'F'.repeat(32)])(
    '%j is none',
    text => {
      expect(parseOffsetMessageId(text)).toBeUndefined()
    },
  )
})

describe('unique keys', () => {
  test('hold the milliseconds since the first of the month, in local time', () => {
    const { keys, clock } = keysAt(new Date(2024, 0, 1, 0, 0, 0, 255))
    expect(keys.next()).toBe(`${'01'.repeat(10)}000000FF0001`)
    expect(keys.next()).toBe(`${'01'.repeat(10)}000000FF0002`)
    clock.nowMs += 0x100
    expect(keys.next()).toBe(`${'01'.repeat(10)}000001FF0003`)
  })

  test('do not repeat within the counter, nor when a month ends or the clock goes back', () => {
    const { keys, clock } = keysAt(new Date(2024, 0, 31, 23, 59, 59, 999))
    const seen = new Set<string>()
    const take = (count: number): void => {
      for (let index = 0; index < count; index++) seen.add(keys.next())
    }
    take(65_536)
    clock.nowMs += 1
    take(65_536)
    clock.nowMs -= 1
    take(65_536)
    expect(seen.size).toBe(3 * 65_536)
    for (const key of seen) if (!/^[\dA-F]{32}$/.test(key)) expect.fail(key)
  })

  test('start again at 0 in every month', () => {
    const { keys, clock } = keysAt(new Date(2024, 0, 31, 23, 59, 59, 999))
    expect(keys.next().slice(20, 28)).not.toBe('00000000')
    clock.nowMs += 1
    expect(keys.next().slice(20, 28)).toBe('00000000')
  })
})

describe('a recall handle', () => {
  const apache = {
    topic: 'T',
    brokerName: 'broker-a',
    deliverTimeMs: 1_700_000_000_001,
    uniqueKey: '7F000001ABC',
  }

  test('of five fields has the text of Apache', () => {
    const text = 'djEgVCBicm9rZXItYSAxNzAwMDAwMDAwMDAxIDdGMDAwMDAxQUJD'
    expect(encodeRecallHandle(apache)).toBe(text)
    expect(decodeRecallHandle(text)).toEqual(apache)
  })

  test('is read again however long a unique key the properties of a message can hold', () => {
    for (const length of [1600, 32_767]) {
      const handle = {
        topic: retryTopic('g'.repeat(120)),
        brokerName: 'b'.repeat(255),
        deliverTimeMs: Number.MAX_SAFE_INTEGER,
        uniqueKey: 'k'.repeat(length),
        timerId: Number.MAX_SAFE_INTEGER,
      }
      expect(decodeRecallHandle(encodeRecallHandle(handle))).toEqual(handle)
    }
  })

  test('is padded', () => {
    expect(encodeRecallHandle({ ...apache, topic: 'TT' })).toMatch(/[^=]==$/)
    expect(encodeRecallHandle({ ...apache, topic: 'TTT' })).toMatch(/[^=]=$/)
  })

  test('is read again, with and without a timer id', () => {
    const word = fc.string({ minLength: 1, maxLength: 40 }).filter(text => !text.includes(' '))
    const fields = fc.record(
      {
        topic: word,
        brokerName: word,
        deliverTimeMs: fc.maxSafeNat(),
        uniqueKey: word,
        timerId: fc.maxSafeNat(),
      },
      { requiredKeys: ['topic', 'brokerName', 'deliverTimeMs', 'uniqueKey'] },
    )
    fc.assert(
      fc.property(fields, handle => {
        const text = encodeRecallHandle(handle)
        expect(text).toMatch(/^[\w-]+={0,2}$/)
        expect(text.length % 4).toBe(0)
        expect(decodeRecallHandle(text)).toEqual(handle)
      }),
    )
  })

  test.each([
    'v2 T broker-a 1 K',
    'v1 T broker-a 1',
    'v1 T broker-a 1 K 2 3',
    'v1 T broker-a 1 K ',
    'v1  broker-a 1 K',
    'v1 T  1 K',
    'v1 T broker-a  K',
    'v1 T broker-a 1 ',
    'v1 T broker-a -1 K',
    'v1 T broker-a 01 K',
    'v1 T broker-a 1.5 K',
    'v1 T broker-a 9007199254740992 K',
    'v1 T broker-a 1 K 0x1',
    'v1 T broker-a 1 K 9007199254740992',
    '',
  ])('that says %j is refused', plain => {
    expect(decodeRecallHandle(Buffer.from(plain).toString('base64url'))).toBeUndefined()
    const padded = Buffer.from(plain).toString('base64').replaceAll('+', '-').replaceAll('/', '_')
    expect(decodeRecallHandle(padded)).toBeUndefined()
  })

  test('with any character changed, added or lost is refused or another handle', () => {
    const text = encodeRecallHandle({ ...apache, topic: 'TT', timerId: 5 })
    for (const changed of [` ${text}`, `${text} `, `${text}=`, text.slice(0, -1), `${text}\n`]) {
      expect(decodeRecallHandle(changed)).toBeUndefined()
    }
    const place = fc.nat(text.length - 1)
    const unit = fc.string({ unit: 'binary', minLength: 1, maxLength: 1 })
    fc.assert(
      fc.property(place, unit, (index, replacement) => {
        const changed = text.slice(0, index) + replacement + text.slice(index + 1)
        const handle = decodeRecallHandle(changed)
        if (handle !== undefined) expect(encodeRecallHandle(handle)).toBe(changed)
      }),
      { numRuns: 2000 },
    )
  })

  test('of any text is decoded to one that has this text, or not at all', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String()), text => {
        const handle = decodeRecallHandle(text)
        if (handle !== undefined) expect(encodeRecallHandle(handle)).toBe(text)
      }),
    )
    expect(decodeRecallHandle('A'.repeat(10_000_000))).toBeUndefined()
  })
})
