import { expect, test } from 'vitest'
import { BrokerError } from '../../core/base/index.ts'
import { encodeFrame } from './encode.ts'
import { FrameDecoder, FrameView } from './frame-decoder.ts'
import { decodeHeader, type Header, isOneway, isResponse } from './header.ts'

function frameOf(bytes: Buffer): FrameView {
  const decoder = new FrameDecoder()
  const frame = new FrameView()
  decoder.push(bytes)
  expect(decoder.next(frame)).toBe(true)
  return frame
}

function frameWith(header: Buffer, serializeType: number): FrameView {
  const bytes = Buffer.alloc(8 + header.length)
  bytes.writeInt32BE(4 + header.length, 0)
  bytes.writeUInt32BE(serializeType * 0x100_0000 + header.length, 4)
  bytes.set(header, 8)
  return frameOf(bytes)
}

function decodeJson(json: string): Header {
  return decodeHeader(frameWith(Buffer.from(json), 0))
}

function refusal(header: Buffer, serializeType: number): unknown {
  try {
    decodeHeader(frameWith(header, serializeType))
  } catch (error) {
    return error instanceof BrokerError ? error.code : error
  }
  return undefined
}

test('a request as Java writes it is read', () => {
  const header = decodeJson(
    '{"code":310,"extFields":{"a":"pg","b":"T"},"flag":0,"language":"JAVA","opaque":7,"serializeTypeCurrentRPC":"JSON","version":479}',
  )
  expect({ ...header, extFields: { ...header.extFields } }).toEqual({
    code: 310,
    language: 'JAVA',
    version: 479,
    opaque: 7,
    flag: 0,
    remark: undefined,
    extFields: { a: 'pg', b: 'T' },
    serializeType: 0,
  })
})

test('numbers and booleans among the fields become strings, null becomes absent', () => {
  const header = decodeJson(
    '{"code":11,"extFields":{"queueId":3,"lo":false,"ns":null,"x":{"y":[1]}}}',
  )
  expect({ ...header.extFields }).toEqual({ queueId: '3', lo: 'false', x: '{"y":[1]}' })
})

test('zeros in front of a number are taken, as RocketMQ takes them', () => {
  expect(decodeJson('{"code":310,"flag":0,"opaque":0000000077,"version":479}').opaque).toBe(77)
})

test('what may be missing has its default', () => {
  const header = decodeJson('{"code":34,"remark":null,"unknown":{"a":[]}}')
  expect([header.language, header.version, header.opaque, header.remark]).toEqual([
    'JAVA',
    0,
    0,
    undefined,
  ])
})

test('a language may be a number or unknown', () => {
  expect(decodeJson('{"code":1,"language":9}').language).toBe('GO')
  expect(decodeJson('{"code":1,"language":"COBOL"}').language).toBeUndefined()
})

test('a field called __proto__ is only a field', () => {
  const header = decodeJson('{"code":1,"extFields":{"__proto__":"x"}}')
  expect(Object.keys(header.extFields)).toEqual(['__proto__'])
  expect(header.extFields['toString']).toBeUndefined()
})

test('the frame with a binary header has the bytes of the protocol reference', () => {
  const extFields = { queueId: '3', committed: 'true', topic: 'T' }
  const frame = encodeFrame(
    { code: 30, opaque: 1, flag: 0, extFields },
    Buffer.from('0102', 'hex'),
    1,
  )
  expect(frame.toString('hex').toUpperCase()).toBe(
    '0000004801000042' +
      '001E0001DF00000001000000000000000' +
      '00000002D' +
      '00077175657565496400000001330009636F6D6D697474656400000004747275650005746F7069630000000154' +
      '0102',
  )
  expect(decodeHeader(frameOf(frame))).toMatchObject({
    code: 30,
    version: 479,
    opaque: 1,
    language: 'JAVA',
  })
})

test('the lengths before a JSON header count as in the protocol reference', () => {
  const bare = encodeFrame({ code: 1, opaque: 0, flag: 1, remark: '' })
  const remark = 'x'.repeat(0x11b - (bare.length - 8))
  const frame = encodeFrame({ code: 1, opaque: 0, flag: 1, remark }, Buffer.from('hello'))
  expect(frame.length).toBe(296)
  expect(frame.toString('hex', 0, 8)).toBe('000001240000011b')
})

test('a code beyond 16 bits makes a JSON header', () => {
  const frame = frameOf(encodeFrame({ code: 200_050, opaque: 1, flag: 0 }, undefined, 1))
  expect(frame.serializeType).toBe(0)
  expect(decodeHeader(frame).code).toBe(200_050)
})

test('flags tell responses and one-way requests', () => {
  expect([isResponse({ flag: 1 }), isOneway({ flag: 1 })]).toEqual([true, false])
  expect([isResponse({ flag: 2 }), isOneway({ flag: 2 })]).toEqual([false, true])
})

test.each(['code', 'remark', 'extFields', 'language', 'unknown'])(
  'what is nested thousands deep in %s is refused, not walked through',
  name => {
    for (const depth of [9, 5000, 400_000]) {
      const value = `${'['.repeat(depth)}${']'.repeat(depth)}`
      const inside = name === 'extFields' ? `{"topic":${value}}` : value
      expect(refusal(Buffer.from(`{"opaque":1,"${name}":${inside}}`), 0)).toBe('FRAME_INVALID')
    }
  },
)

test('brackets in texts do not nest, and eight levels are taken', () => {
  const text = '[{'.repeat(5000)
  const json = JSON.stringify({ code: 1, remark: `\\" ${text}`, extFields: { x: [[[[[[]]]]]] } })
  expect(decodeJson(json).extFields['x']).toBe('[[[[[[]]]]]]')
  expect(decodeJson(json).remark).toBe(`\\" ${text}`)
})

test.each([
  '',
  '[]',
  '{',
  '{"code":1.5}',
  '{"code":"x"}',
  '{"opaque":3000000000}',
  '{"extFields":[]}',
])('the JSON header %j is refused', json => {
  expect(refusal(Buffer.from(json), 0)).toBe('FRAME_INVALID')
})

test.each([
  ['cut short', '001e0001df0000000100000000000000000000'],
  ['with a negative remark', '001e0001df0000000100000000ffffffff00000000'],
  ['with a remark beyond its end', '001e0001df0000000100000000000000ff00000000'],
  ['with fields beyond its end', '001e0001df00000001000000000000000000000001'],
  ['with a field cut short', '001e0001df000000010000000000000000000000050001610000'],
  ['with a value beyond its end', '001e0001df0000000100000000000000000000000700016100000001'],
])('a binary header %s is refused', (_, bytes) => {
  expect(refusal(Buffer.from(bytes, 'hex'), 1)).toBe('FRAME_INVALID')
})

test('a header beyond its limit is refused before it is parsed', () => {
  expect(refusal(Buffer.alloc(1_048_577, '['), 0)).toBe('FRAME_INVALID')
})
