import {
  assert,
  constant,
  integer,
  maxSafeInteger,
  oneof,
  property,
  record,
  string,
} from 'fast-check'
import { expect, test } from 'vitest'
import { encodeRecallHandle, offsetMessageId } from '../message/index.ts'
import { encodeSendResponseFrame } from './encode.ts'
import { SEND_ANSWER_BYTES_MAX, SendAnswerWriter } from './send-answer.ts'

const HOST_HEX = '7F00000100002A9F'
const writer = new SendAnswerWriter({ regionId: 'Default "Region"', storeHostHex: HOST_HEX })

const words = string({ minLength: 1, maxLength: 200, unit: 'grapheme-ascii' })
const naturals = maxSafeInteger().map(Math.abs)
const handles = record({
  topic: words,
  brokerName: words,
  deliverTimeMs: naturals,
  uniqueKey: oneof(words, string({ unit: 'grapheme' })),
  timerId: naturals,
})
const answers = record({
  opaque: integer(),
  queueId: integer(),
  queueOffset: naturals,
  commitLogOffset: naturals,
  handle: oneof(constant(undefined), handles),
})

test('an answer written in place says what the general encoder says', () => {
  let writtenCount = 0
  const sameAsGeneral = property(answers, integer({ min: 0, max: 100 }), (answer, position) => {
    const target = Buffer.alloc(position + SEND_ANSWER_BYTES_MAX + 1, 0xee)
    const end = writer.write(target, position, answer)
    expect(target[position + SEND_ANSWER_BYTES_MAX]).toBe(0xee)
    if (end === position) {
      expect(answer.handle).toBeDefined()
      return
    }
    writtenCount++
    const { opaque, queueId, queueOffset, commitLogOffset, handle } = answer
    const frame = encodeSendResponseFrame({
      opaque,
      queueId,
      queueOffset,
      regionId: 'Default "Region"',
      msgId: offsetMessageId(HOST_HEX, commitLogOffset),
      recallHandle: handle === undefined ? undefined : encodeRecallHandle(handle),
    })
    const written = target.subarray(position, end)
    expect(written.readInt32BE(0)).toBe(written.length - 4)
    expect(written.readInt32BE(4)).toBe(written.length - 8)
    expect(JSON.parse(written.toString('utf8', 8))).toEqual(JSON.parse(frame.toString('utf8', 8)))
  })
  assert(sameAsGeneral, { numRuns: 1000 })
  expect(writtenCount).toBeGreaterThan(500)
})

test('an answer with an everyday handle is written in place', () => {
  const handle = {
    topic: 'BenchTopic',
    brokerName: 'broker-a',
    deliverTimeMs: 1_767_225_600_000,
    uniqueKey: 'AC1200020ABC18B4AAC200000001',
    timerId: 123_456_789_012,
  }
  const answer = {
    opaque: 7,
    queueId: 3,
    queueOffset: 12,
    commitLogOffset: 123_456_789_012,
    handle,
  }
  const target = Buffer.alloc(SEND_ANSWER_BYTES_MAX)
  const end = writer.write(target, 0, answer)
  expect(target.toString('utf8', 8, end)).toContain(encodeRecallHandle(handle))
})

test.each([
  ['a key that is not ASCII', 'schlüssel'],
  ['a key that is too long', 'k'.repeat(2000)],
])('a handle with %s is left to the general encoder', (_, uniqueKey) => {
  const handle = { topic: 'T', brokerName: 'b', deliverTimeMs: 1, uniqueKey, timerId: 1 }
  const answer = { opaque: 7, queueId: 3, queueOffset: 12, commitLogOffset: 5, handle }
  expect(writer.write(Buffer.alloc(SEND_ANSWER_BYTES_MAX), 0, answer)).toBe(0)
})
