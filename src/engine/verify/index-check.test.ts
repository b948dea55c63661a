import { expect, test } from 'vitest'
import { readWholeFile } from '../../core/platform/index.ts'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { ITEM_BYTES, itemPosition, Store } from '../store/index.ts'
import { type IndexedScene, sendKeyed, startIndexed } from '../store/index/testing.ts'
import { checkpointed, flushed, STORE_OPTIONS } from '../store/testing.ts'
import type { Finding } from './findings.ts'
import { verifyStore } from './verify-store.ts'

/** One page of slots, not all of it, and so few items that some hundred messages fill files. */
const GEOMETRY = { slotCount: 300, itemCount: 300 }
const { directory } = STORE_OPTIONS
const INDEX = `${directory}/index`
const MANIFESTS = [`${directory}/orrery/manifest-a`, `${directory}/orrery/manifest-b`]
const ITEMS = GEOMETRY.itemCount - 1

async function sendMany(scene: IndexedScene, from: number, to: number): Promise<void> {
  for (let number = from; number < to; number++) {
    if (scene.store.congested) await flushed(scene.world, scene.store)
    sendKeyed(scene, { uniqueKey: `u${number}`, keys: `all k${number % 10}` })
    await scene.world.runFor(300)
  }
  await flushed(scene.world, scene.store)
}

async function stopped({ world, store }: IndexedScene): Promise<SimulatedWorld> {
  await world.finish(store.stop())
  world.exit()
  return world
}

async function storeWith(messageCount: number): Promise<SimulatedWorld> {
  const scene = await startIndexed(new SimulatedWorld({ seed: 1 }), { geometry: GEOMETRY })
  await sendMany(scene, 0, messageCount)
  return stopped(scene)
}

/** A life of the broker with `messageIndexEnable` off. */
async function sendUnindexed(world: SimulatedWorld, count: number): Promise<void> {
  const store = await world.finish(Store.open(STORE_OPTIONS, world.platform))
  await world.finish(store.findForeign())
  await world.finish(store.recover(() => undefined))
  await world.finish(store.start())
  for (let number = 0; number < count; number++) {
    sendKeyed({ world, store }, { uniqueKey: `off${number}`, keys: 'all' })
  }
  await flushed(world, store)
  await world.finish(store.stop())
  world.exit()
}

async function findingsOn(world: SimulatedWorld): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  const options = {
    directory,
    indexGeometry: GEOMETRY,
    onFinding: (finding: Finding): void => {
      findings.push(finding)
    },
  }
  await world.finish(verifyStore(options, world.outside))
  return findings
}

async function pathsOf(world: SimulatedWorld): Promise<readonly string[]> {
  const names = await world.finish(world.outside.files.list(INDEX))
  return names.map(name => `${INDEX}/${name}`)
}

async function contentOf(world: SimulatedWorld, path: string): Promise<Buffer> {
  return (await world.finish(readWholeFile(world.outside.files, path))) ?? Buffer.alloc(0)
}

async function overwrite(
  world: SimulatedWorld,
  path: string,
  { bytes, position }: { bytes: Buffer; position: number },
): Promise<void> {
  const file = await world.finish(world.outside.files.open(path, 'write'))
  await world.finish(file.write([bytes], position))
  await world.finish(file.datasync())
}

async function forgetManifest(world: SimulatedWorld): Promise<void> {
  for (const path of MANIFESTS) await world.finish(world.outside.files.remove(path))
}

function inIndex(findings: readonly Finding[]): readonly Finding[] {
  return findings.filter(({ file }) => file.startsWith(INDEX))
}

function whats(findings: readonly Finding[]): readonly string[] {
  return findings.map(({ kind, what }) => `${kind}: ${what}`)
}

/** Single bits that are not found in their place, or make more of a fuss; in every `step`th byte that was written. */
async function unfoundFlips(world: SimulatedWorld, step: number): Promise<readonly string[]> {
  const unfound: string[] = []
  for (const path of await pathsOf(world)) {
    const content = await contentOf(world, path)
    let end = content.length
    while (content[end - 1] === 0) end--
    for (let position = 0; position < end; position += step) {
      const bit = (position * 5) % 8
      world.disk.flipBit(path, position, bit)
      const found = inIndex(await findingsOn(world))
      world.disk.flipBit(path, position, bit)
      const isNamed = found.some(({ file, fromPosition, toPosition }) => {
        return file === path && fromPosition <= position && position < toPosition
      })
      if (!isNamed || found.length > 2) {
        unfound.push(`${path} ${position}/${bit}: ${JSON.stringify(found)}`)
      }
    }
  }
  return unfound
}

test('a store that was stopped cleanly has no finding, with any number of files', async () => {
  for (const count of [0, 1, 99, 100, 250]) {
    expect(await findingsOn(await storeWith(count))).toEqual([])
  }
})

test('a bit that went bad in a byte of an index file is found where it is, and little else', async () => {
  expect(await unfoundFlips(await storeWith(20), 5)).toEqual([])
}, 60_000)

test('the same in several files, of which the manifest names one', async () => {
  expect(await unfoundFlips(await storeWith(250), 29)).toEqual([])
}, 60_000)

test('items that are overwritten are named, and only they', async () => {
  const world = await storeWith(60)
  const [path = ''] = await pathsOf(world)
  const position = itemPosition(GEOMETRY, 50)
  for (const fill of [0, 0xff, 0x01]) {
    const before = await contentOf(world, path)
    await overwrite(world, path, { bytes: Buffer.alloc(30 * ITEM_BYTES, fill), position })
    const found = await findingsOn(world)
    expect(
      found.every(({ file, fromPosition, toPosition }) => {
        return file === path && fromPosition >= position && toPosition <= position + 30 * ITEM_BYTES
      }),
    ).toBe(true)
    expect(found.some(({ kind }) => kind === 'damage')).toBe(true)
    await overwrite(world, path, { bytes: before, position: 0 })
    expect(await findingsOn(world)).toEqual([])
  }
})

test('a file that is cut off or missing is damage', async () => {
  const world = await storeWith(20)
  const [path = ''] = await pathsOf(world)
  const size = (await contentOf(world, path)).length
  const file = await world.finish(world.outside.files.open(path, 'write'))
  await world.finish(file.truncate(4_000))
  expect(await findingsOn(world)).toMatchObject([
    { kind: 'damage', file: path, fromPosition: 4_000, toPosition: size },
  ])
  await world.finish(world.outside.files.remove(path))
  expect(whats(await findingsOn(world))).toEqual([
    'damage: the newest file of the message index is missing',
  ])
})

test('nothing is wrong while the index is off, and what was stored meanwhile is noted later', async () => {
  const world = await storeWith(20)
  await sendUnindexed(world, 10)
  expect(await findingsOn(world)).toEqual([])
  const scene = await startIndexed(world, { geometry: GEOMETRY })
  await sendMany(scene, 20, 30)
  await stopped(scene)
  expect(whats(await findingsOn(world))).toEqual([
    'note: messages of the log in front of this place have no item',
  ])
})

test('an index that was turned on later lacks what was stored before', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  await sendUnindexed(world, 10)
  expect(await findingsOn(world)).toEqual([])
  const scene = await startIndexed(world, { geometry: GEOMETRY })
  await sendMany(scene, 0, 10)
  await stopped(scene)
  const [path = ''] = await pathsOf(world)
  expect(await findingsOn(world)).toMatchObject([
    { kind: 'note', file: path, fromPosition: itemPosition(GEOMETRY, 1) },
  ])
})

test('items of messages that the log has removed are no damage, and their links are checked', async () => {
  const scene = await startIndexed(new SimulatedWorld({ seed: 1 }), {
    geometry: GEOMETRY,
    store: { retentionMs: 60_000, checkpointBytes: 1, segmentBytes: 8 * 1024 },
  })
  const { world, store } = scene
  await sendMany(scene, 0, 90)
  await world.runFor(50_000)
  await sendMany(scene, 90, 95)
  await world.runFor(30_000)
  expect(store.minLogOffset).toBeGreaterThan(0)
  await stopped(scene)
  expect(await findingsOn(world)).toEqual([])
  const [path = ''] = await pathsOf(world)
  const previous = itemPosition(GEOMETRY, 32) + ITEM_BYTES - 1
  world.disk.flipBit(path, previous, 1)
  const [found] = await findingsOn(world)
  expect(found).toMatchObject({ kind: 'damage', file: path, toPosition: previous + 1 })
})

test('after a kill and after a power cut nothing of the index is damage', async () => {
  for (const afterMs of [0, 2_000, 5_100, 7_000, 12_000]) {
    for (const cut of ['kill', 'crash'] as const) {
      const scene = await startIndexed(new SimulatedWorld({ seed: afterMs }), {
        geometry: GEOMETRY,
        stagedBytesMax: 24 * 1024,
      })
      const { world } = scene
      await sendMany(scene, 0, 30)
      await checkpointed(world, scene.store)
      await sendMany(scene, 30, 150)
      await world.runFor(afterMs)
      world[cut]()
      const found = inIndex(await findingsOn(world))
      expect(found.filter(({ kind }) => kind === 'damage')).toEqual([])
      await stopped(await startIndexed(world, { geometry: GEOMETRY }))
      expect(inIndex(await findingsOn(world))).toEqual([])
    }
  }
})

test("another broker's folder is read without a manifest", async () => {
  const world = await storeWith(250)
  await forgetManifest(world)
  expect(inIndex(await findingsOn(world))).toEqual([])
  const [path = ''] = await pathsOf(world)
  const position = itemPosition(GEOMETRY, ITEMS)
  world.disk.flipBit(path, position, 3)
  expect(await findingsOn(world)).toMatchObject([
    { kind: 'damage', file: path, fromPosition: position },
  ])
})

test("Apache's seconds of a file's first item count from the file before", async () => {
  const world = await storeWith(150)
  await forgetManifest(world)
  const [, path = ''] = await pathsOf(world)
  const position = itemPosition(GEOMETRY, 1) + 12
  await overwrite(world, path, { bytes: Buffer.from([0, 0, 0, 0]), position })
  expect(inIndex(await findingsOn(world))).toEqual([])
  await overwrite(world, path, { bytes: Buffer.from([0, 0, 0, 9]), position })
  expect(inIndex(await findingsOn(world))).toMatchObject([{ kind: 'damage', file: path }])
})
