import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../../core/platform/simulated/index.ts'
import { digestOfKey } from './key-entries.ts'
import { KeyIndex } from './key-index.ts'

const DIRECTORY = '/data/orrery/keys'
const STAGED_COUNT = 200
const HOUR_MS = 3_600_000
const DUE_MS = 1_800_000_000_000
const DIGEST = digestOfKey('orders', 'order-42')
const FROM = Buffer.alloc(0)
const TO = Buffer.alloc(1, 0xff)

/** An index whose checkpoints are taken by hand, over several starts. */
class Scene {
  readonly world = new SimulatedWorld({ seed: 1 })
  readonly parked = new Set<number>()
  firedMs = 0
  section: unknown
  index: KeyIndex | undefined

  async open(): Promise<KeyIndex> {
    const { platform } = this.world
    const firedMs = (): number => this.firedMs
    const isParked = (timerId: number): boolean => this.parked.has(timerId)
    const bounds = { stagedCountLong: STAGED_COUNT }
    const parts = { platform, directory: DIRECTORY, firedMs, isParked, ...bounds }
    this.index = await this.world.finish(KeyIndex.open(parts, this.section))
    return this.index
  }

  async reopen(): Promise<KeyIndex> {
    await this.world.finish(this.index?.close() ?? Promise.resolve())
    return this.open()
  }

  async checkpoint(index: KeyIndex, appliedOffset: number): Promise<void> {
    this.section = index.snapshot(appliedOffset)
    await this.world.finish(index.write())
  }

  async found(index: KeyIndex, digest = DIGEST): Promise<number | undefined> {
    return (await this.world.finish(index.find(digest))).ref?.timerId
  }

  /** What is on the disk, while the index is closed. */
  async entries(): Promise<string[]> {
    const values = await this.world.finish(this.world.platform.keyValues.open(DIRECTORY))
    const entries = await this.world.finish(values.range(FROM, TO, 100))
    await this.world.finish(values.close())
    return entries.map(({ key, value }) => key.toString('hex') + value.toString('hex'))
  }

  async writeRaw(key: Buffer, value: Buffer): Promise<void> {
    const values = await this.world.finish(this.world.platform.keyValues.open(DIRECTORY))
    await this.world.finish(values.write([{ key, value }], true))
    await this.world.finish(values.close())
  }
}

test('the latest message of a key is found, before and after a checkpoint and a start', async () => {
  const scene = new Scene()
  let index = await scene.open()
  expect(await scene.found(index)).toBeUndefined()
  for (const timerId of [34, 56]) {
    index.apply('orders', 'order-42', { timerId, deliverTimeMs: DUE_MS })
    expect(await scene.found(index)).toBe(timerId)
    await scene.checkpoint(index, timerId + 1)
    expect(await scene.found(index)).toBe(timerId)
    index = await scene.reopen()
    expect(index.needsRebuild).toBe(false)
    expect(await scene.found(index)).toBe(timerId)
  }
  expect(await scene.found(index, digestOfKey('bills', 'order-42'))).toBeUndefined()
})

test('what a lookup has found is not current any more once something may have changed', async () => {
  const scene = new Scene()
  const index = await scene.open()
  const absent = await scene.world.finish(index.find(DIGEST))
  expect(index.isCurrent(DIGEST, absent)).toBe(true)
  index.begin(DIGEST, 34)
  expect(index.isCurrent(DIGEST, absent)).toBe(false)
  expect(index.pendingOffset(DIGEST)).toBe(34)
  index.apply('orders', 'order-42', { timerId: 34, deliverTimeMs: DUE_MS })
  expect(index.pendingOffset(DIGEST)).toBeUndefined()
  expect(index.isCurrent(DIGEST, absent)).toBe(false)
  const found = await scene.world.finish(index.find(DIGEST))
  expect(index.isCurrent(DIGEST, found)).toBe(true)
  await scene.checkpoint(index, 100)
  expect(index.isCurrent(DIGEST, found)).toBe(false)
})

test('the folder is made with the first key', async () => {
  const scene = new Scene()
  const index = await scene.open()
  await scene.checkpoint(index, 100)
  expect(await scene.world.finish(scene.world.outside.files.list(DIRECTORY))).toEqual([])
  index.apply('orders', 'order-42', { timerId: 34, deliverTimeMs: DUE_MS })
  await scene.checkpoint(index, 200)
  expect(await scene.world.finish(scene.world.outside.files.list(DIRECTORY))).not.toEqual([])
})

test('an entry goes an hour after its time, unless the message is parked', async () => {
  const scene = new Scene()
  const index = await scene.open()
  index.apply('orders', 'order-42', { timerId: 34, deliverTimeMs: DUE_MS })
  await scene.checkpoint(index, 100)
  scene.parked.add(34)
  scene.firedMs = DUE_MS + HOUR_MS + 1
  await scene.checkpoint(index, 100)
  expect(await scene.found(index)).toBe(34)
  scene.parked.clear()
  await scene.checkpoint(index, 100)
  expect(await scene.found(index)).toBeUndefined()
})

test('entries that are over go from all of a large index, while few are written', async () => {
  const scene = new Scene()
  const index = await scene.open()
  for (let timerId = 0; timerId < 5_000; timerId++) {
    index.apply('orders', `${timerId}`, { timerId, deliverTimeMs: DUE_MS })
  }
  await scene.checkpoint(index, 5_000)
  scene.firedMs = DUE_MS + 2 * HOUR_MS
  for (let round = 0; round < 7; round++) await scene.checkpoint(index, 5_000)
  await scene.world.finish(index.close())
  // The marker.
  expect(await scene.entries()).toHaveLength(1)
})

test.each([
  ['lost', undefined],
  ['behind the manifest', Buffer.from('0000000000000064dfc8e3f0', 'hex')],
  ['without a sound marker', Buffer.from('00000000000f424000000000', 'hex')],
])('an index that is %s is made again', async (_name, marker) => {
  const scene = new Scene()
  let index = await scene.open()
  index.apply('orders', 'order-42', { timerId: 34, deliverTimeMs: DUE_MS })
  await scene.checkpoint(index, 200)
  await scene.world.finish(index.close())
  const { files } = scene.world.outside
  if (marker === undefined) {
    for (const name of await scene.world.finish(files.list(DIRECTORY))) {
      await scene.world.finish(files.remove(`${DIRECTORY}/${name}`))
    }
  } else await scene.writeRaw(Buffer.from([0]), marker)
  index = await scene.open()
  expect(index.needsRebuild).toBe(true)
  expect(scene.world.logLines.some(({ level }) => level === 'error')).toBe(true)
  await expect(scene.found(index)).rejects.toMatchObject({ code: 'STORE_BUSY' })
  // A start that was interrupted begins again.
  await scene.checkpoint(index, 300)
  index = await scene.reopen()
  expect(index.needsRebuild).toBe(true)
  // One that was accepted meanwhile counts more than what is found.
  index.apply('orders', 'other', { timerId: 90, deliverTimeMs: DUE_MS })
  await scene.world.finish(index.add('orders', 'order-42', { timerId: 34, deliverTimeMs: DUE_MS }))
  await scene.world.finish(index.add('orders', 'other', { timerId: 50, deliverTimeMs: DUE_MS }))
  index.rebuilt()
  await scene.checkpoint(index, 400)
  index = await scene.reopen()
  expect(index.needsRebuild).toBe(false)
  expect(await scene.found(index)).toBe(34)
  expect(await scene.found(index, digestOfKey('orders', 'other'))).toBe(90)
})

test('an entry with a bad bit is refused, and the next start makes the index again', async () => {
  const scene = new Scene()
  let index = await scene.open()
  index.apply('orders', 'order-42', { timerId: 34, deliverTimeMs: DUE_MS })
  await scene.checkpoint(index, 100)
  await scene.world.finish(index.close())
  const value = Buffer.alloc(20, 1)
  await scene.writeRaw(Buffer.from(`\u0001${DIGEST}`, 'latin1'), value)
  index = await scene.open()
  await expect(scene.found(index)).rejects.toMatchObject({ code: 'MESSAGE_UNREADABLE' })
  await scene.checkpoint(index, 100)
  index = await scene.reopen()
  expect(index.needsRebuild).toBe(true)
})

test('a checkpoint that fails is tried again with what came meanwhile', async () => {
  const scene = new Scene()
  const { world } = scene
  const index = await scene.open()
  index.apply('orders', 'order-42', { timerId: 34, deliverTimeMs: DUE_MS })
  await scene.checkpoint(index, 100)
  index.apply('orders', 'order-42', { timerId: 56, deliverTimeMs: DUE_MS })
  world.faults.failNext({ call: 'keyValueWrite', error: 'STORE_FULL', count: 1 })
  await expect(scene.checkpoint(index, 200)).rejects.toMatchObject({ code: 'STORE_FULL' })
  index.apply('orders', 'other', { timerId: 78, deliverTimeMs: DUE_MS })
  await scene.checkpoint(index, 300)
  const reopened = await scene.reopen()
  expect(reopened.needsRebuild).toBe(false)
  expect(await scene.found(reopened)).toBe(56)
  expect(await scene.found(reopened, digestOfKey('orders', 'other'))).toBe(78)
})

test('many keys ask for a checkpoint, and more hold up senders until it is there', async () => {
  const scene = new Scene()
  const index = await scene.open()
  for (let timerId = 0; timerId < 2 * STAGED_COUNT; timerId++) {
    expect(index.needsCheckpoint).toBe(timerId >= STAGED_COUNT)
    index.apply('orders', `${timerId}`, { timerId, deliverTimeMs: DUE_MS })
  }
  expect(index.isCongested).toBe(true)
  await scene.checkpoint(index, 2 * STAGED_COUNT)
  expect(index.isCongested).toBe(false)
  expect(await scene.found(index, digestOfKey('orders', '77'))).toBe(77)
})

test('docs/formats/key-index.md shows the entries that we write', async () => {
  const scene = new Scene()
  const index = await scene.open()
  index.apply('orders', 'order-42', { timerId: 67_890, deliverTimeMs: DUE_MS })
  await scene.checkpoint(index, 123_456)
  await scene.world.finish(index.close())
  const url = new URL('../../../../docs/formats/key-index.md', import.meta.url)
  const lines = readFileSync(url, 'utf8')
    .split('\n')
    .map(line => line.replaceAll(' ', ''))
  const entries = await scene.entries()
  expect(entries).toHaveLength(2)
  for (const entry of entries) expect(lines).toContain(entry)
})
