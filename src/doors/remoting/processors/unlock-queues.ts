import { decodeLockBatch, REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'

/**
 * UNLOCK_BATCH_MQ (42): a consumer gives up its locks on some queues. Others' are left alone.
 *
 * Request   body clientId, consumerGroup, mqSet
 * Response  nothing
 */
export const unlockQueues: Processor = {
  code: REQUEST_CODE.UNLOCK_BATCH_MQ,
  name: 'UNLOCK_BATCH_MQ',
  action: 'receive',
  resources: ({ body }) => [{ group: decodeLockBatch(body).consumerGroup }],
  handle({ body }, { locks }) {
    const { clientId, consumerGroup, queues } = decodeLockBatch(body)
    locks.unlock(consumerGroup, clientId, queues)
    return { code: RESPONSE_CODE.SUCCESS }
  },
}
