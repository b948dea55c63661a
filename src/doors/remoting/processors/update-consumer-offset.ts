import { BrokerError } from '../../../core/base/index.ts'
import { REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'
import { requiredInt32, requiredInt64, requiredText } from '../request-fields.ts'

/**
 * UPDATE_CONSUMER_OFFSET (15): how far a group has consumed a queue. May go back.
 *
 * Request   consumerGroup, topic: string; queueId: int32; commitOffset: int64
 * Response  nothing
 * Errors    GROUP_NOT_FOUND, TOPIC_NOT_FOUND, QUEUE_OUT_OF_RANGE, PARAMETER_INVALID
 */
export const updateConsumerOffset: Processor = {
  code: REQUEST_CODE.UPDATE_CONSUMER_OFFSET,
  name: 'UPDATE_CONSUMER_OFFSET',
  action: 'receive',
  resources: ({ header }) => [
    {
      topic: requiredText(header.extFields, 'topic'),
      group: requiredText(header.extFields, 'consumerGroup'),
    },
  ],
  handle({ header }, { groups, topics, offsets }) {
    const group = groups.get(requiredText(header.extFields, 'consumerGroup'))
    const topic = topics.get(requiredText(header.extFields, 'topic'))
    const queueId = requiredInt32(header.extFields, 'queueId')
    const offset = requiredInt64(header.extFields, 'commitOffset')
    const queueCount = Math.max(topic.readQueueCount, topic.writeQueueCount)
    if (queueId < 0 || queueId >= queueCount) {
      throw new BrokerError('QUEUE_OUT_OF_RANGE', { topic: topic.name, queueId, queueCount })
    }
    if (offset < 0) throw new BrokerError('PARAMETER_INVALID', { field: 'commitOffset', offset })
    offsets.commit(group.name, topic.name, queueId, offset)
    return { code: RESPONSE_CODE.SUCCESS }
  },
}
