import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { openMovedIndex } from './moved-index.ts'

const DIRECTORY = '/data/orrery/moved'
const DUE_MS = 1_800_000_000_000

test('docs/formats/moved-index.md shows the entries that we write', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const { platform } = world
  const parts = { platform, directory: DIRECTORY, stagedCountLong: 100 }
  const opening = openMovedIndex({ ...parts, firedMs: () => 0, isParked: () => false }, undefined)
  const index = await world.finish(opening)
  index.set(12_345, { timerId: 67_890, deliverTimeMs: DUE_MS })
  index.snapshot(123_456)
  await world.finish(index.write())
  await world.finish(index.close())
  const page = readFileSync(
    new URL('../../../docs/formats/moved-index.md', import.meta.url),
    'utf8',
  )
  const lines = page.split('\n').map(line => line.replaceAll(' ', ''))
  const values = await world.finish(world.platform.keyValues.open(DIRECTORY))
  const entries = await world.finish(values.range(Buffer.alloc(0), Buffer.alloc(1, 0xff), 10))
  expect(entries).toHaveLength(2)
  for (const { key, value } of entries) {
    expect(lines).toContain(key.toString('hex') + value.toString('hex'))
  }
})
