import { assert, crc32, readInt64Loose, writeInt64 } from '../../core/base/index.ts'
import { checkRecord } from '../../model/message/index.ts'

/**
 * A waiting message in a file of the timers: a header of 56 bytes, then its accept record exactly
 * as it lies in the commit log. Big-endian. See docs/formats/timer-chunk.md.
 */
export const TIMER_HEADER_BYTES = 56

const AT_SIZE = 0 // int32, header and record
const AT_DELIVER_TIME = 4 // int64, milliseconds since 1970
const AT_TIMER_ID = 12 // int64, commit log offset of the accept record
const AT_KIND = 20 // int8, 1: message
const AT_HEADER_SIZE = 22 // int16, 56
// 24 to 51 are zero: room for the topic's hash, own key, late policy, recurrence, message group.
const AT_CRC = 52 // uint32, of the 52 bytes before it
assert(AT_CRC + 4 === TIMER_HEADER_BYTES, 'the fields must fill the header exactly')

const KIND_MESSAGE = 1

export interface TimerHeader {
  readonly deliverTimeMs: number
  readonly timerId: number
}

/** Writes the header in front of a record of `recordBytes`. */
export function writeTimerHeader(
  target: Buffer,
  position: number,
  header: TimerHeader,
  recordBytes: number,
): void {
  target.fill(0, position, position + TIMER_HEADER_BYTES)
  target.writeInt32BE(TIMER_HEADER_BYTES + recordBytes, position + AT_SIZE)
  writeInt64(target, header.deliverTimeMs, position + AT_DELIVER_TIME)
  writeInt64(target, header.timerId, position + AT_TIMER_ID)
  target.writeInt8(KIND_MESSAGE, position + AT_KIND)
  target.writeInt16BE(TIMER_HEADER_BYTES, position + AT_HEADER_SIZE)
  target.writeUInt32BE(crc32(target, position, position + AT_CRC), position + AT_CRC)
}

export function timerRecordSize(source: Buffer, position: number): number {
  return source.readInt32BE(position + AT_SIZE)
}

/** False is certain: for a search, before the checksum is computed. */
export function looksLikeTimerHeader(source: Buffer, position: number): boolean {
  return (
    source.readInt16BE(position + AT_HEADER_SIZE) === TIMER_HEADER_BYTES &&
    source.readInt8(position + AT_KIND) === KIND_MESSAGE
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
  if (source.readInt8(position + AT_KIND) !== KIND_MESSAGE) {
    return { kind: 'damaged', reason: 'unknown kind', size }
  }
  if (rest < size) return { kind: 'cut', needsBytes: size }
  const check = checkRecord(source, timerRecordStart(position), position + size)
  if (check.kind === 'record' && check.size === size - TIMER_HEADER_BYTES) {
    return { kind: 'record', size }
  }
  return { kind: 'damaged', reason: 'checksum of the record', size }
}
