import { expect, test } from 'vitest'
import { SimulatedWorld } from '../core/platform/simulated/index.ts'
import { served } from './testing/served.ts'

const MESSAGE = { topic: 'orders', body: 'hello', keys: ['order-7', 'vip'] }

test('a message is found by what its receipt says and by its keys, also after a power cut', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const { client: sender } = await served(world)
  const receipt = await world.finish(sender.send(MESSAGE))
  await world.finish(sender.send({ ...MESSAGE, keys: ['vip'] }))
  for (const isAfterCrash of [false, true]) {
    if (isAfterCrash) world.crash()
    const client = isAfterCrash ? (await served(world)).client : sender
    const byUnique = await world.finish(client.findByUniqueKey({ topic: 'orders', ...receipt }))
    expect(byUnique.map(({ messageId }) => messageId)).toEqual([receipt.messageId])
    expect(byUnique[0]).toMatchObject({ topic: 'orders', deliverTimeMs: undefined })
    const byKey = await world.finish(client.findByKey({ topic: 'orders', key: 'vip' }))
    expect(byKey).toHaveLength(2)
    expect(await world.finish(client.findByKey({ topic: 'orders', key: 'order' }))).toEqual([])
    const { offsetMessageId } = receipt
    const viewed = await world.finish(client.viewMessage({ topic: 'orders', offsetMessageId }))
    expect(viewed?.body.toString()).toBe('hello')
    const elsewhere = `${offsetMessageId.slice(0, -1)}F`
    const none = client.viewMessage({ topic: 'orders', offsetMessageId: elsewhere })
    expect(await world.finish(none)).toBeUndefined()
  }
})

test('a message that waits is found with its time, and after that as delivered', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const { client } = await served(world)
  const receipt = await world.finish(client.send({ ...MESSAGE, delayMs: 60_000 }))
  const [waiting] = await world.finish(client.findByUniqueKey({ topic: 'orders', ...receipt }))
  expect(waiting).toMatchObject({ topic: 'orders', messageId: receipt.messageId })
  const ahead = (waiting?.deliverTimeMs ?? 0) - world.platform.clock.timeMs()
  expect(ahead).toBeGreaterThan(59_000)
  expect(ahead).toBeLessThanOrEqual(60_000)
  await world.runFor(61_000)
  for (const found of [
    await world.finish(client.findByUniqueKey({ topic: 'orders', ...receipt })),
    await world.finish(client.findByKey({ topic: 'orders', key: 'vip' })),
  ]) {
    expect(found.map(({ deliverTimeMs }) => deliverTimeMs)).toEqual([undefined])
  }
})

test('with messageIndexEnable off messages are sent and a search is refused', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const { client } = await served(world, { messageIndexEnable: 'off' })
  const receipt = await world.finish(client.send(MESSAGE))
  const search = client.findByUniqueKey({ topic: 'orders', ...receipt })
  await expect(world.finish(search)).rejects.toThrow('messageIndexEnable')
  expect(await world.finish(world.outside.files.list('/data/index'))).toEqual([])
})
