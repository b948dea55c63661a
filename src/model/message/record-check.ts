import { crc32 } from '../../core/base/index.ts'
import {
  crcMarkCount,
  hostsEnd,
  propertiesStart,
  recordBodyCrc,
  recordMagic,
  recordSize,
} from './record-fields.ts'
import * as layout from './record-layout.ts'

/** What is wrong with bytes that should be a record. */
export type RecordDamage =
  | 'unknown magic'
  | 'size out of range'
  | 'sizes disagree'
  | 'checksum of the record'
  | 'checksum of the body'
  /** Of a record without checksum: no text ends so, but a write that was cut off does. */
  | 'zeros at the end'

export type RecordCheck =
  | { readonly kind: 'record'; readonly size: number }
  /** The unused end of a segment. Only its header was read: `size` may pass the limit. */
  | { readonly kind: 'blank'; readonly size: number }
  /** Nothing was written here, or fewer than 8 bytes are left. */
  | { readonly kind: 'end' }
  | { readonly kind: 'damaged'; readonly reason: RecordDamage }

/**
 * With so many of its ten fixed bytes the end of a record was the checksum before some of them
 * went bad: the record must not pass as one of Apache's, which have none.
 */
const CRC_MARK_COUNT_MIN = 7

const END: RecordCheck = { kind: 'end' }

/**
 * Looks at the bytes from `position` up to `limit` without trusting them: magic, sizes, then the
 * checksum of the whole record, or that of the body where the writer left no other. A record that
 * passes the limit is damaged. Never throws, never reads past the limit.
 */
export function checkRecord(source: Buffer, position: number, limit: number): RecordCheck {
  const end = Math.min(limit, source.length)
  if (end - position < layout.BLANK_HEADER_SIZE_BYTES) return END
  const size = recordSize(source, position)
  const magic = recordMagic(source, position)
  if (size === 0 && magic === 0) return END
  if (magic === layout.BLANK_MAGIC) {
    if (size < layout.BLANK_HEADER_SIZE_BYTES) return damaged('size out of range')
    return { kind: 'blank', size }
  }
  const damage = layoutDamage(source, position, end) ?? checksumDamage(source, position)
  return damage === undefined ? { kind: 'record', size } : damaged(damage)
}

/** Undefined when a record with sizes that agree lies between `position` and `end`. */
export function layoutDamage(
  source: Buffer,
  position: number,
  end: number,
): RecordDamage | undefined {
  const rest = end - position
  if (rest < layout.RECORD_SIZE_MIN_BYTES) return 'size out of range'
  const size = recordSize(source, position)
  const magic = recordMagic(source, position)
  if (magic !== layout.RECORD_MAGIC_V1 && magic !== layout.RECORD_MAGIC_V2) return 'unknown magic'
  if (size < layout.RECORD_SIZE_MIN_BYTES || size > rest) return 'size out of range'
  return variablePartsFill(source, position, size, magic) ? undefined : 'sizes disagree'
}

/** Undefined when the body has its checksum. An empty one always has. */
export function bodyDamage(source: Buffer, position: number): RecordDamage | undefined {
  const bodySizePosition = hostsEnd(source, position) + layout.BODY_SIZE_AFTER_HOSTS
  const bodySize = source.readInt32BE(bodySizePosition)
  if (bodySize === 0) return undefined
  const start = bodySizePosition + 4
  const actual = crc32(source, start, start + bodySize) & layout.CRC_MASK
  return actual === recordBodyCrc(source, position) ? undefined : 'checksum of the body'
}

/** True when body, topic and properties end exactly where the record ends. */
function variablePartsFill(source: Buffer, position: number, size: number, magic: number): boolean {
  const end = position + size
  const hosts = hostsEnd(source, position)
  const topicSizePosition = hosts + layout.BODY_AFTER_HOSTS
  const topicSizeBytes = magic === layout.RECORD_MAGIC_V2 ? 2 : 1
  const propertiesSizeBytes = 2
  const bodySizeMax = end - topicSizePosition - topicSizeBytes - propertiesSizeBytes
  // IPv6 hosts in a record as short as the shortest one leave less than nothing.
  if (bodySizeMax < 0) return false
  const bodySize = source.readInt32BE(hosts + layout.BODY_SIZE_AFTER_HOSTS)
  if (bodySize < 0 || bodySize > bodySizeMax) return false
  const topicSizeAt = topicSizePosition + bodySize
  const topicSize =
    topicSizeBytes === 2 ? source.readInt16BE(topicSizeAt) : source.readInt8(topicSizeAt)
  const propertiesSize = bodySizeMax - bodySize - topicSize
  if (topicSize < 0 || propertiesSize < 0) return false
  return source.readInt16BE(topicSizeAt + topicSizeBytes + topicSize) === propertiesSize
}

function checksumDamage(source: Buffer, position: number): RecordDamage | undefined {
  const end = position + recordSize(source, position)
  const start = propertiesStart(source, position)
  const checksumEnd = end - layout.CRC_PROPERTY_SIZE_BYTES
  const markCount = checksumEnd < start ? 0 : crcMarkCount(source, end)
  if (markCount < CRC_MARK_COUNT_MIN) {
    const isTorn = end > start && source[end - 1] === 0
    return isTorn ? 'zeros at the end' : bodyDamage(source, position)
  }
  if (markCount < layout.CRC_MARK_COUNT) return 'checksum of the record'
  const actual = crc32(source, position, checksumEnd) & layout.CRC_MASK
  return actual === writtenChecksum(source, end) ? undefined : 'checksum of the record'
}

/** The number in the place of the checksum's digits, -1 when something else is there. */
function writtenChecksum(source: Buffer, end: number): number {
  let value = 0
  for (let position = end - 2; position > end - 2 - layout.CRC_DIGIT_COUNT; position--) {
    const digit = (source[position] ?? 0) - 0x30
    if (digit < 0 || digit > 9) return -1
    value = value * 10 + digit
  }
  return value
}

function damaged(reason: RecordDamage): RecordCheck {
  return { kind: 'damaged', reason }
}
