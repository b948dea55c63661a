import type { Processor } from '../processor.ts'
import { changeScheduledMessages } from './change-scheduled-messages.ts'
import { cancelScheduledMessage } from './cancel-scheduled-message.ts'
import { checkClientConfig } from './check-client-config.ts'
import { consumerSendMessageBack } from './consumer-send-message-back.ts'
import { countScheduledMessages } from './count-scheduled-messages.ts'
import { forecastScheduledMessages } from './forecast-scheduled-messages.ts'
import { getBrokerConfig } from './get-broker-config.ts'
import { getBrokerRuntimeInfo } from './get-broker-runtime-info.ts'
import { getConsumerList } from './get-consumer-list.ts'
import { getMaxOffset } from './get-max-offset.ts'
import { getMinOffset } from './get-min-offset.ts'
import { getScheduledMessage } from './get-scheduled-message.ts'
import { getTopicConfig } from './get-topic-config.ts'
import { getTopicStats } from './get-topic-stats.ts'
import { heartbeat } from './heartbeat.ts'
import { listScheduledMessages } from './list-scheduled-messages.ts'
import { lockQueues } from './lock-queues.ts'
import { moveScheduledMessage } from './move-scheduled-message.ts'
import { queryConsumerOffset } from './query-consumer-offset.ts'
import { queryMessage } from './query-message.ts'
import { recallMessage } from './recall-message.ts'
import { searchOffsetByTimestamp } from './search-offset-by-timestamp.ts'
import { unlockQueues } from './unlock-queues.ts'
import { unregisterClient } from './unregister-client.ts'
import { updateConsumerOffset } from './update-consumer-offset.ts'
import { updateSubscriptionGroup } from './update-subscription-group.ts'
import { updateTopic } from './update-topic.ts'
import { viewMessageById } from './view-message-by-id.ts'

/** Every request that is served, but sending and pulling; the rest is answered `unsupported`. */
export const servedProcessors: readonly Processor[] = [
  recallMessage,
  moveScheduledMessage,
  listScheduledMessages,
  countScheduledMessages,
  forecastScheduledMessages,
  getScheduledMessage,
  changeScheduledMessages,
  cancelScheduledMessage,
  queryConsumerOffset,
  updateConsumerOffset,
  updateTopic,
  getBrokerConfig,
  getBrokerRuntimeInfo,
  searchOffsetByTimestamp,
  getMaxOffset,
  getMinOffset,
  heartbeat,
  unregisterClient,
  consumerSendMessageBack,
  getConsumerList,
  lockQueues,
  unlockQueues,
  checkClientConfig,
  updateSubscriptionGroup,
  getTopicStats,
  getTopicConfig,
  queryMessage,
  viewMessageById,
]
