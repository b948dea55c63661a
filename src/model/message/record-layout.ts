/**
 * Where the fields of a record lie. Big-endian. See docs/formats/commit-log.md.
 *
 * What follows the born host moves with its size, what follows the store host with both.
 */
export const RECORD_MAGIC_V1: number = 0xdaa3_20a7 | 0
/** As V1, with two bytes for the topic's size: for topics of more than 127 bytes. */
export const RECORD_MAGIC_V2: number = 0xdaa3_20ab | 0
/** Marks the unused end of a segment. */
export const BLANK_MAGIC: number = 0xcbd4_3194 | 0
/** Size and magic of the unused end. */
export const BLANK_HEADER_SIZE_BYTES = 8

export const RECORD_SIZE = 0 // int32, the whole record
export const RECORD_MAGIC = 4 // int32
export const RECORD_BODY_CRC = 8 // int32, CRC-32 of the body without the top bit
export const RECORD_QUEUE_ID = 12 // int32
export const RECORD_FLAG = 16 // int32, the sender's own
export const RECORD_QUEUE_OFFSET = 20 // int64
export const RECORD_COMMIT_LOG_OFFSET = 28 // int64
export const RECORD_SYS_FLAG = 36 // int32
export const RECORD_BORN_TIME = 40 // int64, ms, by the sender's clock
export const RECORD_BORN_HOST = 48 // 8 or 20 bytes

/** After the born host: store time. */
export const STORE_TIME_SIZE_BYTES = 8
/** After the store host: int32 reconsume times, int64 prepared offset, int32 size of the body. */
export const PREPARED_OFFSET_AFTER_HOSTS = 4
export const BODY_SIZE_AFTER_HOSTS = 12
export const BODY_AFTER_HOSTS = 16

/** No host, body, topic or properties: what every record has beside them. */
export const RECORD_FIXED_SIZE_BYTES = 75
/** A V1 record with IPv4 hosts and nothing else. */
export const RECORD_SIZE_MIN_BYTES = 91

export const TOPIC_V1_SIZE_MAX_BYTES = 127
export const PROPERTIES_SIZE_MAX_BYTES = 32_767

/** `__CRC32#`, 1, ten digits with the least significant first, 2: the end of a record. */
export const CRC_PROPERTY_SIZE_BYTES = 20
export const CRC_PROPERTY_START: Buffer = Buffer.from('__CRC32#\u0001')
export const CRC_DIGIT_COUNT = 10
/** The bytes of the property that are the same in every record. */
export const CRC_MARK_COUNT = 10
export const PAIR_END_CODE = 2

/** Bits of the system flag. */
export const SYS_FLAG = {
  COMPRESSED: 0x1,
  MULTI_TAGS: 0x2,
  TRANSACTION_MASK: 0xc,
  TRANSACTION_PREPARED: 0x4,
  TRANSACTION_COMMIT: 0x8,
  TRANSACTION_ROLLBACK: 0xc,
  BORN_HOST_IPV6: 0x10,
  STORE_HOST_IPV6: 0x20,
  NEED_UNWRAP: 0x40,
  INNER_BATCH: 0x80,
  COMPRESSION_MASK: 0x700,
  COMPRESSION_LZ4: 0x100,
  COMPRESSION_ZSTD: 0x200,
  COMPRESSION_ZLIB: 0x300,
} as const

export const CRC_MASK = 0x7fff_ffff
