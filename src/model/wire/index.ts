/** RocketMQ's remoting protocol as bytes: frames, headers, codes, JSON bodies. No I/O. */
export { REQUEST_CODE, RESPONSE_CODE, requestCodeName } from './codes.ts'
export {
  encodeFrame,
  encodeSendResponseFrame,
  WIRE_VERSION,
  type HeaderFields,
  type SendResponse,
} from './encode.ts'
export { FrameDecoder, FrameView, type SerializeType } from './frame-decoder.ts'
export {
  decodeHeader,
  isOneway,
  isResponse,
  ONEWAY_FLAG,
  RESPONSE_FLAG,
  type ExtFields,
  type Header,
} from './header.ts'
export { SEND_ANSWER_BYTES_MAX, SendAnswerWriter, type SendAnswer } from './send-answer.ts'
export { SendHeader, sendHeaderFrom } from './send-header.ts'
export { scanSendHeader } from './send-header-scanner.ts'
export {
  parseDialect,
  type DialectLimits,
  type DialectObject,
  type DialectValue,
} from './json-dialect.ts'
export { decodeCheckClient, encodeCheckClient, type CheckClient } from './bodies/check-client.ts'
export { type BodyObject, bodyObject } from './bodies/body-object.ts'
export { decodeClusterInfo, encodeClusterInfo, type ClusterInfo } from './bodies/cluster-info.ts'
export { decodeConsumerList, encodeConsumerList } from './bodies/consumer-list.ts'
export {
  decodeHeartbeat,
  encodeHeartbeat,
  type ConsumerData,
  type ConsumeType,
  type Heartbeat,
  type MessageModel,
} from './bodies/heartbeat.ts'
export { decodeKvTable, encodeKvTable } from './bodies/kv-table.ts'
export {
  decodeLockBatch,
  decodeLockedQueues,
  encodeLockBatch,
  encodeLockedQueues,
  type LockBatch,
} from './bodies/lock-batch.ts'
export type { MessageQueue } from './bodies/message-queue.ts'
export type { SubscriptionData } from './bodies/subscription.ts'
export {
  decodeSubscriptionGroupConfig,
  defaultSubscriptionGroupConfig,
  subscriptionGroupConfigJson,
  type SubscriptionGroupConfig,
} from './bodies/subscription-group-config.ts'
export {
  decodeTopicConfig,
  encodeTopicConfig,
  topicConfigJson,
  type TopicConfig,
  type TopicFilterType,
} from './bodies/topic-config.ts'
export {
  decodeTopicRoute,
  encodeTopicRoute,
  PERM_INHERIT,
  PERM_READ,
  PERM_WRITE,
  type BrokerData,
  type QueueData,
  type TopicRoute,
} from './bodies/topic-route.ts'
export { decodeTopicStats, encodeTopicStats, type QueueStats } from './bodies/topic-stats.ts'
