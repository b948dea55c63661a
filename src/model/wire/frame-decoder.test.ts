import { expect, test } from 'vitest'
import { BrokerError } from '../../core/base/index.ts'
import { encodeFrame } from './encode.ts'
import { FrameDecoder, FrameView } from './frame-decoder.ts'

function framesOf(decoder: FrameDecoder, chunk: Buffer): string[] {
  const frame = new FrameView()
  const bodies: string[] = []
  decoder.push(chunk)
  while (decoder.next(frame))
    bodies.push(frame.buffer.toString('utf8', frame.bodyStart, frame.bodyEnd))
  return bodies
}

function refusal(bytes: string, decoder = new FrameDecoder()): unknown {
  decoder.push(Buffer.from(bytes, 'hex'))
  try {
    decoder.next(new FrameView())
  } catch (error) {
    return error instanceof BrokerError ? error.code : error
  }
  return undefined
}

const header = { code: 34, opaque: 1, flag: 0 }

test('a frame inside one chunk is a view on that chunk', () => {
  const chunk = encodeFrame(header, Buffer.from('hello'))
  const decoder = new FrameDecoder()
  const frame = new FrameView()
  decoder.push(chunk)
  expect(decoder.next(frame)).toBe(true)
  expect(frame.buffer).toBe(chunk)
  expect([frame.headerStart, frame.bodyEnd]).toEqual([8, chunk.length])
  expect(decoder.next(frame)).toBe(false)
})

test('frames that arrive byte by byte come out whole', () => {
  const decoder = new FrameDecoder()
  const bytes = Buffer.concat(
    ['one', '', 'three'].map(body => encodeFrame(header, Buffer.from(body))),
  )
  const bodies = Array.from(bytes, byte => framesOf(decoder, Buffer.from([byte]))).flat()
  expect(bodies).toEqual(['one', '', 'three'])
  expect(decoder.carriedBytes).toBe(0)
})

test('a claimed length takes no memory before the bytes arrive', () => {
  const decoder = new FrameDecoder()
  const claim = Buffer.from('00fffffc00000010', 'hex')
  expect(framesOf(decoder, claim)).toEqual([])
  expect(decoder.carriedBytes).toBe(8)
})

test('a view stays as it is while later frames are decoded', () => {
  const decoder = new FrameDecoder()
  const first = encodeFrame(header, Buffer.from('first'))
  const second = encodeFrame(header, Buffer.from('other'))
  framesOf(decoder, first.subarray(0, 10))
  const frame = new FrameView()
  decoder.push(Buffer.concat([first.subarray(10), second.subarray(0, 20)]))
  expect(decoder.next(frame)).toBe(true)
  const kept = frame.buffer.subarray(frame.bodyStart, frame.bodyEnd)
  expect(decoder.next(frame)).toBe(false)
  expect(framesOf(decoder, second.subarray(20))).toEqual(['other'])
  expect(kept.toString()).toBe('first')
})

test('a frame of exactly the limit passes and one byte more is refused', () => {
  const limits = { frameBytesMax: 64 }
  const fits = Buffer.alloc(64)
  fits.writeInt32BE(60, 0)
  expect(framesOf(new FrameDecoder(limits), fits)).toHaveLength(1)
  expect(refusal('0000003d', new FrameDecoder(limits))).toBe('FRAME_INVALID')
})

test.each([
  ['a negative length', 'ffffffff'],
  ['a length without room for the header length', '00000003'],
  ['text of another protocol', Buffer.from('GET / HTTP/1.1').toString('hex')],
  ['a header longer than the frame', '0000000800000005'],
  ['an unknown serialisation', '0000000802000000'],
])('%s is refused', (_, bytes) => {
  expect(refusal(bytes)).toBe('FRAME_INVALID')
})

test('a refused stream stays refused', () => {
  const decoder = new FrameDecoder()
  expect(refusal('00', decoder)).toBeUndefined()
  expect(refusal('000000', decoder)).toBe('FRAME_INVALID')
  expect(refusal('0000000400000000', decoder)).toBe('FRAME_INVALID')
})

test('a reader may stop between frames and go on after the chunk has been written over', () => {
  const texts = Array.from({ length: 40 }, (_, index) => `frame ${index}`)
  const bytes = Buffer.concat(texts.map(text => encodeFrame(header, Buffer.from(text))))
  const decoder = new FrameDecoder()
  const frame = new FrameView()
  const seen: string[] = []
  const take = (countMax: number): void => {
    for (let count = 0; count < countMax && decoder.next(frame); count++) {
      seen.push(frame.buffer.toString('utf8', frame.bodyStart, frame.bodyEnd))
    }
    if (decoder.hasRest) decoder.keepRest()
  }
  const shared = Buffer.alloc(1000)
  for (let position = 0; position < bytes.length; position += shared.length) {
    const part = bytes.subarray(position, position + shared.length)
    part.copy(shared)
    decoder.push(shared.subarray(0, part.length))
    take(3)
    shared.fill(0xff)
    expect(decoder.carriedBytes).toBeGreaterThan(0)
  }
  while (decoder.hasRest) take(2)
  expect(seen).toEqual(texts)
  expect(decoder.carriedBytes).toBe(0)
})
