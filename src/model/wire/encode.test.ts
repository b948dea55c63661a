import { expect, test } from 'vitest'
import {
  encodeSendResponse,
  encodeSendResponseFrame,
  SEND_RESPONSE_BYTES_MAX,
  type SendResponse,
} from './encode.ts'

const response: SendResponse = {
  opaque: 9,
  msgId: 'C0A8010200002A9F0000000000003039',
  queueId: 3,
  queueOffset: 12,
  regionId: 'DefaultRegion',
}

function headerOf(frame: Buffer): unknown {
  expect(frame.readInt32BE(0)).toBe(frame.length - 4)
  expect(frame.readInt32BE(4)).toBe(frame.length - 8)
  return JSON.parse(frame.toString('utf8', 8))
}

test('a send response has every field as a string, beside opaque and version', () => {
  const target = Buffer.alloc(2000)
  const end = encodeSendResponse(target, 100, response)
  expect(headerOf(target.subarray(100, end))).toEqual({
    code: 0,
    extFields: {
      MSG_REGION: 'DefaultRegion',
      TRACE_ON: 'true',
      msgId: response.msgId,
      queueId: '3',
      queueOffset: '12',
    },
    flag: 1,
    language: 'JAVA',
    opaque: 9,
    serializeTypeCurrentRPC: 'JSON',
    version: 479,
  })
})

test.each([
  response,
  { ...response, recallHandle: 'djEgVA==' },
  { ...response, recallHandle: 'djEgVA==', transactionId: '7F000001' },
  { ...response, queueOffset: Number.MAX_SAFE_INTEGER, opaque: -2_147_483_648 },
])('both encoders say the same', each => {
  const target = Buffer.alloc(SEND_RESPONSE_BYTES_MAX)
  const end = encodeSendResponse(target, 0, each)
  expect(headerOf(target.subarray(0, end))).toEqual(headerOf(encodeSendResponseFrame(each)))
})

test.each([
  ['a transaction id with a quote', { ...response, transactionId: '"' }],
  ['a region that is not ASCII', { ...response, regionId: 'région' }],
  ['the ids of a large batch', { ...response, msgId: 'x'.repeat(900) }],
])('%s is left to the general encoder', (_, each) => {
  expect(encodeSendResponse(Buffer.alloc(SEND_RESPONSE_BYTES_MAX), 0, each)).toBe(0)
  expect(headerOf(encodeSendResponseFrame(each))).toMatchObject({ opaque: 9 })
})

test('the longest response that is written in place fits into its room', () => {
  const target = Buffer.alloc(SEND_RESPONSE_BYTES_MAX)
  let longest = 0
  for (let length = 500; length < 1000; length++) {
    const long = {
      ...response,
      queueOffset: Number.MAX_SAFE_INTEGER,
      opaque: -2_147_483_648,
      queueId: -1,
    }
    const end = encodeSendResponse(target, 0, {
      ...long,
      msgId: 'x'.repeat(length),
      recallHandle: '',
      transactionId: '',
    })
    if (end > 0) headerOf(target.subarray(0, end))
    longest = Math.max(longest, end)
  }
  expect(longest).toBeGreaterThan(900)
})
