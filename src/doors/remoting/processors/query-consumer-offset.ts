import { firstOffset } from '../../../engine/broker/index.ts'
import { REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'
import { optionalBoolean, requiredInt32, requiredText } from '../request-fields.ts'

/**
 * QUERY_CONSUMER_OFFSET (14): where a group goes on in a queue.
 *
 * Request   consumerGroup, topic: string; queueId: int32; setZeroIfNotFound?: boolean
 * Response  offset: the committed one, or 0 for a queue of which a new group must miss nothing
 * Errors    22: nothing is committed, and the client is to decide where to start
 */
export const queryConsumerOffset: Processor = {
  code: REQUEST_CODE.QUERY_CONSUMER_OFFSET,
  name: 'QUERY_CONSUMER_OFFSET',
  action: 'receive',
  resources: ({ header }) => [
    {
      topic: requiredText(header.extFields, 'topic'),
      group: requiredText(header.extFields, 'consumerGroup'),
    },
  ],
  async handle({ header }, { offsets, store }) {
    const group = requiredText(header.extFields, 'consumerGroup')
    const topic = requiredText(header.extFields, 'topic')
    const queueId = requiredInt32(header.extFields, 'queueId')
    const mayStartAtZero = optionalBoolean(header.extFields, 'setZeroIfNotFound') !== false
    let offset = offsets.find(group, topic, queueId)
    if (offset === undefined && mayStartAtZero) {
      offset = await firstOffset(store, store.findQueue(topic, queueId))
    }
    if (offset === undefined) {
      const remark = 'Not found, maybe this group consumer boot first'
      return { code: RESPONSE_CODE.QUERY_NOT_FOUND, remark }
    }
    return { code: RESPONSE_CODE.SUCCESS, extFields: { offset: String(offset) } }
  },
}
