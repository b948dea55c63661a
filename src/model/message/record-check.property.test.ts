import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { codeOf, draftOf, sealedRecord } from './testing.ts'
import {
  BLANK_MAGIC,
  checkRecord,
  decodeRecord,
  decodeRecords,
  encodeHost,
  formatProperties,
  parseProperties,
  RECORD_SIZE_MIN_BYTES,
  type RecordDraft,
  recordHasChecksum,
  recordSizeMax,
  sealRecord,
  writeRecord,
} from './index.ts'

const int32 = fc.integer()
const position = fc.maxSafeNat()
const ipv4 = fc.ipV4()
const ipv6 = fc.ipV6()
const host = fc
  .tuple(fc.oneof(ipv4, ipv6), fc.integer({ min: 0, max: 65_535 }))
  .map(([address, port]) => encodeHost(address, port))
const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }).filter(isPropertyText)
const properties = fc.array(fc.tuple(text, text), { maxLength: 5 }).map(formatProperties)
const topic = fc
  .oneof(fc.string({ minLength: 1, maxLength: 60 }), fc.constant('%RETRY%'.padEnd(200, 'g')))
  .map(name => Buffer.from(name))
  .filter(name => name.length <= 255)

const draft: fc.Arbitrary<RecordDraft> = fc
  .record({
    topic,
    queueId: int32,
    flag: int32,
    sysFlag: int32,
    bornTimeMs: fc.maxSafeInteger(),
    bornHost: host,
    storeHost: host,
    reconsumeTimes: int32,
    preparedTransactionOffset: position,
    body: fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes)),
    properties,
  })
  .map(fields => ({ ...fields, bodyStart: 0, bodyEnd: fields.body.length }))

/** Neither a separator nor half a character, which UTF-8 cannot hold. */
function isPropertyText(value: string): boolean {
  const isWhole = Buffer.from(value).toString() === value
  return isWhole && !value.includes('\u0001') && !value.includes('\u0002')
}

const HOST_FLAGS = 0x30

describe('a written record', () => {
  test('is found whole and decoded to what went in', () => {
    fc.assert(
      fc.property(draft, position, position, position, (given, queueOffset, offset, storeTime) => {
        const stamps = { queueOffset, commitLogOffset: offset, storeTimeMs: storeTime }
        const record = sealedRecord(given, stamps)
        expect(checkRecord(record, 0, record.length)).toEqual({
          kind: 'record',
          size: record.length,
        })
        expect(recordHasChecksum(record, 0)).toBe(true)
        const message = decodeRecord(record, 0)
        expect(message).toMatchObject({
          topic: given.topic.toString(),
          queueId: given.queueId,
          queueOffset,
          commitLogOffset: offset,
          sizeBytes: record.length,
          flag: given.flag,
          bornTimeMs: given.bornTimeMs,
          storeTimeMs: storeTime,
          reconsumeTimes: given.reconsumeTimes,
          preparedTransactionOffset: given.preparedTransactionOffset,
        })
        expect(message.sysFlag & ~HOST_FLAGS).toBe(given.sysFlag & ~HOST_FLAGS)
        expect(message.body.equals(given.body)).toBe(true)
        expect(message.properties).toEqual(parseProperties(given.properties))
        expect(encodeHost(message.bornHost.host, message.bornHost.port)).toEqual(given.bornHost)
        expect(encodeHost(message.storeHost.host, message.storeHost.port)).toEqual(given.storeHost)
      }),
    )
  })

  test('changes no byte outside of its own', () => {
    fc.assert(
      fc.property(draft, fc.nat(50), (given, before) => {
        const target = Buffer.alloc(before + recordSizeMax(given) + 50, 0xee)
        const size = writeRecord(target, before, given)
        sealRecord(target, before, size, 0, 0, 0)
        expect(target.subarray(0, before).every(byte => byte === 0xee)).toBe(true)
        // Within the room that was asked for, bytes after the record may change.
        expect(target.subarray(-50).every(byte => byte === 0xee)).toBe(true)
        expect(checkRecord(target, before, before + size).kind).toBe('record')
      }),
    )
  })
})

describe('damage is found', () => {
  const samples: [string, Partial<RecordDraft>][] = [
    ['a plain record', {}],
    ['a record without body and properties', { bodyEnd: 0, properties: '' }],
    [
      'a record with IPv6 hosts',
      { bornHost: encodeHost('::2', 1), storeHost: encodeHost('::3', 2) },
    ],
    ['a record with a long topic', { topic: Buffer.alloc(200, 'g') }],
    ['a record with a large body', { body: Buffer.alloc(2000, 7), bodyEnd: 2000 }],
  ]
  test.each(samples)('wherever one bit of %s is flipped', (_name, changes) => {
    const record = sealedRecord(changes)
    const undetected: number[] = []
    for (let bit = 0; bit < record.length * 8; bit++) {
      const mask = 1 << (bit & 7)
      record[bit >> 3] = (record[bit >> 3] ?? 0) ^ mask
      if (checkRecord(record, 0, record.length).kind !== 'damaged') undetected.push(bit)
      record[bit >> 3] = (record[bit >> 3] ?? 0) ^ mask
    }
    expect(undetected).toEqual([])
    expect(checkRecord(record, 0, record.length).kind).toBe('record')
  })

  test('wherever up to three bytes in a row have other values', () => {
    const original = sealedRecord({})
    const burst = fc.uint8Array({ minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(fc.nat(original.length - 1), burst, (start, bytes) => {
        const source = Buffer.from(original)
        source.set(bytes.subarray(0, source.length - start), start)
        const kind = source.equals(original) ? 'record' : 'damaged'
        expect(checkRecord(source, 0, source.length).kind).toBe(kind)
      }),
      { numRuns: 5000 },
    )
  })

  test('wherever the record is cut off', () => {
    const record = sealedRecord({})
    for (let length = 0; length < record.length; length++) {
      const kind = length < 8 ? 'end' : 'damaged'
      expect(checkRecord(record, 0, length).kind).toBe(kind)
      expect(checkRecord(record.subarray(0, length), 0, record.length).kind).toBe(kind)
    }
  })

  test('wherever bytes from some place on are still zeros', () => {
    const record = sealedRecord({})
    for (let written = 8; written < record.length; written++) {
      const torn = Buffer.alloc(record.length)
      record.copy(torn, 0, 0, written)
      expect(checkRecord(torn, 0, torn.length).kind).toBe('damaged')
    }
  })

  test('in the body of a record that Apache wrote without the other checksum', () => {
    const record = withoutCrcProperty(sealedRecord({}))
    expect(checkRecord(record, 0, record.length)).toEqual({ kind: 'record', size: record.length })
    expect(recordHasChecksum(record, 0)).toBe(false)
    record[record.indexOf('hello')] = 0
    expect(checkRecord(record, 0, record.length)).toEqual({
      kind: 'damaged',
      reason: 'checksum of the body',
    })
  })

  test('but a property that only looks like the checksum does no harm to Apache records', () => {
    for (const name of ['X_crc32#', '__SHARDINGKEY', '12345678']) {
      const values = `KEYS\u0001k\u0002${name}\u00011234567890\u0002`
      const record = withoutCrcProperty(sealedRecord({ properties: values }))
      expect(checkRecord(record, 0, record.length).kind).toBe('record')
      expect(decodeRecord(record, 0).properties.get(name)).toBe('1234567890')
    }
  })
})

/** As Apache writes it by default. */
function withoutCrcProperty(record: Buffer): Buffer {
  const shorter = Buffer.from(record.subarray(0, record.length - 20))
  shorter.writeInt32BE(shorter.length, 0)
  const sizePosition = record.indexOf('TopicTest') + 'TopicTest'.length
  shorter.writeInt16BE(shorter.readInt16BE(sizePosition) - 20, sizePosition)
  return shorter
}

describe('what is not a record', () => {
  test('is the end where zeros are', () => {
    expect(checkRecord(Buffer.alloc(100), 0, 100)).toEqual({ kind: 'end' })
    expect(checkRecord(Buffer.alloc(0), 0, 100)).toEqual({ kind: 'end' })
  })

  test('is the blank end of a segment, of which the header is enough', () => {
    const blank = Buffer.alloc(8)
    blank.writeInt32BE(1000, 0)
    blank.writeInt32BE(BLANK_MAGIC, 4)
    expect(checkRecord(blank, 0, 8)).toEqual({ kind: 'blank', size: 1000 })
    for (const size of [0, 7, -1]) {
      blank.writeInt32BE(size, 0)
      expect(checkRecord(blank, 0, 8).kind).toBe('damaged')
    }
  })

  test('is told apart without an exception, whatever the bytes', () => {
    const bytes = fc.uint8Array({ maxLength: 400, size: 'max' }).map(array => Buffer.from(array))
    fc.assert(
      fc.property(bytes, fc.nat(420), fc.nat(420), (source, start, limit) => {
        const check = checkRecord(source, start, limit)
        expect(['end', 'damaged', 'blank']).toContain(check.kind)
      }),
      { numRuns: 2000 },
    )
  })

  test('is told apart without an exception, however a record was changed', () => {
    const changes = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), {
      minLength: 1,
      maxLength: 8,
    })
    const original = sealedRecord({})
    fc.assert(
      fc.property(changes, fc.nat(original.length + 20), (list, limit) => {
        const source = Buffer.from(original)
        for (const [at, value] of list) source[at % source.length] = value
        const check = checkRecord(source, 0, limit)
        if (check.kind === 'record') expect(check.size).toBeLessThanOrEqual(limit)
        if (source.equals(original)) {
          expect(check.kind === 'record').toBe(limit >= original.length)
        }
      }),
      { numRuns: 5000 },
    )
  })

  test('cannot be hidden behind sizes that agree but for the limit', () => {
    const two = Buffer.concat([sealedRecord({}), sealedRecord({})])
    const one = sealedRecord({}).length
    expect(checkRecord(two, one, two.length).kind).toBe('record')
    expect(checkRecord(two, one, two.length - 1)).toEqual({
      kind: 'damaged',
      reason: 'size out of range',
    })
  })

  test('is decoded to messages or refused, never worse', () => {
    const start = sealedRecord({})
    const tail = fc.uint8Array({ maxLength: 200, minLength: 1 })
    fc.assert(
      fc.property(tail, bytes => {
        const source = Buffer.concat([start, bytes])
        expect(codeOf(() => decodeRecords(source))).toBe('MESSAGE_INVALID')
      }),
    )
  })
})

test('the smallest record of Apache has the size that is checked against', () => {
  const empty = draftOf({ bodyEnd: 0, properties: '', topic: Buffer.from('t') })
  const record = sealedRecord(empty)
  expect(record.length).toBe(RECORD_SIZE_MIN_BYTES + 'T'.length + 20)
})
