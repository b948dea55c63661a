import { REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'
import { requiredInt32, requiredText } from '../request-fields.ts'

/**
 * GET_MIN_OFFSET (31): the offset of the first message of a queue that is still there.
 *
 * Request   topic: string; queueId: int32
 * Response  offset; 0 for an unknown queue
 */
export const getMinOffset: Processor = {
  code: REQUEST_CODE.GET_MIN_OFFSET,
  name: 'GET_MIN_OFFSET',
  action: 'read',
  resources: ({ header }) => [{ topic: requiredText(header.extFields, 'topic') }],
  handle({ header }, { store }) {
    const topic = requiredText(header.extFields, 'topic')
    const queue = store.findQueue(topic, requiredInt32(header.extFields, 'queueId'))
    const offset = queue?.minOffset ?? 0
    return { code: RESPONSE_CODE.SUCCESS, extFields: { offset: String(offset) } }
  },
}
