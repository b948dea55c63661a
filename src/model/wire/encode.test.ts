import { expect, test } from 'vitest'
import { encodeSendResponseFrame, type SendResponse } from './encode.ts'

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
  expect(headerOf(encodeSendResponseFrame(response))).toEqual({
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

test('a send response carries a handle and a transaction id when there are some', () => {
  const frame = encodeSendResponseFrame({
    ...response,
    recallHandle: 'djEgVA==',
    transactionId: '"é',
  })
  expect(headerOf(frame)).toMatchObject({
    extFields: { recallHandle: 'djEgVA==', transactionId: '"é' },
  })
})
