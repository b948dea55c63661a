/** What the broker does with messages: topics, groups, put, pull, offsets, clients, statistics. */
export { Broker, type BrokerParts } from './broker.ts'
export {
  ClientRegistry,
  type ClientChannel,
  type ClientHeartbeat,
  type GroupListener,
} from './clients.ts'
export { ClockWatch } from './clock-watch.ts'
export { type ConsumerHeartbeat, type Member, type Subscription } from './consumer-group.ts'
export { ConsumerOffsets } from './consumer-offsets.ts'
export { BrokerDueSink, type DueSinkParts, type DueStore } from './due-sink.ts'
export { firstOffset, type QueueSource } from './first-offset.ts'
export { type GroupSettings } from './group-settings.ts'
export { GroupTable, type Group, type GroupTableOptions } from './groups.ts'
export { PendingPull, type PullAsker, type PullResult } from './pending-pull.ts'
export { PullService, type PullLimits, type PullSource } from './pull.ts'
export {
  pullTarget,
  type PullTables,
  type PullTarget,
  type PullTargetRequest,
  type WantedTags,
} from './pull-target.ts'
export { PutOutcome, PutRequest } from './put-request.ts'
export { MessagePut, type PutOptions, type PutParts, type PutStore, type RetryRule } from './put.ts'
export { QueueLocks, type QueueName } from './queue-locks.ts'
export { ScheduledBulk } from './scheduled/scheduled-bulk.ts'
export {
  FORECAST_STEPS_MAX,
  listGate,
  PAGE_SIZE_MAX,
  ScheduledLists,
} from './scheduled/scheduled-lists.ts'
export { KeyedMessages } from './scheduled/keyed-messages.ts'
export { ScheduledMessages } from './scheduled/scheduled-messages.ts'
export { Statistics, type Counters, type Rates, type Totals } from './statistics.ts'
export { changedAttributes, topicConfigOf, type TopicSettings } from './topic-settings.ts'
export { TopicTable, type TablePlatform, type Topic, type TopicTableOptions } from './topics.ts'
