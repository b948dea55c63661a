import { bodyObject } from './body-object.ts'
import { type MessageQueue, messageQueueFrom } from './message-queue.ts'

/** Queues to lock or unlock: the body of LOCK_BATCH_MQ (41) and UNLOCK_BATCH_MQ (42). */
export interface LockBatch {
  readonly clientId: string
  readonly consumerGroup: string
  readonly queues: readonly MessageQueue[]
}

export function decodeLockBatch(body: Uint8Array): LockBatch {
  const batch = bodyObject(body)
  return {
    clientId: batch.text('clientId'),
    consumerGroup: batch.text('consumerGroup'),
    queues: batch.objects('mqSet').map(messageQueueFrom),
  }
}

export function encodeLockBatch(batch: LockBatch): Buffer {
  return Buffer.from(
    JSON.stringify({
      clientId: batch.clientId,
      consumerGroup: batch.consumerGroup,
      mqSet: batch.queues,
      onlyThisBroker: false,
    }),
  )
}

/** The answer to LOCK_BATCH_MQ: the queues that the client holds now. */
export function encodeLockedQueues(queues: readonly MessageQueue[]): Buffer {
  return Buffer.from(JSON.stringify({ lockOKMQSet: queues }))
}

export function decodeLockedQueues(body: Uint8Array): readonly MessageQueue[] {
  return bodyObject(body).objects('lockOKMQSet').map(messageQueueFrom)
}
