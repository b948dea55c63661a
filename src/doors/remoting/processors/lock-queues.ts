import {
  decodeLockBatch,
  encodeLockedQueues,
  REQUEST_CODE,
  RESPONSE_CODE,
  type MessageQueue,
} from '../../../model/wire/index.ts'
import type { DoorContext, Processor } from '../processor.ts'

/**
 * LOCK_BATCH_MQ (41): a consumer wants to be the only one of its group on some queues. Locks end
 * after 60 s unless they are asked for again.
 *
 * Request   body clientId, consumerGroup, mqSet
 * Response  body lockOKMQSet: those that the client holds now; queues unknown here are left out
 * Errors    GROUP_NOT_FOUND
 */
export const lockQueues: Processor = {
  code: REQUEST_CODE.LOCK_BATCH_MQ,
  name: 'LOCK_BATCH_MQ',
  action: 'receive',
  resources({ body }) {
    const { consumerGroup: group, queues } = decodeLockBatch(body)
    return [{ group }, ...queues.map(({ topic }) => ({ group, topic }))]
  },
  handle({ body }, context) {
    const { clientId, consumerGroup, queues } = decodeLockBatch(body)
    const group = context.groups.get(consumerGroup)
    const known = queues.filter(queue => isKnown(queue, context))
    const held = context.locks.lock(group.name, clientId, known)
    return { code: RESPONSE_CODE.SUCCESS, body: encodeLockedQueues(held) }
  },
}

function isKnown({ topic: name, queueId }: MessageQueue, { topics }: DoorContext): boolean {
  const topic = topics.find(name)
  if (topic === undefined) return false
  return queueId >= 0 && queueId < Math.max(topic.readQueueCount, topic.writeQueueCount)
}
