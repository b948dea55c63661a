import { REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'
import { requiredInt32, requiredText } from '../request-fields.ts'

/**
 * GET_MAX_OFFSET (30): the offset behind the last message of a queue that can be consumed.
 *
 * Request   topic: string; queueId: int32; committed?: boolean, without effect: what is not
 *           flushed is not visible here
 * Response  offset; 0 for an empty or unknown queue
 */
export const getMaxOffset: Processor = {
  code: REQUEST_CODE.GET_MAX_OFFSET,
  name: 'GET_MAX_OFFSET',
  action: 'read',
  resources: ({ header }) => [{ topic: requiredText(header.extFields, 'topic') }],
  handle({ header }, { store }) {
    const topic = requiredText(header.extFields, 'topic')
    const queue = store.findQueue(topic, requiredInt32(header.extFields, 'queueId'))
    const offset = queue?.maxOffset ?? 0
    return { code: RESPONSE_CODE.SUCCESS, extFields: { offset: String(offset) } }
  },
}
