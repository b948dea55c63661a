/** Messages: the commit log's record, properties, ids, handles, names, batches. Pure, no I/O. */
export { type BatchItem, type BatchMessage, encodeBatch, forEachBatchItem } from './batch.ts'
export { decodeHost, encodeHost, type Host } from './host.ts'
export { javaHash, tagsCodeOf } from './java-hash.ts'
export {
  type OffsetMessageId,
  offsetMessageId,
  parseOffsetMessageId,
  storeHostHex,
  UniqueKeys,
} from './message-id.ts'
export { decodeRecord, decodeRecords, type Message } from './message.ts'
export {
  appendProperty,
  findProperty,
  findPropertyOrEmpty,
  formatProperties,
  hasProperty,
  parseProperties,
  removeProperties,
} from './properties.ts'
export { PROPERTY } from './property-names.ts'
export { decodeRecallHandle, encodeRecallHandle, type RecallHandle } from './recall-handle.ts'
export { realTopicHash } from './real-topic-hash.ts'
export { checkRecord, type RecordCheck, type RecordDamage } from './record-check.ts'
export {
  propertiesStart,
  recordBodyEnd,
  recordBodySize,
  recordBodyStart,
  recordBornHostBytes,
  recordBornTimeMs,
  recordCommitLogOffset,
  recordFlag,
  recordHasChecksum,
  recordMagic,
  recordProperties,
  recordQueueId,
  recordQueueOffset,
  recordReconsumeTimes,
  recordSize,
  recordStoreHostBytes,
  recordStoreTimeMs,
  recordSysFlag,
  recordTopic,
} from './record-fields.ts'
export {
  BLANK_MAGIC,
  CRC_PROPERTY_SIZE_BYTES,
  PROPERTIES_SIZE_MAX_BYTES,
  RECORD_COMMIT_LOG_OFFSET,
  RECORD_MAGIC_V1,
  RECORD_MAGIC_V2,
  RECORD_SIZE_MIN_BYTES,
  SYS_FLAG,
} from './record-layout.ts'
export { type RecordDraft, recordSizeMax, sealRecord, writeRecord } from './record.ts'
export {
  APACHE_TIMER_TOPIC,
  AUTO_CREATE_TOPIC,
  BENCHMARK_TOPIC,
  CHECKPOINT_TOPIC,
  checkGroupName,
  checkTopicName,
  deadLetterTopic,
  groupOfTopic,
  isAcceptQueue,
  isReservedForSending,
  isRetryTopic,
  isSystemGroup,
  isSystemTopic,
  OFFSET_MOVED_TOPIC,
  retryTopic,
  SCHEDULE_TOPIC,
  SELF_TEST_GROUP,
  SELF_TEST_TOPIC,
  TIMER_ACCEPT_QUEUE,
  TIMER_BULK_QUEUE,
  TIMER_CANCEL_QUEUE,
  TIMER_DROP_QUEUE,
  TIMER_KEY_QUEUE,
  TIMER_MOVE_QUEUE,
  TIMER_TOPIC,
  TOOLS_GROUP,
  TRACE_TOPIC,
  TRANSACTION_GIVEN_UP_TOPIC,
  TRANSACTION_GROUP,
  TRANSACTION_HALF_TOPIC,
  TRANSACTION_OP_TOPIC,
} from './topic-names.ts'
