import { encodeConsumerList, REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'
import { requiredText } from '../request-fields.ts'

/**
 * GET_CONSUMER_LIST_BY_GROUP (38): ids of the clients among which a group's queues are shared.
 *
 * Request   consumerGroup: string
 * Response  body consumerIdList
 * Errors    1: no member is connected. An empty list would make clients drop all their queues.
 */
export const getConsumerList: Processor = {
  code: REQUEST_CODE.GET_CONSUMER_LIST_BY_GROUP,
  name: 'GET_CONSUMER_LIST_BY_GROUP',
  action: 'receive',
  resources: ({ header }) => [{ group: requiredText(header.extFields, 'consumerGroup') }],
  handle({ header }, { clients }) {
    const group = requiredText(header.extFields, 'consumerGroup')
    const clientIds = clients.consumerGroup(group)?.clientIds() ?? []
    if (clientIds.length === 0) {
      return { code: RESPONSE_CODE.SYSTEM_ERROR, remark: `no consumer for this group, ${group}` }
    }
    return { code: RESPONSE_CODE.SUCCESS, body: encodeConsumerList(clientIds) }
  },
}
