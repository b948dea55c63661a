import { BrokerError } from '../../core/base/index.ts'
import type { FrameView, SerializeType } from './frame-decoder.ts'
import { isNestedDeeper } from './json-depth.ts'
import { parseDialect } from './json-dialect.ts'
import { LANGUAGES } from './language.ts'

/** Arrays and objects inside each other; clients need two. */
const HEADER_DEPTH_MAX = 8

/** Custom fields of a header: no prototype, so that any name is only a name. */
export type ExtFields = Record<string, string>

/** The header of a request or response. See docs/protocol/remoting.md. */
export interface Header {
  /** Request code, or response code in a response. */
  readonly code: number
  /** Name of the sender's language; `undefined` when it is unknown. */
  readonly language: string | undefined
  /** RocketMQ's ordinal of the sender's version; 0 when it did not say. */
  readonly version: number
  /** Matches response to request; chosen by the requester. */
  readonly opaque: number
  /** Bit 0: response; bit 1: one-way. */
  readonly flag: number
  readonly remark: string | undefined
  readonly extFields: ExtFields
  readonly serializeType: SerializeType
}

export const RESPONSE_FLAG = 1
export const ONEWAY_FLAG = 2

/** Longest header that is read, in bytes. Properties escaped in the worst way take 200 KB. */
export const HEADER_BYTES_MAX = 1_048_576

export function isResponse(header: { readonly flag: number }): boolean {
  return (header.flag & RESPONSE_FLAG) !== 0
}

/** A one-way request must never be answered. */
export function isOneway(header: { readonly flag: number }): boolean {
  return (header.flag & ONEWAY_FLAG) !== 0
}

/** Decodes either serialisation. Throws `FRAME_INVALID` when the bytes are no header. */
export function decodeHeader(frame: FrameView): Header {
  const headerBytes = frame.headerEnd - frame.headerStart
  if (headerBytes > HEADER_BYTES_MAX) {
    throw new BrokerError('FRAME_INVALID', { headerBytes, headerBytesMax: HEADER_BYTES_MAX })
  }
  return frame.serializeType === 0 ? decodeJsonHeader(frame) : decodeBinaryHeader(frame)
}

function decodeJsonHeader(frame: FrameView): Header {
  const { buffer, headerStart, headerEnd } = frame
  // `JSON.parse` nests without end, but what walks through its result does not.
  if (isNestedDeeper(buffer, { start: headerStart, end: headerEnd }, HEADER_DEPTH_MAX)) {
    throw new BrokerError('FRAME_INVALID', { jsonDepthMax: HEADER_DEPTH_MAX })
  }
  const text = buffer.toString('utf8', headerStart, headerEnd)
  const json = parseObject(text)
  return {
    code: integer(json, 'code'),
    language: language(json['language']),
    version: integer(json, 'version'),
    opaque: integer(json, 'opaque'),
    flag: integer(json, 'flag'),
    remark: json['remark'] === undefined ? undefined : asText(json['remark']),
    extFields: extFields(json['extFields']),
    serializeType: 0,
  }
}

type JsonObject = Readonly<Record<string, unknown>>

function parseObject(text: string): JsonObject {
  const value = parseText(text)
  if (!isObject(value)) throw new BrokerError('FRAME_INVALID', { header: 'not a JSON object' })
  return value
}

/** Standard JSON mostly; RocketMQ's own reader also takes its dialect, such as zeros in front. */
function parseText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return parseDialectText(text)
  }
}

function parseDialectText(text: string): unknown {
  try {
    return parseDialect(text, { depthMax: HEADER_DEPTH_MAX })
  } catch (error) {
    throw new BrokerError('FRAME_INVALID', { header: 'not JSON' }, error)
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Absent and null count as 0; digits in quotes are taken, as RocketMQ's reader does. */
function integer(json: JsonObject, name: string): number {
  const value = Object.hasOwn(json, name) ? json[name] : undefined
  if (value === undefined || value === null) return 0
  const number = typeof value === 'string' && /^-?\d{1,10}$/.test(value) ? Number(value) : value
  if (typeof number === 'number' && (number | 0) === number) return number
  throw new BrokerError('FRAME_INVALID', { field: name })
}

function language(value: unknown): string | undefined {
  if (value === undefined) return 'JAVA'
  if (typeof value === 'number') return LANGUAGES[value]
  return typeof value === 'string' && LANGUAGES.includes(value) ? value : undefined
}

function asText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return value === null ? undefined : JSON.stringify(value)
}

function extFields(value: unknown): ExtFields {
  const fields = emptyFields()
  if (value === undefined || value === null) return fields
  if (!isObject(value)) throw new BrokerError('FRAME_INVALID', { field: 'extFields' })
  for (const name of Object.keys(value)) {
    const text = asText(value[name])
    if (text !== undefined) fields[name] = text
  }
  return fields
}

/** A fresh object for custom fields, without a prototype. */
function emptyFields(): ExtFields {
  const fields: ExtFields = Object.create(null)
  return fields
}

const BINARY_HEADER_BYTES_MIN = 21

/** Layout: code 2, language 1, version 2, opaque 4, flag 4, remark 4 + n, fields 4 + m. */
function decodeBinaryHeader(frame: FrameView): Header {
  const { buffer, headerStart, headerEnd } = frame
  if (headerEnd - headerStart < BINARY_HEADER_BYTES_MIN) {
    throw new BrokerError('FRAME_INVALID', { headerBytes: headerEnd - headerStart })
  }
  const remarkBytes = buffer.readInt32BE(headerStart + 13)
  const remarkStart = headerStart + 17
  const fieldsStart = remarkStart + remarkBytes + 4
  if (remarkBytes < 0 || fieldsStart > headerEnd) {
    throw new BrokerError('FRAME_INVALID', { remarkBytes })
  }
  const fieldsBytes = buffer.readInt32BE(fieldsStart - 4)
  if (fieldsBytes < 0 || fieldsBytes > headerEnd - fieldsStart) {
    throw new BrokerError('FRAME_INVALID', { extFieldsBytes: fieldsBytes })
  }
  return {
    code: buffer.readInt16BE(headerStart),
    language: LANGUAGES[buffer[headerStart + 2] ?? 0],
    version: buffer.readInt16BE(headerStart + 3),
    opaque: buffer.readInt32BE(headerStart + 5),
    flag: buffer.readInt32BE(headerStart + 9),
    remark:
      remarkBytes === 0
        ? undefined
        : buffer.toString('utf8', remarkStart, remarkStart + remarkBytes),
    extFields: binaryFields(buffer, fieldsStart, fieldsStart + fieldsBytes),
    serializeType: 1,
  }
}

/** An empty name or value means null in this serialisation: such a field is absent. */
function binaryFields(buffer: Buffer, start: number, end: number): ExtFields {
  const fields = emptyFields()
  let position = start
  while (position < end) {
    const nameEnd = fieldEnd(buffer, { position, sizeBytes: 2, end })
    const valueEnd = fieldEnd(buffer, { position: nameEnd, sizeBytes: 4, end })
    if (nameEnd > position + 2 && valueEnd > nameEnd + 4) {
      const name = buffer.toString('utf8', position + 2, nameEnd)
      fields[name] = buffer.toString('utf8', nameEnd + 4, valueEnd)
    }
    position = valueEnd
  }
  return fields
}

function fieldEnd(
  buffer: Buffer,
  at: { readonly position: number; readonly sizeBytes: 2 | 4; readonly end: number },
): number {
  const start = at.position + at.sizeBytes
  if (start > at.end) throw new BrokerError('FRAME_INVALID', { extFields: 'cut short' })
  const bytes =
    at.sizeBytes === 2 ? buffer.readInt16BE(at.position) : buffer.readInt32BE(at.position)
  if (bytes < 0 || bytes > at.end - start) {
    throw new BrokerError('FRAME_INVALID', { extFieldBytes: bytes })
  }
  return start + bytes
}
