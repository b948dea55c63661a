import {
  assert,
  BrokerError,
  crc32,
  readInt32,
  writeInt32,
  writeInt64,
} from '../../core/base/index.ts'
import { IPV4_HOST_SIZE_BYTES, IPV6_HOST_SIZE_BYTES } from './host.ts'
import * as layout from './record-layout.ts'

/** What a record is made of. Mutable, so that a caller may use one object for all. */
export interface RecordDraft {
  /** UTF-8, at most 255 bytes. */
  topic: Buffer
  queueId: number
  flag: number
  /** Without the bits for IPv6 hosts, which follow from the hosts. */
  sysFlag: number
  /** The sender's word. What is no safe integer is stored as 0. */
  bornTimeMs: number
  /** 8 or 20 bytes: see `encodeHost`. */
  bornHost: Buffer
  /** 8 or 20 bytes. */
  storeHost: Buffer
  reconsumeTimes: number
  /** The commit log offset of the half message, else 0. What is no safe integer is stored as 0. */
  preparedTransactionOffset: number
  /** Holds the body from `bodyStart` to `bodyEnd`. */
  body: Buffer
  bodyStart: number
  bodyEnd: number
  /** Encoded, without the checksum. The last separator may be missing. */
  properties: string
}

const TOPIC_SIZE_MAX_BYTES = 255
const HOST_FLAGS = layout.SYS_FLAG.BORN_HOST_IPV6 | layout.SYS_FLAG.STORE_HOST_IPV6
/** One more than fits, so that a longer text shows. */
const PROPERTIES_WRITE_MAX_BYTES =
  layout.PROPERTIES_SIZE_MAX_BYTES - layout.CRC_PROPERTY_SIZE_BYTES + 1
/** Sizes of topic and properties, a separator, and room beside the fixed part and the hosts. */
const VARIABLE_OVERHEAD_BYTES = 8

/** The room that `writeRecord` asks for: the size of the record or somewhat more. */
export function recordSizeMax(draft: RecordDraft): number {
  return (
    layout.RECORD_FIXED_SIZE_BYTES +
    draft.bornHost.length +
    draft.storeHost.length +
    (draft.bodyEnd - draft.bodyStart) +
    draft.topic.length +
    propertiesSizeMax(draft.properties) +
    layout.CRC_PROPERTY_SIZE_BYTES +
    VARIABLE_OVERHEAD_BYTES
  )
}

/**
 * Writes the record except what `sealRecord` adds, and returns its size. `target` has room for
 * `recordSizeMax` bytes at `position`.
 *
 * Errors: PROPERTIES_TOO_LARGE, with some bytes of `target` already changed.
 */
export function writeRecord(target: Buffer, position: number, draft: RecordDraft): number {
  assert(position + recordSizeMax(draft) <= target.length, 'the record must fit into the target')
  const bodySize = draft.bodyEnd - draft.bodyStart
  assert(bodySize >= 0 && draft.bodyEnd <= draft.body.length, 'the body must lie in its buffer')
  const longTopic = draft.topic.length > layout.TOPIC_V1_SIZE_MAX_BYTES
  const magic = longTopic ? layout.RECORD_MAGIC_V2 : layout.RECORD_MAGIC_V1
  const bodyCrc = crc32(draft.body, draft.bodyStart, draft.bodyEnd) & layout.CRC_MASK
  writeInt32(target, magic, position + layout.RECORD_MAGIC)
  writeInt32(target, bodyCrc, position + layout.RECORD_BODY_CRC)
  writeInt32(target, draft.queueId | 0, position + layout.RECORD_QUEUE_ID)
  writeInt32(target, draft.flag | 0, position + layout.RECORD_FLAG)
  writeInt32(target, sysFlagOf(draft), position + layout.RECORD_SYS_FLAG)
  writeInt64(target, safeInteger(draft.bornTimeMs), position + layout.RECORD_BORN_TIME)

  let end = writeHost(target, position + layout.RECORD_BORN_HOST, draft.bornHost)
  end = writeHost(target, end + layout.STORE_TIME_SIZE_BYTES, draft.storeHost)
  writeInt32(target, draft.reconsumeTimes | 0, end)
  writeInt64(
    target,
    safeInteger(draft.preparedTransactionOffset),
    end + layout.PREPARED_OFFSET_AFTER_HOSTS,
  )
  writeInt32(target, bodySize, end + layout.BODY_SIZE_AFTER_HOSTS)
  end += layout.BODY_AFTER_HOSTS
  draft.body.copy(target, end, draft.bodyStart, draft.bodyEnd)
  end = writeTopic(target, end + bodySize, draft.topic)
  end = writeProperties(target, end, draft.properties)
  writeInt32(target, end - position, position + layout.RECORD_SIZE)
  return end - position
}

/**
 * Stamps what is known last, and the checksum over it all. May be called again, also after the
 * bytes were moved.
 */
// oxlint-disable-next-line eslint/max-params -- once per message: an object for it would cost
export function sealRecord(
  target: Buffer,
  position: number,
  size: number,
  queueOffset: number,
  commitLogOffset: number,
  storeTimeMs: number,
): void {
  writeInt64(target, queueOffset, position + layout.RECORD_QUEUE_OFFSET)
  writeInt64(target, commitLogOffset, position + layout.RECORD_COMMIT_LOG_OFFSET)
  const sysFlag = readInt32(target, position + layout.RECORD_SYS_FLAG)
  const bornHostIpv6 = (sysFlag & layout.SYS_FLAG.BORN_HOST_IPV6) !== 0
  const bornHostSize = bornHostIpv6 ? IPV6_HOST_SIZE_BYTES : IPV4_HOST_SIZE_BYTES
  writeInt64(target, storeTimeMs, position + layout.RECORD_BORN_HOST + bornHostSize)

  const propertyStart = position + size - layout.CRC_PROPERTY_SIZE_BYTES
  const digitsStart = propertyStart + layout.CRC_PROPERTY_START.length
  let rest = crc32(target, position, propertyStart) & layout.CRC_MASK
  for (let index = 0; index < layout.CRC_DIGIT_COUNT; index++) {
    const quotient = (rest / 10) | 0
    target[digitsStart + index] = 0x30 + rest - quotient * 10
    rest = quotient
  }
}

function propertiesSizeMax(properties: string): number {
  return Math.min(properties.length * 3, PROPERTIES_WRITE_MAX_BYTES)
}

/** A record of another broker that is stored again may hold anything in 64 bits. */
function safeInteger(value: number): number {
  return Number.isSafeInteger(value) ? value : 0
}

function sysFlagOf(draft: RecordDraft): number {
  let sysFlag = draft.sysFlag & ~HOST_FLAGS
  if (draft.bornHost.length === IPV6_HOST_SIZE_BYTES) sysFlag |= layout.SYS_FLAG.BORN_HOST_IPV6
  if (draft.storeHost.length === IPV6_HOST_SIZE_BYTES) sysFlag |= layout.SYS_FLAG.STORE_HOST_IPV6
  return sysFlag
}

function writeHost(target: Buffer, position: number, host: Buffer): number {
  const size = host.length
  assert(size === IPV4_HOST_SIZE_BYTES || size === IPV6_HOST_SIZE_BYTES, 'a host has 8 or 20 bytes')
  copyShort(target, position, host)
  return position + size
}

function writeTopic(target: Buffer, position: number, topic: Buffer): number {
  const size = topic.length
  assert(size > 0 && size <= TOPIC_SIZE_MAX_BYTES, 'a topic has 1 to 255 bytes')
  let start = position + 1
  if (size <= layout.TOPIC_V1_SIZE_MAX_BYTES) {
    target[position] = size
  } else {
    target.writeInt16BE(size, position)
    start = position + 2
  }
  copyShort(target, start, topic)
  return start + size
}

function writeProperties(target: Buffer, position: number, properties: string): number {
  const start = position + 2
  // Each UTF-16 unit takes a byte or more: a longer text is refused before it is written.
  let size = properties.length
  if (size < PROPERTIES_WRITE_MAX_BYTES) {
    size = target.write(properties, start, propertiesSizeMax(properties), 'utf8')
  }
  if (size > 0 && target[start + size - 1] !== layout.PAIR_END_CODE) {
    target[start + size] = layout.PAIR_END_CODE
    size++
  }
  size += layout.CRC_PROPERTY_SIZE_BYTES
  if (size > layout.PROPERTIES_SIZE_MAX_BYTES) {
    throw new BrokerError('PROPERTIES_TOO_LARGE', { sizeBytesMax: PROPERTIES_WRITE_MAX_BYTES - 1 })
  }
  target.writeInt16BE(size, position)
  const end = start + size
  copyShort(target, end - layout.CRC_PROPERTY_SIZE_BYTES, layout.CRC_PROPERTY_START)
  target[end - 1] = layout.PAIR_END_CODE
  return end
}

/** Below about 50 bytes a loop beats the call into native code. */
function copyShort(target: Buffer, position: number, source: Buffer): void {
  for (let index = 0; index < source.length; index++) {
    target[position + index] = source[index] ?? 0
  }
}
