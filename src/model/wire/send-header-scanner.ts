import { REQUEST_CODE } from './codes.ts'
import type { FrameView } from './frame-decoder.ts'
import { RESPONSE_FLAG } from './header.ts'
import { isSendCode, LONG_NAMES, type SendHeader } from './send-header.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN = 0x7b
const CLOSE = 0x7d
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39
const LETTER_A = 0x61
const BLANK = 0x20
const LOWEST_PRINTED = 0x20
const LOWEST_NOT_ASCII = 0x80

/** What the functions below return instead of a position when the header is unusual. */
const UNUSUAL = -1

/** Fields a to h must be there; bit n stands for the nth letter. */
const REQUIRED_FIELDS = 0xff
const PROPERTIES = 8
/** Any field that is not read: beyond the last letter that is. */
const OTHER_FIELD = 30

/** Members of the header, as bits. */
const CODE = 1
const OPAQUE = 2
const FIELDS = 4
const FLAG = 8
const VERSION = 16
const NEEDED = CODE | OPAQUE | FIELDS

/** So many decimal digits are a safe integer whatever they are. */
const SAFE_DIGITS_MAX = 15

/**
 * Reads the JSON header of a send request (10, 310, 320) into `into` without building an object:
 * the hot path of sending.
 *
 * False means that it is another request, or a send that is written in a way this reader leaves
 * to `decodeHeader` and `sendHeaderFrom` (`extFields` before `code`, values that are not strings,
 * escapes in names, numbers out of range, missing fields, bad JSON): `into` is half filled then.
 * When true, `into` holds exactly what those two would have filled in.
 */
export function scanSendHeader(frame: FrameView, into: SendHeader): boolean {
  if (frame.serializeType !== 0) return false
  const { buffer, headerEnd } = frame
  let position = skipBlanks(frame, frame.headerStart)
  if (buffer[position] !== OPEN) return false
  into.serializeType = 0
  into.flag = 0
  into.version = 0
  let seen = 0
  do {
    const nameStart = skipBlanks(frame, position + 1) + 1
    if (buffer[nameStart - 1] !== QUOTE) return false
    const nameEnd = plainEnd(frame, nameStart)
    if (nameEnd === UNUSUAL) return false
    position = valueStart(frame, nameEnd)
    if (position === UNUSUAL) return false
    const member = memberOf(buffer, nameStart, nameEnd)
    if (member === FIELDS && (seen & (CODE | FIELDS)) !== CODE) return false
    position = scanMember(frame, position, member, into)
    if (position === UNUSUAL) return false
    seen |= member
    position = skipBlanks(frame, position)
  } while (position < headerEnd && buffer[position] === COMMA)
  if (position >= headerEnd || buffer[position] !== CLOSE) return false
  return (seen & NEEDED) === NEEDED && skipBlanks(frame, position + 1) === headerEnd
}

/** Which member of the header a name stands for; 0 for one that does not matter. */
function memberOf(buffer: Buffer, start: number, end: number): number {
  switch (end - start) {
    case 4:
      if (isText(buffer, start, 'code')) return CODE
      return isText(buffer, start, 'flag') ? FLAG : 0
    case 6:
      return isText(buffer, start, 'opaque') ? OPAQUE : 0
    case 7:
      return isText(buffer, start, 'version') ? VERSION : 0
    case 9:
      return isText(buffer, start, 'extFields') ? FIELDS : 0
    default:
      return 0
  }
}

/** Reads the value at `position` into its place; returns the position behind it or `UNUSUAL`. */
function scanMember(frame: FrameView, position: number, member: number, into: SendHeader): number {
  if (member === FIELDS) return scanFields(frame, position, into)
  const isString = frame.buffer[position] === QUOTE
  if (isString) return member === 0 ? stringEnd(frame, position + 1) : UNUSUAL
  const end = numberEnd(frame, position)
  if (end === UNUSUAL) return UNUSUAL
  const value = numberIn(frame.buffer, position, end)
  if ((value | 0) !== value) return UNUSUAL
  switch (member) {
    case CODE:
      into.code = value
      return isSendCode(value) ? end : UNUSUAL
    case OPAQUE:
      into.opaque = value
      return end
    case FLAG:
      into.flag = value
      return (value & RESPONSE_FLAG) === 0 ? end : UNUSUAL
    case VERSION:
      into.version = value
      return end
    default:
      return end
  }
}

/** Reads the object of custom fields; returns the position behind it or `UNUSUAL`. */
function scanFields(frame: FrameView, start: number, into: SendHeader): number {
  const { buffer, headerEnd } = frame
  if (buffer[start] !== OPEN) return UNUSUAL
  into.properties = ''
  into.reconsumeTimes = 0
  into.maxReconsumeTimes = undefined
  into.batch = into.code === REQUEST_CODE.SEND_BATCH_MESSAGE
  const long = into.code === REQUEST_CODE.SEND_MESSAGE
  let seen = 0
  let position = start
  do {
    const nameStart = skipBlanks(frame, position + 1) + 1
    if (buffer[nameStart - 1] !== QUOTE) return UNUSUAL
    const isLetter = buffer[nameStart + 1] === QUOTE
    const nameEnd = isLetter ? nameStart + 1 : plainEnd(frame, nameStart)
    if (nameEnd === UNUSUAL) return UNUSUAL
    position = valueStart(frame, nameEnd)
    if (position === UNUSUAL || buffer[position] !== QUOTE) return UNUSUAL
    let index = OTHER_FIELD
    if (long) index = longIndex(buffer, nameStart, nameEnd)
    else if (isLetter) index = shortIndex(buffer[nameStart] ?? 0)
    if (index === UNUSUAL) return UNUSUAL
    position = scanField(frame, position + 1, index, into)
    if (position === UNUSUAL) return UNUSUAL
    seen |= 1 << index
    position = skipBlanks(frame, position)
  } while (position < headerEnd && buffer[position] === COMMA)
  if (position >= headerEnd || buffer[position] !== CLOSE) return UNUSUAL
  return (seen & REQUIRED_FIELDS) === REQUIRED_FIELDS ? position + 1 : UNUSUAL
}

/** Place of a short name in the alphabet; `OTHER_FIELD` for what is not read. */
function shortIndex(byte: number): number {
  const index = byte - LETTER_A
  if (index >= 0 && index < LONG_NAMES.length) return index
  // A backslash or a byte that is not a character of its own.
  return byte === BACKSLASH || byte < LOWEST_PRINTED || byte >= LOWEST_NOT_ASCII
    ? UNUSUAL
    : OTHER_FIELD
}

function longIndex(buffer: Buffer, start: number, end: number): number {
  for (let index = 0; index < LONG_NAMES.length; index++) {
    const name = LONG_NAMES[index] ?? ''
    if (name.length === end - start && isText(buffer, start, name)) return index
  }
  return OTHER_FIELD
}

/** Reads one field whose value's first byte is at `start`; returns the position behind it. */
function scanField(frame: FrameView, start: number, index: number, into: SendHeader): number {
  switch (index) {
    case 0:
      if (isQuoted(frame, start, into.producerGroup)) return start + into.producerGroup.length + 1
      return scanText(frame, start, index, into)
    case 1:
      if (isQuoted(frame, start, into.topic)) return start + into.topic.length + 1
      return scanText(frame, start, index, into)
    case 2:
    case 10:
    case OTHER_FIELD:
      return stringEnd(frame, start)
    case PROPERTIES:
      return scanProperties(frame, start, into)
    case 12:
      return scanBatch(frame, start, into)
    default:
      return scanNumber(frame, start, index, into)
  }
}

/** True when the string at `start` is `text`; false also when that holds what JSON escapes. */
function isQuoted(frame: FrameView, start: number, text: string): boolean {
  const { buffer, headerEnd } = frame
  const end = start + text.length
  if (end >= headerEnd || buffer[end] !== QUOTE) return false
  for (let index = 0; index < text.length; index++) {
    const byte = buffer[start + index] ?? 0
    if (byte !== text.charCodeAt(index) || byte === QUOTE || byte === BACKSLASH) return false
    if (byte < LOWEST_PRINTED || byte >= LOWEST_NOT_ASCII) return false
  }
  return true
}

function scanText(frame: FrameView, start: number, index: number, into: SendHeader): number {
  const end = plainEnd(frame, start)
  if (end === UNUSUAL) return UNUSUAL
  const text = frame.buffer.toString('latin1', start, end)
  if (index === 0) into.producerGroup = text
  else into.topic = text
  return end + 1
}

/** Reads digits up to a quote; `UNUSUAL` when there is anything else or too much of them. */
function scanNumber(frame: FrameView, start: number, index: number, into: SendHeader): number {
  const { buffer } = frame
  const first = buffer[start] === MINUS ? start + 1 : start
  const last = Math.min(first + SAFE_DIGITS_MAX, frame.headerEnd - 1)
  let value = 0
  let position = first
  while (position < last) {
    const digit = (buffer[position] ?? 0) - ZERO
    if (digit < 0 || digit > 9) break
    value = 10 * value + digit
    position++
  }
  if (position === first || buffer[position] !== QUOTE) return UNUSUAL
  return setNumber(into, index, first === start ? value : 0 - value) ? position + 1 : UNUSUAL
}

function setNumber(into: SendHeader, index: number, value: number): boolean {
  if (index === 6) {
    into.bornTimeMs = value
    return Number.isSafeInteger(value)
  }
  if ((value | 0) !== value) return false
  switch (index) {
    case 3:
      into.defaultTopicQueueNums = value
      return true
    case 4:
      into.queueId = value
      return true
    case 5:
      into.sysFlag = value
      return true
    case 7:
      into.userFlag = value
      return true
    case 9:
      into.reconsumeTimes = value
      return true
    default:
      into.maxReconsumeTimes = value
      return true
  }
}

function scanBatch(frame: FrameView, start: number, into: SendHeader): number {
  const isTrue = isQuoted(frame, start, 'true')
  if (!isTrue && !isQuoted(frame, start, 'false')) return UNUSUAL
  into.batch = isTrue || into.code === REQUEST_CODE.SEND_BATCH_MESSAGE
  return isTrue ? start + 5 : start + 6
}

/** Properties have escapes in every header: the engine's own parser undoes them fastest. */
function scanProperties(frame: FrameView, start: number, into: SendHeader): number {
  const { buffer, headerEnd } = frame
  let end = buffer.indexOf(QUOTE, start)
  while (end !== -1 && isEscaped(buffer, end)) end = buffer.indexOf(QUOTE, end + 1)
  if (end === -1 || end >= headerEnd) return UNUSUAL
  try {
    const text: unknown = JSON.parse(buffer.toString('utf8', start - 1, end + 1))
    if (typeof text !== 'string') return UNUSUAL
    into.properties = text
    return end + 1
  } catch {
    // A bad escape: `decodeHeader` will say so.
    return UNUSUAL
  }
}

/** True when an odd number of backslashes stands before the byte at `position`. */
function isEscaped(buffer: Buffer, position: number): boolean {
  let first = position
  while (buffer[first - 1] === BACKSLASH) first--
  return (position - first) % 2 === 1
}

function skipBlanks(frame: FrameView, start: number): number {
  const { buffer, headerEnd } = frame
  let position = start
  while (position < headerEnd && (buffer[position] ?? 0) <= BLANK) {
    const byte = buffer[position]
    if (byte !== BLANK && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break
    position++
  }
  return position
}

/** From the quote that ends a name to the first byte of its value. */
function valueStart(frame: FrameView, nameEnd: number): number {
  const colon = skipBlanks(frame, nameEnd + 1)
  return frame.buffer[colon] === COLON ? skipBlanks(frame, colon + 1) : UNUSUAL
}

/** Position of the quote that ends a string of ASCII without escapes. */
function plainEnd(frame: FrameView, start: number): number {
  const { buffer, headerEnd } = frame
  for (let position = start; position < headerEnd; position++) {
    const byte = buffer[position] ?? 0
    if (byte === QUOTE) return position
    if (byte < LOWEST_PRINTED || byte >= LOWEST_NOT_ASCII || byte === BACKSLASH) return UNUSUAL
  }
  return UNUSUAL
}

/** Position behind the quote that ends a string of any kind. Escapes are passed, not checked. */
function stringEnd(frame: FrameView, start: number): number {
  const { buffer, headerEnd } = frame
  for (let position = start; position < headerEnd; position++) {
    const byte = buffer[position] ?? 0
    if (byte === QUOTE) return position + 1
    if (byte === BACKSLASH) position++
    else if (byte < LOWEST_PRINTED) return UNUSUAL
  }
  return UNUSUAL
}

/** Position behind a JSON integer. */
function numberEnd(frame: FrameView, start: number): number {
  const { buffer, headerEnd } = frame
  const first = buffer[start] === MINUS ? start + 1 : start
  let position = first
  while (position < headerEnd) {
    const byte = buffer[position] ?? 0
    if (byte < ZERO || byte > NINE) break
    position++
  }
  // JSON knows no leading zeros.
  const bad = position === first || (buffer[first] === ZERO && position > first + 1)
  return bad ? UNUSUAL : position
}

/** The integer that fills `start` to `end`; NaN when it is none or has too many digits. */
function numberIn(buffer: Buffer, start: number, end: number): number {
  const negative = buffer[start] === MINUS
  const first = negative ? start + 1 : start
  if (end === first || end - first > SAFE_DIGITS_MAX) return Number.NaN
  let value = 0
  for (let position = first; position < end; position++) {
    const digit = (buffer[position] ?? 0) - ZERO
    if (digit < 0 || digit > 9) return Number.NaN
    value = 10 * value + digit
  }
  return negative ? 0 - value : value
}

/** True when the bytes from `start` on are those of an ASCII text. */
function isText(buffer: Buffer, start: number, text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    if (buffer[start + index] !== text.charCodeAt(index)) return false
  }
  return true
}
