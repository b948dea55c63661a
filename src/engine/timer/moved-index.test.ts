import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { KeyValues } from '../../core/platform/index.ts'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { MovedIndex } from './moved-index.ts'
import { TimerMap } from './timer-map.ts'

const DAY_MS = 86_400_000
const DUE_MS = 1_800_000_000_000
const FROM = Buffer.alloc(1)
const TO = Buffer.alloc(1, 0xff)

interface Scene {
  readonly world: SimulatedWorld
  readonly index: MovedIndex
  readonly values: KeyValues
  firedMs: number
}

async function opened(): Promise<Scene> {
  const world = new SimulatedWorld({ seed: 1 })
  const values = await world.finish(world.platform.keyValues.open('/data/moved'))
  const firedMs = (): number => scene.firedMs
  const open = (): Promise<KeyValues> => Promise.resolve(values)
  const index = new MovedIndex({ map: new TimerMap({ open, exists: true }), firedMs })
  const scene: Scene = { world, index, values, firedMs: 0 }
  return scene
}

async function checkpoint({ world, index }: Scene): Promise<void> {
  index.snapshot()
  await world.finish(index.write())
}

test('the latest place is found, before a checkpoint and after it', async () => {
  const scene = await opened()
  const { world, index } = scene
  expect(await world.finish(index.find(12))).toBeUndefined()
  for (const timerId of [34, 56]) {
    index.set(12, { timerId, deliverTimeMs: DUE_MS + timerId })
    expect(await world.finish(index.find(12))).toEqual({ timerId, deliverTimeMs: DUE_MS + timerId })
    await checkpoint(scene)
    expect(await world.finish(index.find(12))).toEqual({ timerId, deliverTimeMs: DUE_MS + timerId })
  }
})

test('entries go a month after their time, and not before', async () => {
  const scene = await opened()
  const { world, index, values } = scene
  index.set(12, { timerId: 34, deliverTimeMs: DUE_MS })
  await checkpoint(scene)
  index.set(12, { timerId: 56, deliverTimeMs: DUE_MS + DAY_MS })
  await checkpoint(scene)
  scene.firedMs = DUE_MS + 30 * DAY_MS + 1
  await checkpoint(scene)
  expect(await world.finish(index.find(12))).toMatchObject({ timerId: 56 })
  scene.firedMs += DAY_MS
  await checkpoint(scene)
  expect(await world.finish(index.find(12))).toBeUndefined()
  expect(await world.finish(values.range(FROM, TO, 10))).toEqual([])
})

test('an entry with a bad bit is refused', async () => {
  const scene = await opened()
  const { world, index, values } = scene
  index.set(12, { timerId: 34, deliverTimeMs: DUE_MS })
  await checkpoint(scene)
  const [entry] = await world.finish(values.range(FROM, TO, 1))
  if (entry === undefined) throw new Error('nothing was written')
  const value = Buffer.from(entry.value)
  value[3] = (value[3] ?? 0) ^ 1
  await world.finish(values.write([{ key: entry.key, value }], true))
  const finding = world.finish(index.find(12))
  await expect(finding).rejects.toMatchObject({ code: 'MESSAGE_UNREADABLE' })
})

test('docs/formats/moved-index.md shows the entries that we write', async () => {
  const scene = await opened()
  const { world, index, values } = scene
  index.set(12_345, { timerId: 67_890, deliverTimeMs: DUE_MS })
  await checkpoint(scene)
  const page = readFileSync(
    new URL('../../../docs/formats/moved-index.md', import.meta.url),
    'utf8',
  )
  const lines = page.split('\n').map(line => line.replaceAll(' ', ''))
  const entries = await world.finish(values.range(FROM, TO, 10))
  expect(entries).toHaveLength(2)
  for (const { key, value } of entries) {
    expect(lines).toContain(key.toString('hex') + value.toString('hex'))
  }
})
