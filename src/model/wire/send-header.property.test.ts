import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { BrokerError } from '../../core/base/index.ts'
import { FrameView } from './frame-decoder.ts'
import { decodeHeader } from './header.ts'
import { LONG_NAMES, SendHeader, sendHeaderFrom } from './send-header.ts'
import { scanSendHeader } from './send-header-scanner.ts'

function frameOf(json: string): FrameView {
  const frame = new FrameView()
  frame.buffer = Buffer.from(json)
  frame.headerEnd = frame.buffer.length
  frame.bodyStart = frame.headerEnd
  frame.bodyEnd = frame.headerEnd
  return frame
}

/** What the plain way makes of it: the values, or the code of the refusal. */
function plainly(frame: FrameView): SendHeader | string {
  const into = new SendHeader()
  try {
    sendHeaderFrom(decodeHeader(frame), into)
    return into
  } catch (error) {
    if (error instanceof BrokerError) return error.code
    throw error
  }
}

const int32 = fc.integer({ min: -0x8000_0000, max: 0x7fff_ffff })
const numbers = fc
  .oneof({ weight: 200, arbitrary: int32 }, fc.maxSafeInteger(), fc.constantFrom(0, 2 ** 31))
  .map(String)
const words = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom('', 'TopicTest', '%RETRY%g') },
  fc.constantFrom('a"b', 'a\\b', 'naïve', '主题'),
  fc.string({ unit: 'binary', maxLength: 30 }),
)
const properties = fc.oneof(
  words,
  fc.constantFrom(
    'KEYS\u0001k\u0002TAGS\u0001标签\u0002',
    'a\u0001"\u0002',
    'b\u0001\\\u0002',
    '\\',
  ),
)
const values = new Map<number, fc.Arbitrary<unknown>>([
  [0, words],
  [1, words],
  [2, words],
  [8, properties],
  [10, fc.constantFrom('false', 'true')],
  [12, fc.constantFrom<unknown[]>('false', 'true', 'false', 'true', 'TRUE', '', true)],
])

/** Pairs of index and value in any order, sometimes with one left out. */
const fields = fc
  .tuple(...LONG_NAMES.map((_, index) => values.get(index) ?? numbers))
  .chain(all => {
    const pairs = all.map((value, index) => [index, value] as const)
    const minLength = pairs.length
    return fc.oneof(
      { weight: 4, arbitrary: fc.shuffledSubarray(pairs, { minLength }) },
      fc.shuffledSubarray(pairs, { minLength: minLength - 1 }),
    )
  })

const sends = fc.record({
  code: fc.constantFrom(10, 310, 320, 10, 310, 320, 11),
  fields,
  unknown: fc.dictionary(
    fc.constantFrom('bname', 'ns', 'z', 'nsd', 'lo', 'oway', 'é', '"'),
    words,
    { maxKeys: 3 },
  ),
  members: fc.record({
    opaque: int32,
    flag: fc.constantFrom(0, 2, 0, 2, 1),
    version: fc.nat(600),
    language: fc.constantFrom('JAVA', 'GO'),
  }),
  codeFirst: fc.constantFrom(true, true, false),
  indent: fc.constantFrom('', '', ' ', '\t\n'),
})

test('the scanner agrees with the plain way whenever it takes a header', () => {
  let taken = 0
  fc.assert(
    fc.property(sends, send => {
      const name = (index: number): string =>
        send.code === 10 ? (LONG_NAMES[index] ?? '') : String.fromCharCode(97 + index)
      const extFields = {
        ...send.unknown,
        ...Object.fromEntries(send.fields.map(([index, value]) => [name(index), value])),
      }
      const { code, members } = send
      const header = send.codeFirst
        ? { code, ...members, extFields }
        : { ...members, extFields, code }
      const frame = frameOf(JSON.stringify(header, undefined, send.indent))
      const into = new SendHeader()
      if (!scanSendHeader(frame, into)) return
      taken++
      expect(into).toEqual(plainly(frame))
    }),
    { numRuns: 5000 },
  )
  expect(taken).toBeGreaterThan(300)
})

const usual = {
  code: 310,
  extFields: {
    a: 'pg',
    b: 'TopicTest',
    c: 'TBW102',
    d: '4',
    e: '-1',
    f: '0',
    g: '1700000000000',
    h: '7',
    i: 'KEYS\u0001k "1"\u0002TAGS\u0001标签\u0002',
    j: '2',
    k: 'false',
    l: '16',
    m: 'false',
    n: 'broker-a',
  },
  flag: 2,
  language: 'JAVA',
  opaque: 99,
  serializeTypeCurrentRPC: 'JSON',
  version: 479,
}

test('the scanner reads what Java sends', () => {
  const into = new SendHeader()
  expect(scanSendHeader(frameOf(JSON.stringify(usual)), into)).toBe(true)
  expect(into).toMatchObject({
    code: 310,
    opaque: 99,
    flag: 2,
    version: 479,
    serializeType: 0,
    producerGroup: 'pg',
    topic: 'TopicTest',
    defaultTopicQueueNums: 4,
    queueId: -1,
    sysFlag: 0,
    bornTimeMs: 1_700_000_000_000,
    userFlag: 7,
    properties: usual.extFields.i,
    reconsumeTimes: 2,
    maxReconsumeTimes: 16,
    batch: false,
  })
})

test('nothing of an earlier header is left in the next one', () => {
  const into = new SendHeader()
  scanSendHeader(frameOf(JSON.stringify(usual)), into)
  const { i, j, l, m, ...required } = usual.extFields
  expect([i, j, l, m]).toHaveLength(4)
  const next = { code: 310, opaque: 1, extFields: required }
  expect(scanSendHeader(frameOf(JSON.stringify(next)), into)).toBe(true)
  expect(into).toMatchObject({
    properties: '',
    reconsumeTimes: 0,
    flag: 0,
    version: 0,
    batch: false,
  })
  expect(into.maxReconsumeTimes).toBeUndefined()
})

test('the scanner survives any change of a byte and then agrees or passes on', () => {
  const bytes = Buffer.from(JSON.stringify(usual))
  const changes = fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), {
    minLength: 1,
    maxLength: 2,
  })
  fc.assert(
    fc.property(changes, flips => {
      const frame = frameOf('')
      frame.buffer = Buffer.from(bytes)
      frame.headerEnd = bytes.length
      for (const [at, value] of flips) frame.buffer[at] = value
      const into = new SendHeader()
      if (scanSendHeader(frame, into)) {
        const expected = plainly(frame)
        // In strings that it skips, the scanner does not look at what escapes stand for.
        if (expected !== 'FRAME_INVALID') expect(into).toEqual(expected)
      }
    }),
    { numRuns: 3000 },
  )
})

test('a cut header is never taken', () => {
  const json = JSON.stringify(usual)
  const into = new SendHeader()
  for (let length = 0; length < json.length; length++) {
    // The rest of the header follows as if it were the body.
    const frame = frameOf(json)
    frame.headerEnd = Buffer.byteLength(json.slice(0, length))
    expect(scanSendHeader(frame, into)).toBe(false)
  }
})

test.each(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])(
  'a missing field %s is refused by its name',
  letter => {
    const extFields: Record<string, string> = { ...usual.extFields }
    delete extFields[letter]
    const header = decodeHeader(frameOf(JSON.stringify({ ...usual, extFields })))
    const field = LONG_NAMES[letter.charCodeAt(0) - 97]
    expect(() => sendHeaderFrom(header, new SendHeader())).toThrow(
      new BrokerError('PARAMETER_INVALID', { field: field ?? '', problem: 'missing' }),
    )
  },
)
