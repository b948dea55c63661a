import { expect, test } from 'vitest'
import { type BrokerClient, connectRemoting, PullConsumer } from '../client/index.ts'
import { loadOptions } from '../core/config/index.ts'
import { SimulatedWorld } from '../core/platform/simulated/index.ts'
import { decodeRecallHandle, encodeRecallHandle } from '../model/message/index.ts'
import { startServer } from './start-server.ts'

interface Scene {
  readonly world: SimulatedWorld
  readonly client: BrokerClient
}

async function served(world = new SimulatedWorld({ seed: 1 })): Promise<Scene> {
  const { options } = loadOptions({ flags: { data: '/data' } })
  await world.finish(startServer(options, world.platform))
  const nameserver = '127.0.0.1:9876'
  const client = await world.finish(connectRemoting({ platform: world.outside, nameserver }))
  return { world, client }
}

async function sent({ world, client }: Scene, delayMs: number, key: string): Promise<string> {
  const message = { topic: 'orders', body: key, keys: [key], delayMs }
  const receipt = await world.finish(client.send(message))
  return receipt.recallHandle ?? ''
}

/** Bodies of all messages of the topic that can be pulled. */
async function pulled({ world, client }: Scene): Promise<string[]> {
  const bodies: string[] = []
  const consumer = new PullConsumer(client, 'billing')
  for (const queue of await world.finish(consumer.queues('orders'))) {
    const { messages } = await world.finish(consumer.pull(queue, { offset: 0 }))
    bodies.push(...messages.map(({ body }) => body.toString()))
  }
  return bodies.toSorted()
}

test('a message that is recalled is never delivered, and its neighbours are', async () => {
  const scene = await served()
  const { world, client } = scene
  const handles = [await sent(scene, 60_000, 'a'), await sent(scene, 60_000, 'b')]
  const [recallHandle = ''] = handles
  expect(await world.finish(client.recall({ topic: 'orders', recallHandle }))).toBe('cancelled')
  expect(await world.finish(client.recall({ topic: 'orders', recallHandle }))).toBe('cancelled')
  await world.runFor(65_000)
  expect(await pulled(scene)).toEqual(['b'])
})

test('the answer holds over a power cut', async () => {
  const first = await served()
  const handle = await sent(first, 600_000, 'a')
  const recall = { topic: 'orders', recallHandle: handle }
  expect(await first.world.finish(first.client.recall(recall))).toBe('cancelled')
  first.world.crash()
  const scene = await served(first.world)
  expect(await scene.world.finish(scene.client.recall(recall))).toBe('cancelled')
  await scene.world.runFor(605_000)
  expect(await pulled(scene)).toEqual([])
})

test('what is delivered is too late to recall', async () => {
  const scene = await served()
  const recallHandle = await sent(scene, 1_000, 'a')
  await scene.world.runFor(2_000)
  const recalled = scene.client.recall({ topic: 'orders', recallHandle })
  expect(await scene.world.finish(recalled)).toBe('too-late')
  expect(await pulled(scene)).toEqual(['a'])
})

test.each([
  ['another unique key', { uniqueKey: 'FORGED' }],
  ['another deliver time', { deliverTimeMs: 1_900_000_000_000 }],
  ['another place', { timerId: 3 }],
])('a handle with %s is not known, and recalls nothing', async (_name, changes) => {
  const scene = await served()
  const handle = decodeRecallHandle(await sent(scene, 60_000, 'a'))
  if (handle === undefined) throw new Error('the send was answered without a handle')
  const recallHandle = encodeRecallHandle({ ...handle, ...changes })
  const recalled = scene.client.recall({ topic: 'orders', recallHandle })
  expect(await scene.world.finish(recalled)).toBe('unknown')
  await scene.world.runFor(65_000)
  expect(await pulled(scene)).toEqual(['a'])
})
