import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { ConsumerOffsets } from './consumer-offsets.ts'
import {
  CONFIG_DIRECTORY,
  configWorld,
  fileJson,
  leaveFile,
  openGroups,
  openTopics,
} from './testing.ts'

const PAGE = readFileSync('docs/formats/config-files.md', 'utf8')

function example(name: string): string {
  const [, text] = new RegExp(`\`\`\`json ${name}\\n([^\`]+)\`\`\``).exec(PAGE) ?? []
  return text ?? ''
}

async function worldWith(name: string): Promise<SimulatedWorld> {
  const world = await configWorld()
  expect(example(name)).not.toBe('')
  await leaveFile(world, name, example(name))
  return world
}

test('the topics of docs/formats/config-files.md are read, and written as they stand there', async () => {
  const world = await worldWith('topics.json')
  const topics = await openTopics(world)
  expect(topics.get('orders')).toMatchObject({
    readQueueCount: 4,
    writeQueueCount: 4,
    perm: 6,
    attributes: { 'message.type': 'DELAY' },
  })
  const page: unknown = JSON.parse(example('topics.json'))
  expect(await fileJson(world, 'topics.json')).toMatchObject({
    topicConfigTable: Object(page).topicConfigTable,
  })
})

test('the group of docs/formats/config-files.md is what a new group looks like', async () => {
  const world = await worldWith('subscriptionGroup.json')
  expect((await openGroups(world)).get('billing').retryCountMax).toBe(16)
  const fresh = await configWorld()
  const groups = await openGroups(fresh)
  await fresh.finish(groups.createOnUse('billing').durable ?? Promise.resolve())
  const page: unknown = JSON.parse(example('subscriptionGroup.json'))
  expect(await fileJson(fresh, 'subscriptionGroup.json')).toMatchObject({
    subscriptionGroupTable: Object(page).subscriptionGroupTable,
  })
})

test('the offsets of docs/formats/config-files.md are read as Apache writes them', async () => {
  const world = await worldWith('consumerOffset.json')
  const offsets = await world.finish(ConsumerOffsets.open(CONFIG_DIRECTORY, world.platform))
  expect(offsets.find('billing', 'orders', 0)).toBe(12)
  expect(offsets.find('billing', 'orders', 1)).toBe(7)
  expect(offsets.find('billing', '%RETRY%billing', 0)).toBe(3)
})
