/**
 * Reads single fields of a record that `checkRecord` has found whole. The 64-bit fields lose
 * precision beyond 2^53, which no broker writes but a damaged sender's clock may.
 */
import { readInt32, readInt64Loose } from '../../core/base/index.ts'
import { decodeHost, type Host, IPV4_HOST_SIZE_BYTES, IPV6_HOST_SIZE_BYTES } from './host.ts'
import * as layout from './record-layout.ts'

export function recordSize(source: Buffer, position: number): number {
  return readInt32(source, position + layout.RECORD_SIZE)
}

export function recordMagic(source: Buffer, position: number): number {
  return readInt32(source, position + layout.RECORD_MAGIC)
}

export function recordBodyCrc(source: Buffer, position: number): number {
  return readInt32(source, position + layout.RECORD_BODY_CRC)
}

export function recordQueueId(source: Buffer, position: number): number {
  return readInt32(source, position + layout.RECORD_QUEUE_ID)
}

export function recordFlag(source: Buffer, position: number): number {
  return readInt32(source, position + layout.RECORD_FLAG)
}

export function recordQueueOffset(source: Buffer, position: number): number {
  return readInt64Loose(source, position + layout.RECORD_QUEUE_OFFSET)
}

export function recordCommitLogOffset(source: Buffer, position: number): number {
  return readInt64Loose(source, position + layout.RECORD_COMMIT_LOG_OFFSET)
}

export function recordSysFlag(source: Buffer, position: number): number {
  return readInt32(source, position + layout.RECORD_SYS_FLAG)
}

export function recordBornTimeMs(source: Buffer, position: number): number {
  return readInt64Loose(source, position + layout.RECORD_BORN_TIME)
}

/** A view of 8 or 20 bytes. */
export function recordBornHostBytes(source: Buffer, position: number): Buffer {
  const start = position + layout.RECORD_BORN_HOST
  return source.subarray(start, start + bornHostSize(source, position))
}

export function recordBornHost(source: Buffer, position: number): Host {
  return decodeHost(recordBornHostBytes(source, position))
}

export function recordStoreTimeMs(source: Buffer, position: number): number {
  return readInt64Loose(source, storeTimePosition(source, position))
}

/** A view of 8 or 20 bytes. */
export function recordStoreHostBytes(source: Buffer, position: number): Buffer {
  const start = storeTimePosition(source, position) + layout.STORE_TIME_SIZE_BYTES
  return source.subarray(start, hostsEnd(source, position))
}

export function recordStoreHost(source: Buffer, position: number): Host {
  return decodeHost(recordStoreHostBytes(source, position))
}

export function recordReconsumeTimes(source: Buffer, position: number): number {
  return readInt32(source, hostsEnd(source, position))
}

export function recordPreparedOffset(source: Buffer, position: number): number {
  return readInt64Loose(source, hostsEnd(source, position) + layout.PREPARED_OFFSET_AFTER_HOSTS)
}

export function recordBodySize(source: Buffer, position: number): number {
  return readInt32(source, hostsEnd(source, position) + layout.BODY_SIZE_AFTER_HOSTS)
}

export function recordBodyStart(source: Buffer, position: number): number {
  return hostsEnd(source, position) + layout.BODY_AFTER_HOSTS
}

export function recordBodyEnd(source: Buffer, position: number): number {
  const end = hostsEnd(source, position)
  return end + layout.BODY_AFTER_HOSTS + readInt32(source, end + layout.BODY_SIZE_AFTER_HOSTS)
}

export function recordTopic(source: Buffer, position: number): string {
  const start = topicStart(source, position)
  return source.toString(
    'utf8',
    start,
    start + topicSize(source, start, recordMagic(source, position)),
  )
}

/** The encoded properties without the checksum, as `findProperty` and `parseProperties` take it. */
export function recordProperties(source: Buffer, position: number): string {
  const start = propertiesStart(source, position)
  const end = position + recordSize(source, position)
  const crcSize = hasCrcProperty(source, start, end) ? layout.CRC_PROPERTY_SIZE_BYTES : 0
  return source.toString('utf8', start, end - crcSize)
}

/** Where the properties' bytes begin, after their size. */
export function propertiesStart(source: Buffer, position: number): number {
  const start = topicStart(source, position)
  return start + topicSize(source, start, recordMagic(source, position)) + 2
}

/**
 * True when the record ends with its checksum, as all do that we wrote. Apache leaves it out by
 * default.
 */
export function recordHasChecksum(source: Buffer, position: number): boolean {
  const end = position + recordSize(source, position)
  return hasCrcProperty(source, propertiesStart(source, position), end)
}

/** How many of the bytes that every checksum's property has are at the `end` of these. */
export function crcMarkCount(source: Buffer, end: number): number {
  const start = end - layout.CRC_PROPERTY_SIZE_BYTES
  let count = source[end - 1] === layout.PAIR_END_CODE ? 1 : 0
  for (let index = 0; index < layout.CRC_PROPERTY_START.length; index++) {
    if (source[start + index] === layout.CRC_PROPERTY_START[index]) count++
  }
  return count
}

/** The end of the store host: everything before the body is counted from here. */
export function hostsEnd(source: Buffer, position: number): number {
  const storeHost = storeTimePosition(source, position) + layout.STORE_TIME_SIZE_BYTES
  const ipv6 = (recordSysFlag(source, position) & layout.SYS_FLAG.STORE_HOST_IPV6) !== 0
  return storeHost + (ipv6 ? IPV6_HOST_SIZE_BYTES : IPV4_HOST_SIZE_BYTES)
}

function storeTimePosition(source: Buffer, position: number): number {
  return position + layout.RECORD_BORN_HOST + bornHostSize(source, position)
}

function bornHostSize(source: Buffer, position: number): number {
  const ipv6 = (recordSysFlag(source, position) & layout.SYS_FLAG.BORN_HOST_IPV6) !== 0
  return ipv6 ? IPV6_HOST_SIZE_BYTES : IPV4_HOST_SIZE_BYTES
}

/** Where the topic's bytes begin, after their size. */
function topicStart(source: Buffer, position: number): number {
  const long = recordMagic(source, position) === layout.RECORD_MAGIC_V2
  return recordBodyEnd(source, position) + (long ? 2 : 1)
}

function topicSize(source: Buffer, start: number, magic: number): number {
  return magic === layout.RECORD_MAGIC_V2
    ? source.readInt16BE(start - 2)
    : source.readInt8(start - 1)
}

/** True when properties from `start` to `end` end with the checksum's property. */
function hasCrcProperty(source: Buffer, start: number, end: number): boolean {
  const propertyStart = end - layout.CRC_PROPERTY_SIZE_BYTES
  if (propertyStart < start || crcMarkCount(source, end) < layout.CRC_MARK_COUNT) return false
  // The end of another property's name is not it.
  return propertyStart === start || source[propertyStart - 1] === layout.PAIR_END_CODE
}
