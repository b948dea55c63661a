import { expect, test } from 'vitest'
import { readWholeFile } from '../../../core/platform/index.ts'
import { SimulatedWorld } from '../../../core/platform/simulated/index.ts'
import { Store } from '../store.ts'
import { checkpointed, flushed, STORE_OPTIONS } from '../testing.ts'
import { nameAfter } from './index-files.ts'
import { indexFileBytes } from './index-layout.ts'
import {
  foundKeys,
  type IndexedOptions,
  type IndexedScene,
  sendKeyed,
  SMALL_GEOMETRY,
  startIndexed,
} from './testing.ts'

const DIRECTORY = `${STORE_OPTIONS.directory}/index`

async function opened(options: IndexedOptions = {}): Promise<IndexedScene> {
  return startIndexed(new SimulatedWorld({ seed: 1 }), options)
}

async function stopped({ world, store }: IndexedScene): Promise<SimulatedWorld> {
  await world.finish(store.stop())
  world.exit()
  return world
}

function namesOf({ world }: IndexedScene): Promise<readonly string[]> {
  return world.finish(world.outside.files.list(DIRECTORY))
}

async function sendMany(scene: IndexedScene, from: number, to: number): Promise<void> {
  for (let number = from; number < to; number++) {
    if (scene.store.congested) await flushed(scene.world, scene.store)
    sendKeyed(scene, { uniqueKey: `u${number}`, keys: `all k${number % 10}` })
  }
  await flushed(scene.world, scene.store)
}

test('a message is found by its unique key and by each of its keys', async () => {
  const scene = await opened()
  sendKeyed(scene, { uniqueKey: 'u1', keys: 'k1  k2 grün' })
  sendKeyed(scene, { uniqueKey: 'u2', keys: 'k2' })
  sendKeyed(scene, { topic: 'Other', uniqueKey: 'u1', keys: 'k1' })
  await flushed(scene.world, scene.store)
  const look = async (): Promise<unknown> =>
    Promise.all(['u1', 'k1', 'k2', 'grün', 'k'].map(key => foundKeys(scene, { key })))
  const expected = [['u1'], ['u1'], ['u1', 'u2'], ['u1'], []]
  expect(await look()).toEqual(expected)
  await checkpointed(scene.world, scene.store)
  expect(scene.index.stagedBytes).toBe(0)
  expect(await look()).toEqual(expected)
  expect(await foundKeys(scene, { topic: 'Other', key: 'k1' })).toEqual(['u1'])
  expect(await foundKeys(scene, { topic: 'Other', key: 'k2' })).toEqual([])
})

test('a search for the unique key does not take a key for it', async () => {
  const scene = await opened()
  sendKeyed(scene, { uniqueKey: 'u1', keys: 'u2' })
  await flushed(scene.world, scene.store)
  expect(await foundKeys(scene, { key: 'u2' })).toEqual(['u1'])
  expect(await foundKeys(scene, { key: 'u2', by: 'uniqueKey' })).toEqual([])
})

test('a key with the hash of another is not taken for it', async () => {
  const scene = await opened()
  sendKeyed(scene, { uniqueKey: 'AaAa' })
  sendKeyed(scene, { uniqueKey: 'BBBB' })
  await flushed(scene.world, scene.store)
  expect(await foundKeys(scene, { key: 'AaAa' })).toEqual(['AaAa'])
  expect(await foundKeys(scene, { key: 'BBBB' })).toEqual(['BBBB'])
  expect(await foundKeys(scene, { key: 'AaBB' })).toEqual([])
})

test('a message that waits is found under its real topic', async () => {
  const scene = await opened()
  sendKeyed(scene, { uniqueKey: 'u1', keys: 'k1', waits: true })
  await flushed(scene.world, scene.store)
  expect(await foundKeys(scene, { key: 'u1' })).toEqual(['u1'])
  expect(await foundKeys(scene, { key: 'k1' })).toEqual(['u1'])
  expect(await foundKeys(scene, { topic: 'rmq_sys_orrery_timer', key: 'u1' })).toEqual([])
})

test('the newest within the time are found, both ends included, also after the clock went back', async () => {
  const scene = await opened()
  const { world } = scene
  const times: number[] = []
  for (let number = 0; number < 6; number++) {
    if (number === 4) world.stepClock(-3_600_000)
    times.push(world.platform.clock.timeMs())
    sendKeyed(scene, { uniqueKey: `u${number}`, keys: 'k' })
    await world.runFor(1_500)
  }
  const at = (index: number): number => times[index] ?? 0
  const look = async (): Promise<unknown> => [
    await foundKeys(scene, { key: 'k', fromMs: at(1), toMs: at(2) }),
    await foundKeys(scene, { key: 'k', fromMs: at(1) + 1, toMs: at(3) - 1 }),
    await foundKeys(scene, { key: 'k', fromMs: at(4), toMs: at(5) }),
    await foundKeys(scene, { key: 'k', countMax: 2 }),
    await foundKeys(scene, { key: 'k', countMax: 0 }),
  ]
  const expected = [['u1', 'u2'], ['u2'], ['u4', 'u5'], ['u4', 'u5'], []]
  expect(await look()).toEqual(expected)
  await checkpointed(world, scene.store)
  expect(await look()).toEqual(expected)
})

test('files that are full are followed by new ones, in their full length', async () => {
  const scene = await opened()
  await sendMany(scene, 0, 250)
  await checkpointed(scene.world, scene.store)
  // 3 entries a message; 299 in a file.
  const names = await namesOf(scene)
  expect(names).toHaveLength(3)
  for (const name of names) {
    const size = await scene.world.finish(scene.world.outside.files.sizeOf(`${DIRECTORY}/${name}`))
    expect(size).toBe(indexFileBytes(SMALL_GEOMETRY))
  }
  const reopened = await startIndexed(await stopped(scene))
  expect(await foundKeys(reopened, { key: 'k3' })).toEqual(
    Array.from({ length: 25 }, (_, index) => `u${index * 10 + 3}`),
  )
})

test('names ascend, whatever the clock says', () => {
  expect(nameAfter('', 1_767_225_600_123)).toBe('20260101000000123')
  expect(nameAfter('20250101000000123', 1_767_225_600_123)).toBe('20260101000000123')
  expect(nameAfter('20260101000000123', 1_767_225_600_123)).toBe('20260101000000124')
  expect(nameAfter('20270101999999999', 0)).toBe('20270102000000000')
})

test('files go when the log has lost all that they lead to', async () => {
  const scene = await opened({
    store: { retentionMs: 60_000, checkpointBytes: 1, segmentBytes: 8 * 1024 },
  })
  const { world, store } = scene
  await sendMany(scene, 0, 250)
  await checkpointed(world, store)
  expect(await namesOf(scene)).toHaveLength(3)
  await world.runFor(120_000)
  await sendMany(scene, 250, 260)
  await world.runFor(30_000)
  expect(store.minLogOffset).toBeGreaterThan(0)
  expect(await namesOf(scene)).toHaveLength(1)
  expect(await foundKeys(scene, { key: 'u3' })).toEqual([])
  expect(await foundKeys(scene, { key: 'u255' })).toEqual(['u255'])
})

test('staged entries are written early when there are many, and hold up what comes in', async () => {
  const scene = await opened({ stagedBytesMax: 24 * 1024 })
  await sendMany(scene, 0, 200)
  await scene.world.runFor(1_000)
  expect(scene.store.checkpointOffset).toBe(0)
  expect(await namesOf(scene)).not.toHaveLength(0)
  expect(scene.index.stagedBytes).toBeLessThanOrEqual(24 * 1024)
  expect(scene.index.isCongested).toBe(false)
  expect(await foundKeys(scene, { key: 'all' })).toHaveLength(64)
})

test('what another broker added to the folder is used, and its files are gone on with', async () => {
  const first = await opened()
  await sendMany(first, 0, 20)
  const world = await stopped(first)
  // Another broker went on from here and stopped cleanly: to us its work looks like this.
  const second = await startIndexed(world)
  await sendMany(second, 20, 30)
  await world.finish(second.store.stop())
  const { files } = world.outside
  for (const copy of ['manifest-a', 'manifest-b']) {
    await world.finish(files.remove(`${STORE_OPTIONS.directory}/orrery/${copy}`))
  }
  world.exit()
  const scene = await startIndexed(world)
  expect(scene.store.isForeign).toBe(true)
  await sendMany(scene, 30, 40)
  expect(await foundKeys(scene, { key: 'k7' })).toEqual(['u7', 'u17', 'u27', 'u37'])
  await checkpointed(world, scene.store)
  expect(await foundKeys(scene, { key: 'k7' })).toEqual(['u7', 'u17', 'u27', 'u37'])
  expect(await namesOf(scene)).toHaveLength(1)
})

test('after an unclean stop of another broker the index is built again from the log', async () => {
  const first = await opened()
  await sendMany(first, 0, 30)
  await checkpointed(first.world, first.store)
  const { world } = first
  const { files } = world.outside
  world.kill()
  for (const copy of ['manifest-a', 'manifest-b']) {
    await world.finish(files.remove(`${STORE_OPTIONS.directory}/orrery/${copy}`))
  }
  const [name = ''] = await namesOf(first)
  const file = await world.finish(files.open(`${DIRECTORY}/${name}`, 'write'))
  await world.finish(file.write([Buffer.alloc(12_000)], 40))
  const scene = await startIndexed(world)
  expect(await foundKeys(scene, { key: 'k7' })).toEqual(['u7', 'u17', 'u27'])
})

test('a file that is missing or of another length is reported, and does not stop a start', async () => {
  const first = await opened()
  await sendMany(first, 0, 30)
  const world = await stopped(first)
  const [name = ''] = await namesOf(first)
  await world.finish(world.outside.files.remove(`${DIRECTORY}/${name}`))
  const foreign = '20200101000000000'
  const file = await world.finish(world.outside.files.open(`${DIRECTORY}/${foreign}`, 'write'))
  await world.finish(file.truncate(1_000))
  await world.finish(file.datasync())
  const scene = await startIndexed(world)
  expect(world.logLines.filter(({ message }) => message.includes('is missing'))).toHaveLength(1)
  expect(world.logLines.filter(({ message }) => message.includes('left alone'))).toHaveLength(1)
  await sendMany(scene, 30, 40)
  expect(await foundKeys(scene, { key: 'k7' })).toEqual(['u37'])
})

test('an index that was turned off for a while finds what was stored before and after', async () => {
  const first = await opened()
  await sendMany(first, 0, 10)
  const world = await stopped(first)
  const plain = await world.finish(Store.open(STORE_OPTIONS, world.platform))
  await world.finish(plain.findForeign())
  await world.finish(plain.recover(() => undefined))
  await world.finish(plain.start())
  sendKeyed({ ...first, store: plain }, { uniqueKey: 'between' })
  await flushed(world, plain)
  await world.finish(plain.stop())
  world.exit()
  const scene = await startIndexed(world)
  await sendMany(scene, 10, 20)
  expect(await foundKeys(scene, { key: 'k7' })).toEqual(['u7', 'u17'])
  expect(await foundKeys(scene, { key: 'between' })).toEqual([])
})

test('a full disk keeps entries in memory until there is room', async () => {
  const scene = await opened()
  const { world, store } = scene
  await sendMany(scene, 0, 10)
  await checkpointed(world, store)
  await sendMany(scene, 10, 20)
  world.disk.capacityBytes = world.disk.usedBytes()
  await world.runFor(12_000)
  expect(await foundKeys(scene, { key: 'all' })).toHaveLength(20)
  world.disk.capacityBytes = Number.POSITIVE_INFINITY
  await checkpointed(world, store)
  expect(scene.index.stagedBytes).toBe(0)
  expect(await foundKeys(scene, { key: 'all' })).toHaveLength(20)
})

test('bytes around an index that are damaged never stop a search', async () => {
  const scene = await opened()
  const { world, store } = scene
  await sendMany(scene, 0, 30)
  await checkpointed(world, store)
  const [name = ''] = await namesOf(scene)
  const path = `${DIRECTORY}/${name}`
  const bytes = await world.finish(readWholeFile(world.outside.files, path))
  const file = await world.finish(world.outside.files.open(path, 'write'))
  for (const damage of [0xff, 0x7f, 0x01]) {
    await world.finish(file.write([Buffer.alloc(bytes?.length ?? 0, damage)], 0))
    expect(await foundKeys(scene, { key: 'all' })).toEqual([])
  }
})
