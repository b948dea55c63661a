import { describe, expect, test } from 'vitest'
import { crc32 } from '../../core/base/index.ts'
import { codeOf, draftOf, sealedRecord } from './testing.ts'
import {
  checkRecord,
  CRC_PROPERTY_SIZE_BYTES,
  decodeRecord,
  decodeRecords,
  encodeHost,
  RECORD_MAGIC_V1,
  RECORD_MAGIC_V2,
  recordBodyEnd,
  recordBodySize,
  recordBodyStart,
  recordMagic,
  recordProperties,
  recordSize,
  recordSizeMax,
  recordStoreTimeMs,
  recordSysFlag,
  recordTopic,
  sealRecord,
  SYS_FLAG,
  writeRecord,
} from './index.ts'

/** The record as Apache writes it without the checksum's property. */
const APACHE_RECORD = Buffer.from(
  '0000007FDAA320A73610A686000000010000000000000000000000070000000000003039000000000000018BCFE56800C0A801090000C3500000018BCFE56805C0A8010200002A9F0000000000000000000000000000000568656C6C6F09546F706963546573740016610131024B455953016B310254414753015461674102',
  'hex',
)

describe('a record', () => {
  test('of Apache is decoded', () => {
    expect(checkRecord(APACHE_RECORD, 0, APACHE_RECORD.length)).toEqual({
      kind: 'record',
      size: 127,
    })
    expect(decodeRecord(APACHE_RECORD, 0)).toEqual({
      offsetMessageId: 'C0A8010200002A9F0000000000003039',
      topic: 'TopicTest',
      queueId: 1,
      queueOffset: 7,
      commitLogOffset: 12_345,
      sizeBytes: 127,
      flag: 0,
      sysFlag: 0,
      bornTimeMs: 1_700_000_000_000,
      bornHost: { host: '192.168.1.9', port: 50_000 },
      storeTimeMs: 1_700_000_000_005,
      storeHost: { host: '192.168.1.2', port: 10_911 },
      reconsumeTimes: 0,
      preparedTransactionOffset: 0,
      body: Buffer.from('hello'),
      properties: new Map([
        ['a', '1'],
        ['KEYS', 'k1'],
        ['TAGS', 'TagA'],
      ]),
    })
  })

  test('has the bytes of Apache before its checksum', () => {
    const record = sealedRecord(
      {
        topic: Buffer.from('TopicTest'),
        properties: 'a\u00011\u0002KEYS\u0001k1\u0002TAGS\u0001TagA\u0002',
      },
      { queueOffset: 7, commitLogOffset: 12_345, storeTimeMs: 1_700_000_000_005 },
    )
    const expected = Buffer.from(APACHE_RECORD)
    expected.writeInt32BE(127 + CRC_PROPERTY_SIZE_BYTES, 0)
    expected.writeInt16BE(22 + CRC_PROPERTY_SIZE_BYTES, 103)
    expect(record.subarray(0, 127).toString('hex')).toBe(expected.toString('hex'))
    expect(record.toString('latin1', 127, 136)).toBe('__CRC32#\u0001')
    expect(record.length).toBe(147)
  })

  test('ends with the digits of its CRC-32, the least significant first', () => {
    const record = sealedRecord({})
    const crc = crc32(record, 0, record.length - 20) & 0x7fff_ffff
    const digits = String(crc).padStart(10, '0').split('').toReversed().join('')
    expect(record.toString('latin1', record.length - 11)).toBe(`${digits}\u0002`)
  })

  test('gets the separator that its properties lack', () => {
    const without = sealedRecord({ properties: 'KEYS\u0001k' })
    const withSeparator = sealedRecord({ properties: 'KEYS\u0001k\u0002' })
    expect(without.equals(withSeparator)).toBe(true)
    expect(recordProperties(without, 0)).toBe('KEYS\u0001k\u0002')
  })

  test('without properties is checked by its checksum', () => {
    const record = sealedRecord({ properties: '' })
    expect(checkRecord(record, 0, record.length)).toEqual({ kind: 'record', size: record.length })
    expect(recordProperties(record, 0)).toBe('')
  })

  test.each([127, 128, 255])('holds a topic of %i bytes', size => {
    const topic = 't'.repeat(size)
    const record = sealedRecord({ topic: Buffer.from(topic) })
    expect(recordTopic(record, 0)).toBe(topic)
    expect(recordMagic(record, 0)).toBe(size > 127 ? RECORD_MAGIC_V2 : RECORD_MAGIC_V1)
    expect(checkRecord(record, 0, record.length)).toEqual({ kind: 'record', size: record.length })
  })

  test('says by its system flag which hosts are IPv6', () => {
    const bornHost = encodeHost('2001:db8::1', 1)
    const storeHost = encodeHost('::1', 2)
    const record = sealedRecord({ bornHost, storeHost, sysFlag: SYS_FLAG.COMPRESSED })
    expect(recordSysFlag(record, 0)).toBe(0x31)
    const message = decodeRecord(record, 0)
    expect(message.bornHost).toEqual({ host: '2001:db8::1', port: 1 })
    expect(message.storeHost).toEqual({ host: '::1', port: 2 })
    const onlyStoreHost = sealedRecord({ storeHost, sysFlag: SYS_FLAG.BORN_HOST_IPV6 })
    expect(recordSysFlag(onlyStoreHost, 0)).toBe(SYS_FLAG.STORE_HOST_IPV6)
    expect(recordStoreTimeMs(onlyStoreHost, 0)).toBe(1_700_000_000_005)
  })

  test('takes its body from inside a buffer', () => {
    const record = sealedRecord({ body: Buffer.from('<hello>'), bodyStart: 1, bodyEnd: 6 })
    const start = recordBodyStart(record, 0)
    expect(record.toString('utf8', start, recordBodyEnd(record, 0))).toBe('hello')
    expect(recordBodySize(record, 0)).toBe(5)
  })

  test('may be moved and sealed again', () => {
    const record = sealedRecord({})
    const moved = Buffer.alloc(record.length + 64, 0xff)
    record.copy(moved, 64)
    sealRecord(moved, 64, record.length, 8, 99, 1_700_000_000_006)
    expect(checkRecord(moved, 64, moved.length)).toEqual({ kind: 'record', size: record.length })
    expect(decodeRecord(moved, 64)).toMatchObject({
      queueOffset: 8,
      commitLogOffset: 99,
      storeTimeMs: 1_700_000_000_006,
    })
  })

  test('refuses properties that do not fit with the checksum', () => {
    const longest = `a\u0001${'x'.repeat(32_767 - 20 - 3)}\u0002`
    expect(recordProperties(sealedRecord({ properties: longest }), 0)).toBe(longest)
    for (const properties of [`${longest}b`, longest.replace('x', 'ü'), '€'.repeat(32_000)]) {
      const draft = draftOf({ properties })
      const target = Buffer.alloc(recordSizeMax(draft))
      expect(codeOf(() => writeRecord(target, 0, draft))).toBe('PROPERTIES_TOO_LARGE')
    }
    const unterminated = draftOf({ properties: `a\u0001${'x'.repeat(32_767 - 20 - 2)}` })
    const target = Buffer.alloc(recordSizeMax(unterminated))
    expect(codeOf(() => writeRecord(target, 0, unterminated))).toBe('PROPERTIES_TOO_LARGE')
  })

  test('cannot be written where there is too little room', () => {
    const draft = draftOf({})
    const target = Buffer.alloc(recordSizeMax(draft) - 1)
    expect(() => writeRecord(target, 0, draft)).toThrow('the record must fit into the target')
  })

  test('holds 0 for a time that is no safe integer', () => {
    for (const bornTimeMs of [2 ** 63, -(2 ** 63), 2 ** 53, 0.5, Number.NaN, Infinity]) {
      const record = sealedRecord({ bornTimeMs, preparedTransactionOffset: bornTimeMs })
      expect(decodeRecord(record, 0)).toMatchObject({
        bornTimeMs: 0,
        preparedTransactionOffset: 0,
      })
    }
    expect(decodeRecord(sealedRecord({ bornTimeMs: -1 }), 0).bornTimeMs).toBe(-1)
  })

  test('cannot have a body outside of its buffer', () => {
    for (const ends of [{ bodyEnd: 6 }, { bodyStart: 5, bodyEnd: 4 }]) {
      expect(() => sealedRecord(ends)).toThrow('the body must lie in its buffer')
    }
  })

  test('keeps numbers that a client may send in any 32-bit field', () => {
    const record = sealedRecord({ flag: -1, reconsumeTimes: 0x8000_0000, queueId: 2 ** 31 - 1 })
    expect(decodeRecord(record, 0)).toMatchObject({
      flag: -1,
      reconsumeTimes: -(2 ** 31),
      queueId: 2 ** 31 - 1,
    })
  })
})

describe('the body of a pull response', () => {
  test('is decoded to all its messages', () => {
    const second = sealedRecord({ properties: 'TAGS\u0001TagB\u0002' })
    const messages = decodeRecords(Buffer.concat([APACHE_RECORD, second]))
    expect(messages.map(message => message.properties.get('TAGS'))).toEqual(['TagA', 'TagB'])
    expect(decodeRecords(Buffer.alloc(0))).toEqual([])
  })

  test('is refused when a message is cut off or its body is damaged', () => {
    expect(codeOf(() => decodeRecords(APACHE_RECORD.subarray(0, 126)))).toBe('MESSAGE_INVALID')
    expect(codeOf(() => decodeRecords(Buffer.concat([APACHE_RECORD, Buffer.alloc(3)])))).toBe(
      'MESSAGE_INVALID',
    )
    const damaged = Buffer.from(APACHE_RECORD)
    damaged[88] = 0
    expect(codeOf(() => decodeRecords(damaged))).toBe('MESSAGE_INVALID')
  })

  test('is decoded under another topic than the message is stored', () => {
    const record = sealedRecord({ topic: Buffer.from('half') })
    record.write('real', record.indexOf('half'))
    expect(checkRecord(record, 0, record.length).kind).toBe('damaged')
    expect(decodeRecord(record, 0).topic).toBe('real')
  })
})

test('recordSizeMax is close to the size of a record in plain letters', () => {
  const draft = draftOf({ body: Buffer.alloc(1000), bodyStart: 0, bodyEnd: 1000, properties: '' })
  const size = recordSize(sealedRecord(draft), 0)
  expect(recordSizeMax(draft) - size).toBeLessThan(10)
})
