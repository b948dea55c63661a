import { assert } from '../../core/base/index.ts'
import type { SerializeType } from './frame-decoder.ts'
import { LANGUAGES } from './language.ts'

/** The version that Orrery gives as its own: RocketMQ 5.3.3. Clients gate features on it. */
export const WIRE_VERSION = 479

/** What a frame's header says; see `Header`. */
export interface HeaderFields {
  readonly code: number
  readonly opaque: number
  readonly flag: number
  readonly remark?: string | undefined
  readonly extFields?: Readonly<Record<string, string>> | undefined
  /** `JAVA` unless given. */
  readonly language?: string | undefined
  /** `WIRE_VERSION` unless given. */
  readonly version?: number | undefined
}

const PREFIX_BYTES = 8
const INT16_MAX = 32_767

/**
 * One whole frame in a buffer of its own. `body` is copied.
 *
 * A code that does not fit into the 16 bits of a binary header makes it JSON.
 */
export function encodeFrame(
  header: HeaderFields,
  body?: Uint8Array,
  serializeType: SerializeType = 0,
): Buffer {
  const bodyBytes = body === undefined ? 0 : body.length
  const binary = serializeType === 1 && header.code <= INT16_MAX
  const frame = binary ? binaryFrame(header, bodyBytes) : jsonFrame(header, bodyBytes)
  if (body !== undefined) frame.set(body, frame.length - bodyBytes)
  return frame
}

function jsonFrame(header: HeaderFields, bodyBytes: number): Buffer {
  const text = JSON.stringify({
    code: header.code,
    extFields: header.extFields,
    flag: header.flag,
    language: header.language ?? 'JAVA',
    opaque: header.opaque,
    remark: header.remark,
    serializeTypeCurrentRPC: 'JSON',
    version: header.version ?? WIRE_VERSION,
  })
  const headerBytes = Buffer.byteLength(text)
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + headerBytes + bodyBytes)
  frame.writeInt32BE(4 + headerBytes + bodyBytes, 0)
  frame.writeInt32BE(headerBytes, 4)
  frame.write(text, PREFIX_BYTES)
  return frame
}

function binaryFrame(header: HeaderFields, bodyBytes: number): Buffer {
  const remark = Buffer.from(header.remark ?? '')
  const fields = binaryFields(header.extFields ?? {})
  const headerBytes = 21 + remark.length + fields.length
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + headerBytes + bodyBytes)
  frame.writeInt32BE(4 + headerBytes + bodyBytes, 0)
  frame.writeInt32BE(0x0100_0000 + headerBytes, 4)
  frame.writeInt16BE(header.code, 8)
  frame[10] = Math.max(0, LANGUAGES.indexOf(header.language ?? 'JAVA'))
  frame.writeInt16BE(header.version ?? WIRE_VERSION, 11)
  frame.writeInt32BE(header.opaque, 13)
  frame.writeInt32BE(header.flag, 17)
  frame.writeInt32BE(remark.length, 21)
  frame.set(remark, 25)
  frame.writeInt32BE(fields.length, 25 + remark.length)
  frame.set(fields, 29 + remark.length)
  return frame
}

function binaryFields(fields: Readonly<Record<string, string>>): Buffer {
  const parts: Buffer[] = []
  for (const [name, value] of Object.entries(fields)) {
    const nameBytes = Buffer.byteLength(name)
    assert(nameBytes <= INT16_MAX, 'a field name must fit into an int16')
    const valueBytes = Buffer.byteLength(value)
    const part = Buffer.allocUnsafe(6 + nameBytes + valueBytes)
    part.writeInt16BE(nameBytes, 0)
    part.write(name, 2)
    part.writeInt32BE(valueBytes, 2 + nameBytes)
    part.write(value, 6 + nameBytes)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** What the answer to an accepted send says. */
export interface SendResponse {
  readonly opaque: number
  /** Offset message id; a comma list for a batch. */
  readonly msgId: string
  readonly queueId: number
  /** Of the first message in a batch. */
  readonly queueOffset: number
  readonly transactionId?: string | undefined
  readonly recallHandle?: string | undefined
  readonly regionId: string
}

/** The answer to an accepted send. `SendAnswerWriter` writes the same faster. */
export function encodeSendResponseFrame(
  response: SendResponse,
  serializeType: SerializeType = 0,
): Buffer {
  const extFields: Record<string, string> = {
    MSG_REGION: response.regionId,
    TRACE_ON: 'true',
    msgId: response.msgId,
    queueId: String(response.queueId),
    queueOffset: String(response.queueOffset),
  }
  if (response.recallHandle !== undefined) extFields['recallHandle'] = response.recallHandle
  if (response.transactionId !== undefined) extFields['transactionId'] = response.transactionId
  const header = { code: 0, opaque: response.opaque, flag: 1, extFields }
  return encodeFrame(header, undefined, serializeType)
}
