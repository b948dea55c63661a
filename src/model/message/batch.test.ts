import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { codeOf } from './testing.ts'
import { type BatchMessage, encodeBatch, forEachBatchItem } from './index.ts'

const ITEM = Buffer.from(
  '000000350000000000000000000000000000000568656C6C6F001A4B455953016B0257414954017472756502544147530174616702',
  'hex',
)
const MESSAGE: BatchMessage = {
  flag: 0,
  body: Buffer.from('hello'),
  properties: 'KEYS\u0001k\u0002WAIT\u0001true\u0002TAGS\u0001tag\u0002',
}

function decoded(body: Buffer, start = 0, end: number = body.length): BatchMessage[] {
  const messages: BatchMessage[] = []
  const count = forEachBatchItem(body, start, end, item => {
    const copy = Buffer.from(body.subarray(item.bodyStart, item.bodyEnd))
    messages.push({ flag: item.flag, body: copy, properties: item.properties })
  })
  expect(count).toBe(messages.length)
  return messages
}

describe('a batch', () => {
  test('of one message has the bytes of Apache', () => {
    expect(encodeBatch([MESSAGE]).toString('hex')).toBe(ITEM.toString('hex'))
    expect(decoded(ITEM)).toEqual([MESSAGE])
  })

  test('may lie inside other bytes, and magic and CRC of its items do not count', () => {
    const around = Buffer.concat([Buffer.alloc(3, 1), ITEM, ITEM, Buffer.alloc(3, 1)])
    around.fill(0xff, 3 + 4, 3 + 12)
    expect(decoded(around, 3, around.length - 3)).toEqual([MESSAGE, MESSAGE])
  })

  test('is decoded to what went in', () => {
    const message = fc.record({
      flag: fc.integer(),
      body: fc.uint8Array().map(bytes => Buffer.from(bytes)),
      properties: fc.string({ unit: 'grapheme' }),
    })
    fc.assert(
      fc.property(fc.array(message, { minLength: 1 }), messages => {
        expect(decoded(encodeBatch(messages))).toEqual(messages)
      }),
    )
  })

  test('cannot be made of properties that are too long', () => {
    const properties = 'x'.repeat(32_768)
    expect(codeOf(() => encodeBatch([{ ...MESSAGE, properties }]))).toBe('PROPERTIES_TOO_LARGE')
    const longest = { ...MESSAGE, properties: properties.slice(1) }
    expect(decoded(encodeBatch([longest]))).toEqual([longest])
  })
})

describe('what is not a batch is refused', () => {
  test('when it is empty', () => {
    expect(codeOf(() => decoded(Buffer.alloc(0)))).toBe('MESSAGE_INVALID')
  })

  test.each([
    ['item', 0],
    ['body', 16],
  ])('when the size of an %s is wrong', (_name, position) => {
    for (const size of [-1, 0, 1, 21, 0x34, 0x36, 0x7fff_ffff, -0x8000_0000]) {
      const body = Buffer.concat([ITEM, ITEM])
      body.writeInt32BE(size, position)
      expect(codeOf(() => decoded(body))).toBe('MESSAGE_INVALID')
    }
  })

  test('before any message of it was visited', () => {
    let visited = 0
    const cut = Buffer.concat([ITEM, ITEM]).subarray(0, -1)
    expect(codeOf(() => forEachBatchItem(cut, 0, cut.length, () => visited++))).toBe(
      'MESSAGE_INVALID',
    )
    expect(visited).toBe(0)
  })

  test('or decoded, whatever the bytes, and within them', () => {
    const changes = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })))
    const sources = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.from(bytes)),
      changes.map(list => {
        const body = Buffer.concat([ITEM, ITEM])
        for (const [at, value] of list) body[at % body.length] = value
        return body
      }),
    )
    fc.assert(
      fc.property(sources, fc.nat(110), (body, cut) => {
        const end = Math.max(0, body.length - cut)
        const code = codeOf(() =>
          forEachBatchItem(body, 0, end, item => {
            expect(item.bodyStart).toBeLessThanOrEqual(item.bodyEnd)
            expect(item.bodyEnd).toBeLessThan(end)
          }),
        )
        expect([undefined, 'MESSAGE_INVALID']).toContain(code)
      }),
      { numRuns: 2000 },
    )
  })
})
