import { BrokerError } from '../../../core/base/index.ts'
import { REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'
import { optionalText, requiredInt32, requiredInt64, requiredText } from '../request-fields.ts'

/**
 * SEARCH_OFFSET_BY_TIMESTAMP (29): the place of a time in a queue.
 *
 * Request   topic: string; queueId: int32; timestamp: int64 ms; boundaryType?: LOWER or UPPER
 * Response  offset: of the first message stored at that time or later (LOWER), or of the last
 *           one stored at that time or earlier (UPPER); 0 in an empty or unknown queue
 * Errors    PARAMETER_INVALID
 */
export const searchOffsetByTimestamp: Processor = {
  code: REQUEST_CODE.SEARCH_OFFSET_BY_TIMESTAMP,
  name: 'SEARCH_OFFSET_BY_TIMESTAMP',
  action: 'read',
  resources: ({ header }) => [{ topic: requiredText(header.extFields, 'topic') }],
  async handle({ header }, { store }) {
    const topic = requiredText(header.extFields, 'topic')
    const queue = store.findQueue(topic, requiredInt32(header.extFields, 'queueId'))
    const timeMs = requiredInt64(header.extFields, 'timestamp')
    const boundary = boundaryOf(optionalText(header.extFields, 'boundaryType'))
    const offset = queue === undefined ? 0 : await store.offsetByTime(queue, timeMs, boundary)
    return { code: RESPONSE_CODE.SUCCESS, extFields: { offset: String(offset) } }
  },
}

function boundaryOf(text: string | undefined): 'lower' | 'upper' {
  const boundary = (text ?? 'LOWER').toLowerCase()
  if (boundary === 'lower' || boundary === 'upper') return boundary
  throw new BrokerError('PARAMETER_INVALID', { field: 'boundaryType', supported: 'LOWER UPPER' })
}
