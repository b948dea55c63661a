import { expect, test } from 'vitest'
import { RemotingWorld, type WireClient } from '../../../../test/support/remoting-world.ts'
import { decodeLockedQueues, encodeLockBatch, REQUEST_CODE } from '../../../model/wire/index.ts'
import { servedProcessors } from './served.ts'

const { LOCK_BATCH_MQ, UNLOCK_BATCH_MQ } = REQUEST_CODE

function queues(
  ...ids: readonly number[]
): { brokerName: string; queueId: number; topic: string }[] {
  return ids.map(queueId => ({ brokerName: 'broker-a', queueId, topic: 'orders' }))
}

async function lock(
  client: WireClient,
  clientId: string,
  ids: readonly number[],
): Promise<number[]> {
  const body = encodeLockBatch({ clientId, consumerGroup: 'g', queues: queues(...ids) })
  const answer = await client.ask({ code: LOCK_BATCH_MQ }, body)
  return decodeLockedQueues(answer?.body ?? Buffer.alloc(0)).map(({ queueId }) => queueId)
}

async function open(): Promise<{ readonly world: RemotingWorld; readonly client: WireClient }> {
  const world = await RemotingWorld.open({ processors: servedProcessors })
  world.broker.groups.createOnUse('g')
  world.broker.topics.createOnUse('orders', 4)
  return { world, client: await world.connect() }
}

test('a client gets the free queues, keeps its own, and frees them for another', async () => {
  const { client } = await open()
  expect(await lock(client, 'a', [0, 1])).toEqual([0, 1])
  expect(await lock(client, 'b', [1, 2])).toEqual([2])
  expect(await lock(client, 'a', [0, 1, 2])).toEqual([0, 1])
  const body = encodeLockBatch({ clientId: 'a', consumerGroup: 'g', queues: queues(1, 2) })
  expect((await client.ask({ code: UNLOCK_BATCH_MQ }, body))?.header.code).toBe(0)
  expect(await lock(client, 'b', [0, 1, 2])).toEqual([1, 2])
})

test('queues that are not here cannot be locked, nor by a group that is not here', async () => {
  const { world, client } = await open()
  expect(await lock(client, 'a', [-1, 4, 1_000_000])).toEqual([])
  const foreign = [{ brokerName: 'broker-a', queueId: 0, topic: 'nothing' }]
  const body = encodeLockBatch({ clientId: 'a', consumerGroup: 'g', queues: foreign })
  const answer = await client.ask({ code: LOCK_BATCH_MQ }, body)
  expect(decodeLockedQueues(answer?.body ?? Buffer.alloc(0))).toEqual([])
  expect(world.broker.locks.holdsAny('g')).toBe(false)
  const nobody = encodeLockBatch({ clientId: 'a', consumerGroup: 'nobody', queues: queues(0) })
  expect((await client.ask({ code: LOCK_BATCH_MQ }, nobody))?.header.code).toBe(26)
})
