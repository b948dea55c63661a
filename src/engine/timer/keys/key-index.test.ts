import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../../core/platform/simulated/index.ts'
import { digestOfKey, KeyIndex } from './key-index.ts'

const DIRECTORY = '/data/orrery/keys'
const DUE_MS = 1_800_000_000_000
const DIGEST = digestOfKey('orders', 'order-42')

async function opened(world: SimulatedWorld): Promise<KeyIndex> {
  const { platform } = world
  const parts = { platform, directory: DIRECTORY, stagedCountLong: 100 }
  const opening = KeyIndex.open({ ...parts, firedMs: () => 0, isParked: () => false }, undefined)
  return world.finish(opening)
}

test('a key that is about to lead to another message is not current', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const index = await opened(world)
  const absent = await world.finish(index.find(DIGEST))
  expect(index.isCurrent(DIGEST, absent)).toBe(true)
  index.begin(DIGEST, 34)
  expect(index.isCurrent(DIGEST, absent)).toBe(false)
  expect(index.pendingOffset(DIGEST)).toBe(34)
  index.apply('orders', 'order-42', { timerId: 34, deliverTimeMs: DUE_MS })
  expect(index.pendingOffset(DIGEST)).toBeUndefined()
  expect(index.isCurrent(DIGEST, absent)).toBe(false)
  const found = await world.finish(index.find(DIGEST))
  expect(index.isCurrent(DIGEST, found)).toBe(true)
})

test('the same key of another topic is another', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const index = await opened(world)
  index.apply('orders', 'order-42', { timerId: 34, deliverTimeMs: DUE_MS })
  expect((await world.finish(index.find(digestOfKey('bills', 'order-42')))).ref).toBeUndefined()
  expect((await world.finish(index.find(DIGEST))).ref?.timerId).toBe(34)
})

test('docs/formats/key-index.md shows the entries that we write', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const index = await opened(world)
  index.apply('orders', 'order-42', { timerId: 67_890, deliverTimeMs: DUE_MS })
  index.refs.snapshot(123_456)
  await world.finish(index.refs.write())
  await world.finish(index.refs.close())
  const url = new URL('../../../../docs/formats/key-index.md', import.meta.url)
  const lines = readFileSync(url, 'utf8')
    .split('\n')
    .map(line => line.replaceAll(' ', ''))
  const values = await world.finish(world.platform.keyValues.open(DIRECTORY))
  const entries = await world.finish(values.range(Buffer.alloc(0), Buffer.alloc(1, 0xff), 10))
  expect(entries).toHaveLength(2)
  for (const { key, value } of entries) {
    expect(lines).toContain(key.toString('hex') + value.toString('hex'))
  }
})
