import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { BrokerError } from '../../core/base/index.ts'
import { decodeCheckClient } from './bodies/check-client.ts'
import { decodeHeartbeat } from './bodies/heartbeat.ts'
import { decodeLockBatch } from './bodies/lock-batch.ts'
import { decodeSubscriptionGroupConfig } from './bodies/subscription-group-config.ts'
import { encodeFrame } from './encode.ts'
import { FrameDecoder, FrameView } from './frame-decoder.ts'
import { decodeHeader } from './header.ts'
import { parseDialect } from './json-dialect.ts'
import { SendHeader } from './send-header.ts'
import { scanSendHeader } from './send-header-scanner.ts'

const int32 = fc.integer({ min: -0x8000_0000, max: 0x7fff_ffff })
const text = fc.string({ minLength: 1, unit: 'grapheme', maxLength: 20 })
const requests = fc.record({
  code: fc.integer({ min: 0, max: 0x7fff }),
  opaque: int32,
  flag: fc.integer({ min: 0, max: 3 }),
  remark: fc.option(text, { nil: undefined }),
  extFields: fc.dictionary(text, text, { maxKeys: 8 }),
  language: fc.constantFrom('JAVA', 'GO', 'NODE_JS'),
  version: fc.integer({ min: 0, max: 0x7fff }),
  body: fc.uint8Array({ maxLength: 200 }),
  serializeType: fc.constantFrom<(0 | 1)[]>(0, 1),
})

test('whatever is encoded is decoded again, however it is cut into chunks', () => {
  fc.assert(
    fc.property(
      fc.array(requests, { maxLength: 5 }),
      fc.infiniteStream(fc.nat(300)),
      (sent, cuts) => {
        const bytes = Buffer.concat(sent.map(r => encodeFrame(r, r.body, r.serializeType)))
        const decoder = new FrameDecoder()
        const frame = new FrameView()
        const seen: unknown[] = []
        for (let position = 0; position < bytes.length;) {
          const end = position + 1 + (cuts.next().value ?? 0)
          decoder.push(bytes.subarray(position, end))
          while (decoder.next(frame)) {
            const header = decodeHeader(frame)
            const body = new Uint8Array(frame.buffer.subarray(frame.bodyStart, frame.bodyEnd))
            seen.push({ ...header, extFields: { ...header.extFields }, body })
          }
          position = end
        }
        expect(seen).toEqual(sent.map(r => ({ ...r, extFields: { ...r.extFields } })))
      },
    ),
  )
})

/** Runs the decoders as a door does; anything but a refusal by code is a failure. */
function survives(bytes: Buffer): void {
  const decoder = new FrameDecoder({ frameBytesMax: 1_000_000 })
  const frame = new FrameView()
  const into = new SendHeader()
  try {
    decoder.push(bytes)
    while (decoder.next(frame)) {
      if (!scanSendHeader(frame, into)) decodeHeader(frame)
    }
  } catch (error) {
    expect(error).toBeInstanceOf(BrokerError)
    expect(error).toMatchObject({ code: 'FRAME_INVALID' })
  }
  expect(decoder.carriedBytes).toBeLessThanOrEqual(bytes.length)
}

test('random bytes are refused or wait for more, and nothing else', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), bytes => survives(Buffer.from(bytes))))
})

test('frames with flipped bytes are read or refused, and nothing else', () => {
  const flips = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(requests, flips, (request, changes) => {
      const bytes = encodeFrame(request, request.body, request.serializeType)
      for (const [at, value] of changes) bytes[at % bytes.length] = value
      survives(bytes)
    }),
    { numRuns: 500 },
  )
})

test('the dialect reads every JSON text as JSON.parse does', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), json => {
      expect(JSON.stringify(parseDialect(json))).toBe(JSON.stringify(JSON.parse(json)))
    }),
  )
})

test('the dialect refuses mutated JSON by code or reads it', () => {
  const alphabet = fc.string({
    unit: fc.constantFrom(...Array.from('{}[]:,"\\0a-.et nu')),
    maxLength: 60,
  })
  fc.assert(
    fc.property(alphabet, json => {
      try {
        parseDialect(json)
      } catch (error) {
        expect(error).toMatchObject({ code: 'PARAMETER_INVALID' })
      }
    }),
    { numRuns: 2000 },
  )
})

const nesters = fc.constantFrom(
  ['[', ']'],
  ['[0,', ',"x"]'],
  ['{"a":', '}'],
  ['{a:', '}'],
  ['{"__proto__":', '}'],
  ['{', ':1}'],
  ['{{"queueId":0}:', '}'],
  ['"\\"', '"'],
)
const depths = fc.oneof(fc.nat(40), fc.constantFrom(1000, 5000, 20_000))
/** JSON in which things lie deep inside each other, closed again or not. */
const deepTexts = fc
  .record({
    layers: fc.array(fc.tuple(nesters, depths), { minLength: 1, maxLength: 3 }),
    core: fc.oneof(
      fc.json(),
      fc.constantFrom('', '"a":1', '1e400', '0007', '{"a":1}', '"\\ud800"'),
    ),
    isClosed: fc.boolean(),
  })
  .map(({ layers, core, isClosed }) => {
    const open = layers.map(([[start]], index) => (start ?? '').repeat(layers[index]?.[1] ?? 0))
    const closed = layers.map(([[, end]], index) => (end ?? '').repeat(layers[index]?.[1] ?? 0))
    return open.join('') + core + (isClosed ? closed.toReversed().join('') : '')
  })

test('however deep and odd the JSON of a header is, it is read or refused', () => {
  const places = fc.constantFrom('code', 'opaque', 'language', 'remark', 'extFields', 'x', 'topic')
  fc.assert(
    fc.property(deepTexts, places, (json, place) => {
      const inner = place === 'topic' ? `"extFields":{"topic":${json}}` : `"${place}":${json}`
      survives(frameOf(Buffer.from(`{"code":105,"opaque":1,${inner}}`)))
      survives(frameOf(Buffer.from(json)))
    }),
    { numRuns: 300 },
  )
})

test('however deep and odd the JSON of a body is, it is read or refused', () => {
  const decoders = [
    decodeHeartbeat,
    decodeLockBatch,
    decodeCheckClient,
    decodeSubscriptionGroupConfig,
  ]
  const names = fc.constantFrom('clientID', 'consumerDataSet', 'mqSet', 'attributes', 'groupName')
  fc.assert(
    fc.property(deepTexts, names, (json, name) => {
      for (const decode of decoders) {
        for (const body of [json, `{"${name}":${json}}`, `{"groupName":"g","${name}":${json}}`]) {
          try {
            decode(Buffer.from(body))
          } catch (error) {
            expect(error).toMatchObject({ code: 'PARAMETER_INVALID' })
          }
        }
      }
    }),
    { numRuns: 150 },
  )
})

function frameOf(header: Buffer): Buffer {
  const frame = Buffer.alloc(8 + header.length)
  frame.writeInt32BE(4 + header.length, 0)
  frame.writeInt32BE(header.length, 4)
  frame.set(header, 8)
  return frame
}
