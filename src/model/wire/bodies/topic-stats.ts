import { stringifyObjectMap, parseDialect } from '../json-dialect.ts'
import { BodyObject, bodyObject } from './body-object.ts'
import { type MessageQueue, messageQueueFrom } from './message-queue.ts'

/** Offsets of one queue, as GET_TOPIC_STATS_INFO (202) answers them. */
export interface QueueStats {
  readonly queue: MessageQueue
  readonly minOffset: number
  /** One beyond the last message. */
  readonly maxOffset: number
  /** Store time of the last message; 0 when there is none. */
  readonly lastUpdateTimestamp: number
}

export function encodeTopicStats(queues: readonly QueueStats[]): Buffer {
  const offsetTable = stringifyObjectMap(
    queues.map(({ queue, lastUpdateTimestamp, maxOffset, minOffset }) => [
      { brokerName: queue.brokerName, queueId: queue.queueId, topic: queue.topic },
      { lastUpdateTimestamp, maxOffset, minOffset },
    ]),
  )
  return Buffer.from(`{"offsetTable":${offsetTable},"topicPutTps":0.0}`)
}

export function decodeTopicStats(body: Uint8Array): readonly QueueStats[] {
  const table = bodyObject(body).object('offsetTable')
  return table.names().map(name => {
    const stats = table.object(name)
    return {
      queue: messageQueueFrom(new BodyObject(parseDialect(name), 'offsetTable')),
      minOffset: stats.integer('minOffset'),
      maxOffset: stats.integer('maxOffset'),
      lastUpdateTimestamp: stats.integer('lastUpdateTimestamp'),
    }
  })
}
