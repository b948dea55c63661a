import { connectRemoting, PullConsumer, type QueueAddress } from '../../src/client/index.ts'
import { realPlatform } from '../../src/core/platform/index.ts'
import type { Door } from './door.ts'

const GROUP = 'crash-test'

/** Our own client behind the name server at `nameserver`. */
export async function openDoor(nameserver: string): Promise<Door> {
  // A broker that is killed makes a client complain; here that is the plan.
  const platform = realPlatform({ logLevel: 'error' })
  const client = await connectRemoting({ platform, nameserver })
  const consumer = new PullConsumer(client, GROUP)
  const find = async (topic: string, queueId: number): Promise<QueueAddress> => {
    const queues = await consumer.queues(topic)
    const found = queues.find(({ queue }) => queue.queueId === queueId)
    if (found === undefined) throw new Error(`topic ${topic} has no queue ${queueId}`)
    return found
  }
  return {
    send: async message => (await client.send(message)).recallHandle,
    cancel: async (topic, recallHandle) => {
      return (await client.recall({ topic, recallHandle })) === 'cancelled'
    },
    move: async (id, delayMs) => {
      const result = await client.move({ id }, { delayMs })
      return result.kind === 'moved' ? result.deliverTimeMs : undefined
    },
    queueCount: async topic => (await consumer.queues(topic)).length,
    read: async (topic, queueId, queueOffset) => {
      const target = await find(topic, queueId)
      const result = await consumer.pull(target, { offset: queueOffset, waitMs: 0 })
      return { records: result.messages, nextOffset: result.nextOffset }
    },
    maxOffset: async (topic, queueId) => consumer.maxOffset(await find(topic, queueId)),
    close: () => client.close(),
  }
}
