/** What is on disk: commit log, consume queues, manifest; recovery and retention. */
export { delayOffsetPath, hasAbortFile } from './apache-files.ts'
export type { CommitLog } from './commit-log.ts'
export {
  type ConsumeQueue,
  PADDING_SIZE,
  QUEUE_SEGMENT_BYTES,
  UNIT_BYTES,
  type UnitBlock,
} from './consume-queue.ts'
export { countsOf, ManifestFields } from './manifest-fields.ts'
export {
  APACHE_GEOMETRY,
  decodeIndexHeader,
  INDEX_HEADER_BYTES,
  INDEX_HEADER_FIELDS,
  type IndexGeometry,
  type IndexHeader,
  indexFileBytes,
  ITEM_BYTES,
  itemKeyHash,
  itemOffset,
  itemPosition,
  itemPrevious,
  itemSeconds,
  secondsSince,
  SLOT_BYTES,
  slotPosition,
} from './index/index-layout.ts'
export { indexSectionOf, type IndexSection } from './index/index-section.ts'
export { RecordHashes } from './index/record-hashes.ts'
export { MessageIndex, type MessageIndexOptions } from './index/message-index.ts'
export { type MessageQuery, withoutFulfilled } from './index/message-query.ts'
export { type CleanStop, decodeManifest, type Manifest } from './manifest.ts'
export type { QueueRead, QueueReadRequest } from './queue-reader.ts'
export { RECORD_BYTES_MAX } from './record-limit.ts'
export type { RetentionFence } from './retention.ts'
export type { StoreOptions } from './store-options.ts'
export { Store } from './store.ts'
export type {
  AppliedRecord,
  CheckpointParticipant,
  RecordApplier,
  TopicApplier,
} from './topic-applier.ts'
