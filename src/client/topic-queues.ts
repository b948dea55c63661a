import { BrokerError } from '../core/base/index.ts'
import { type MessageQueue, PERM_READ, PERM_WRITE, type TopicRoute } from '../model/wire/index.ts'

/** A queue and where its broker listens. */
export interface QueueAddress {
  readonly queue: MessageQueue
  readonly address: string
}

/** The queues of a topic that a client can reach, in a fixed order. */
export interface TopicQueues {
  readonly writable: readonly QueueAddress[]
  readonly readable: readonly QueueAddress[]
}

/** More queues than this on one broker are not believed. */
const QUEUE_COUNT_MAX = 65_536
const MASTER_ID = '0'

/**
 * Takes apart a route: queues with the permission, on brokers whose master has an address.
 *
 * Errors: PARAMETER_INVALID when a queue count is out of range.
 */
export function topicQueuesOf(topic: string, route: TopicRoute): TopicQueues {
  const addresses = new Map(
    route.brokerDatas.map(broker => [broker.brokerName, broker.brokerAddrs[MASTER_ID]]),
  )
  const writable: QueueAddress[] = []
  const readable: QueueAddress[] = []
  const sorted = route.queueDatas.toSorted((a, b) => compare(a.brokerName, b.brokerName))
  for (const { brokerName, perm, readQueueNums, writeQueueNums } of sorted) {
    const address = addresses.get(brokerName)
    if (address === undefined) continue
    const queuesOf = (count: number): QueueAddress[] =>
      range(count).map(queueId => ({ queue: { brokerName, queueId, topic }, address }))
    if ((perm & PERM_WRITE) !== 0) writable.push(...queuesOf(writeQueueNums))
    if ((perm & PERM_READ) !== 0) readable.push(...queuesOf(readQueueNums))
  }
  return { writable, readable }
}

function range(count: number): readonly number[] {
  if (count < 0 || count > QUEUE_COUNT_MAX) {
    throw new BrokerError('PARAMETER_INVALID', { queueCount: count })
  }
  return Array.from({ length: count }, (_, index) => index)
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
