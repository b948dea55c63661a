/** What the broker does with messages: topics, groups, put, pull, offsets, clients, statistics. */
export {
  CLIENT_EXPIRY_MS,
  ClientRegistry,
  type ClientChannel,
  type ClientHeartbeat,
  type GroupListener,
} from './clients.ts'
export {
  ConsumerGroup,
  type ConsumerHeartbeat,
  type Member,
  type Subscription,
} from './consumer-group.ts'
export { ConsumerOffsets } from './consumer-offsets.ts'
export { firstOffset, type QueueSource } from './first-offset.ts'
export { type GroupSettings } from './group-settings.ts'
export { GroupTable, type Group, type GroupTableOptions } from './groups.ts'
export { QueueLocks, type QueueName } from './queue-locks.ts'
export { Statistics, type Counters, type Rates, type Totals } from './statistics.ts'
export {
  changedAttributes,
  PERM_INHERIT,
  PERM_READ,
  PERM_WRITE,
  plainTopic,
  topicSettingsToJson,
  type TopicFilterType,
  type TopicSettings,
} from './topic-settings.ts'
export { TopicTable, type TablePlatform, type Topic, type TopicTableOptions } from './topics.ts'
