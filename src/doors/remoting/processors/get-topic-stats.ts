import type { ConsumeQueue, Store } from '../../../engine/store/index.ts'
import {
  encodeTopicStats,
  REQUEST_CODE,
  RESPONSE_CODE,
  type QueueStats,
} from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'
import { requiredText } from '../request-fields.ts'

/**
 * GET_TOPIC_STATS_INFO (202): offsets and last store time of each queue of a topic.
 *
 * Request   topic: string
 * Response  body TopicStatsTable
 * Errors    TOPIC_NOT_FOUND
 */
export const getTopicStats: Processor = {
  code: REQUEST_CODE.GET_TOPIC_STATS_INFO,
  name: 'GET_TOPIC_STATS_INFO',
  action: 'read',
  resources: ({ header }) => [{ topic: requiredText(header.extFields, 'topic') }],
  async handle({ header }, { topics, store, identity }) {
    const topic = topics.get(requiredText(header.extFields, 'topic'))
    const queueCount = Math.max(topic.readQueueCount, topic.writeQueueCount)
    const stats: QueueStats[] = []
    for (let queueId = 0; queueId < queueCount; queueId++) {
      const queue = { brokerName: identity.brokerName, queueId, topic: topic.name }
      stats.push({ queue, ...(await offsetsOf(store, store.findQueue(topic.name, queueId))) })
    }
    return { code: RESPONSE_CODE.SUCCESS, body: encodeTopicStats(stats) }
  },
}

async function offsetsOf(
  store: Store,
  queue: ConsumeQueue | undefined,
): Promise<Omit<QueueStats, 'queue'>> {
  if (queue === undefined) return { minOffset: 0, maxOffset: 0, lastUpdateTimestamp: 0 }
  const { minOffset, maxOffset } = queue
  if (minOffset >= maxOffset) return { minOffset, maxOffset, lastUpdateTimestamp: 0 }
  const storeTimeMs = await store.storeTimeOf(queue, maxOffset - 1)
  return { minOffset, maxOffset, lastUpdateTimestamp: Math.max(0, storeTimeMs) }
}
