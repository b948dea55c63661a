import {
  assert,
  crc32,
  readInt32,
  readInt64Loose,
  writeInt32,
  writeInt64,
} from '../../core/base/index.ts'
import { checkRecord } from '../../model/message/index.ts'

/**
 * A waiting message in a file of the timers: a header of 56 bytes, then its accept record exactly
 * as it lies in the commit log. A cancelled one that was moved by a split is a header only.
 * Big-endian. See docs/formats/timer-chunk.md.
 */
export const TIMER_HEADER_BYTES = 56

const AT_SIZE = 0 // int32, header and record
const AT_DELIVER_TIME = 4 // int64, milliseconds since 1970
const AT_TIMER_ID = 12 // int64, commit log offset of the accept record
const AT_KIND = 20 // int8, 1: message, 2: header of a cancelled one
const AT_HEADER_SIZE = 22 // int16, 56
const AT_ROOM = 24 // to 47, zero: room for the topic's hash, own key, late policy, recurrence, message group.
const AT_CRC = 48 // uint32, of the 48 bytes before it
const AT_MARK = 52 // uint8, 0: waits, 255: cancelled, 240: moved; written over in place, so under no checksum
// 53 to 55 are zero.
assert(AT_MARK + 4 === TIMER_HEADER_BYTES, 'the fields must fill the header exactly')

const KIND_MESSAGE = 1
const KIND_CANCELLED = 2
/** Each four bits from every other: one that has gone bad changes nothing. */
const MARKS = { waits: 0x00, cancelled: 0xff, moved: 0xf0 } as const

/** Whether a message waits where it lies, and if not, why. */
export type TimerMark = keyof typeof MARKS
/** Why a message does not wait any more where it lies, other than that it was delivered. */
export type Removal = Exclude<TimerMark, 'waits'>

export interface TimerHeader {
  readonly deliverTimeMs: number
  readonly timerId: number
}

/** Writes the header in front of a record of `recordBytes`, or, with 0, that of a cancelled one. */
export function writeTimerHeader(
  target: Buffer,
  position: number,
  header: TimerHeader,
  recordBytes: number,
): void {
  writeInt32(target, TIMER_HEADER_BYTES + recordBytes, position + AT_SIZE)
  writeInt64(target, header.deliverTimeMs, position + AT_DELIVER_TIME)
  writeInt64(target, header.timerId, position + AT_TIMER_ID)
  const kind = recordBytes === 0 ? KIND_CANCELLED : KIND_MESSAGE
  // Byte 21 between kind and size is zero.
  writeInt32(target, (kind << 24) | TIMER_HEADER_BYTES, position + AT_KIND)
  // A native `fill` takes longer for so few.
  for (let index = AT_ROOM; index < AT_CRC; index++) target[position + index] = 0
  writeInt32(target, crc32(target, position, position + AT_CRC), position + AT_CRC)
  const mark = recordBytes === 0 ? MARKS.cancelled : MARKS.waits
  writeInt32(target, mark << 24, position + AT_MARK)
}

/** Where the mark of a timer record lies that begins at `position`. */
export function timerMarkPosition(position: number): number {
  return position + AT_MARK
}

/** The byte that is written there. */
export function timerMarkByte(mark: TimerMark): number {
  return MARKS[mark]
}

/** False when a bit of the mark, or of the zeros behind it, has gone bad. The message is served. */
export function isMarkSound(source: Buffer, position: number): boolean {
  const rest = readInt32(source, position + AT_MARK) & 0xff_ffff
  return rest === 0 && MARKS[timerMark(source, position)] === source[position + AT_MARK]
}

export function timerMark(source: Buffer, position: number): TimerMark {
  const byte = source[position + AT_MARK] ?? 0
  if (source[position + AT_KIND] === KIND_CANCELLED) return 'cancelled'
  if (byte === 0) return 'waits'
  if (differingBits(byte, MARKS.cancelled) <= 1) return 'cancelled'
  return differingBits(byte, MARKS.moved) <= 1 ? 'moved' : 'waits'
}

export function timerRecordSize(source: Buffer, position: number): number {
  return readInt32(source, position + AT_SIZE)
}

/** False is certain: for a search, before the checksum is computed. */
export function looksLikeTimerHeader(source: Buffer, position: number): boolean {
  return (
    source.readInt16BE(position + AT_HEADER_SIZE) === TIMER_HEADER_BYTES &&
    isKnown(source[position + AT_KIND])
  )
}

export function timerDeliverTimeMs(source: Buffer, position: number): number {
  return readInt64Loose(source, position + AT_DELIVER_TIME)
}

export function timerIdOf(source: Buffer, position: number): number {
  return readInt64Loose(source, position + AT_TIMER_ID)
}

/** Where the accept record begins. */
export function timerRecordStart(position: number): number {
  return position + TIMER_HEADER_BYTES
}

export type TimerRecordCheck =
  | { readonly kind: 'record'; readonly size: number }
  /** The rest of the record lies behind `limit`; it needs this many bytes. */
  | { readonly kind: 'cut'; readonly needsBytes: number }
  | { readonly kind: 'damaged'; readonly reason: string; readonly size: number | undefined }

/** Looks at bytes from a file without trusting them. Never reads past `limit`. */
export function checkTimerRecord(
  source: Buffer,
  position: number,
  limit: number,
): TimerRecordCheck {
  const rest = limit - position
  if (rest < TIMER_HEADER_BYTES) return { kind: 'cut', needsBytes: TIMER_HEADER_BYTES }
  if (source.readUInt32BE(position + AT_CRC) !== crc32(source, position, position + AT_CRC)) {
    return { kind: 'damaged', reason: 'checksum of the header', size: undefined }
  }
  const size = timerRecordSize(source, position)
  if (!isKnown(source[position + AT_KIND])) {
    return { kind: 'damaged', reason: 'unknown kind', size }
  }
  if (size === TIMER_HEADER_BYTES) return { kind: 'record', size }
  if (rest < size) return { kind: 'cut', needsBytes: size }
  const check = checkRecord(source, timerRecordStart(position), position + size)
  if (check.kind === 'record' && check.size === size - TIMER_HEADER_BYTES) {
    return { kind: 'record', size }
  }
  return { kind: 'damaged', reason: 'checksum of the record', size }
}

function isKnown(kind: number | undefined): boolean {
  return kind === KIND_MESSAGE || kind === KIND_CANCELLED
}

function differingBits(byte: number, other: number): number {
  let count = 0
  for (let rest = byte ^ other; rest !== 0; rest >>>= 1) count += rest & 1
  return count
}
