import { expect, test } from 'vitest'
import { PullConsumer } from '../client/index.ts'
import { SimulatedWorld } from '../core/platform/simulated/index.ts'
import { served, type Served } from './testing/served.ts'

const ROOMY = { diskFreeBytesMin: '0' }

/** A folder with a message that waits and one that a group has consumed. */
async function usedFolder(): Promise<SimulatedWorld> {
  const world = new SimulatedWorld({ seed: 1 })
  const { client } = await served(world, ROOMY)
  await world.finish(client.send({ topic: 'orders', body: 'plain' }))
  await world.finish(client.send({ topic: 'orders', body: 'waits', delayMs: 60_000 }))
  await pulled({ world, client })
  await world.runFor(12_000)
  world.kill()
  return world
}

async function pulled({ world, client }: Pick<Served, 'world' | 'client'>): Promise<string[]> {
  const bodies: string[] = []
  const consumer = new PullConsumer(client, 'billing')
  for (const queue of await world.finish(consumer.queues('orders'))) {
    const { messages } = await world.finish(consumer.pull(queue, { offset: 0 }))
    bodies.push(...messages.map(({ body }) => body.toString()))
  }
  return bodies.toSorted()
}

async function empty(world: SimulatedWorld, path: string): Promise<void> {
  const file = await world.finish(world.outside.files.open(path, 'write'))
  await world.finish(file.truncate(0))
  await world.finish(file.close())
}

test('a broker starts on a full disk, says what could not be written, and goes on with room', async () => {
  const world = await usedFolder()
  world.disk.capacityBytes = world.disk.usedBytes()
  const scene = await served(world, ROOMY)
  const warnings = world.logLines.filter(({ level }) => level === 'warn')
  expect(warnings.map(({ fields }) => fields['path'])).toContain('/data/config/topics.json')
  world.disk.capacityBytes = Number.POSITIVE_INFINITY
  await world.runFor(65_000)
  expect(await pulled(scene)).toEqual(['plain', 'waits'])
})

test.each([
  ['topics.json', 'missing'],
  ['topics.json', 'empty'],
  ['subscriptionGroup.json', 'missing'],
  ['subscriptionGroup.json', 'empty'],
  ['consumerOffset.json', 'empty'],
])('a folder with messages whose %s is %s is served, and it is said', async (name, found) => {
  const world = await usedFolder()
  const path = `/data/config/${name}`
  if (found === 'missing') await world.finish(world.outside.files.remove(path))
  else await empty(world, path)
  const scene = await served(world, ROOMY)
  const lines = world.logLines.filter(({ fields }) => fields['found'] !== undefined)
  expect(lines).toMatchObject([{ level: 'warn', fields: { path, found } }])
  await world.runFor(65_000)
  expect(await pulled(scene)).toEqual(['plain', 'waits'])
})

test('a new folder is told nothing of missing files', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  await served(world, ROOMY)
  expect(world.logLines.filter(({ level }) => level !== 'info')).toEqual([])
})
