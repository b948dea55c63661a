import { describe, expect, test } from 'vitest'
import { readWholeFile } from '../../core/platform/index.ts'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import {
  type Accepted,
  DIRECTORY,
  mistakes,
  type Published,
  TestBroker,
  timerFiles,
} from './testing.ts'

const MINUTE_MS = 60_000
const COPIES = ['manifest-a', 'manifest-b'] as const

type Copies = ReadonlyMap<string, Buffer>

interface Scene {
  readonly world: SimulatedWorld
  readonly accepted: readonly Accepted[]
  readonly copies: Copies
}

/** A folder in which messages wait, in the ladder and parked, and both copies of its manifest. */
async function sceneWithWaiting(): Promise<Scene> {
  const world = new SimulatedWorld({ seed: 6 })
  const broker = await TestBroker.open(world, {}, sink => sink.refused.add('Refused'))
  const nowMs = world.platform.clock.timeMs()
  const accepted = [
    broker.accept({ key: 1, deliverTimeMs: nowMs + 10 * MINUTE_MS }),
    broker.accept({ key: 2, deliverTimeMs: nowMs + 100, topic: 'Refused' }),
  ]
  await world.runFor(20_000)
  await broker.stop()
  const copies = new Map<string, Buffer>()
  for (const name of COPIES) copies.set(name, await contentOf(world, pathOf(name)))
  return { world, accepted, copies }
}

function pathOf(name: string): string {
  return `${DIRECTORY}/orrery/${name}`
}

async function contentOf(world: SimulatedWorld, path: string): Promise<Buffer> {
  return (await world.finish(readWholeFile(world.outside.files, path))) ?? Buffer.alloc(0)
}

async function published(broker: TestBroker): Promise<Published[]> {
  return [...(await broker.published()), ...(await broker.published('Refused'))]
}

async function put(world: SimulatedWorld, path: string, bytes: Buffer): Promise<void> {
  const file = await world.finish(world.outside.files.open(path, 'write'))
  await world.finish(file.truncate(0))
  await world.finish(file.write([bytes], 0))
  await world.finish(file.datasync())
  await world.finish(file.close())
}

async function remove(world: SimulatedWorld, path: string): Promise<void> {
  const { files } = world.outside
  const isFolder = (await world.finish(files.sizeOf(path))) === undefined
  const names = isFolder ? await world.finish(files.list(path)) : []
  for (const name of names) await remove(world, `${path}/${name}`)
  await world.finish(files.remove(path))
}

const SPOILT: Readonly<Record<string, (bytes: Buffer) => Buffer | undefined>> = {
  missing: () => undefined,
  empty: () => Buffer.alloc(0),
  zeroed: bytes => Buffer.alloc(bytes.length),
  short: bytes => bytes.subarray(0, 40),
}
const kinds = Object.keys(SPOILT)
const pairs = kinds.flatMap(a => kinds.map(b => [a, b] as const))

async function spoil(scene: Scene, name: string, kind: string): Promise<void> {
  const bytes = SPOILT[kind]?.(scene.copies.get(name) ?? Buffer.alloc(0))
  if (bytes === undefined) await remove(scene.world, pathOf(name))
  else await put(scene.world, pathOf(name), bytes)
}

async function expectRefused(world: SimulatedWorld): Promise<void> {
  await expect(TestBroker.open(world)).rejects.toMatchObject({
    code: 'STORE_DAMAGED',
    details: { file: `${DIRECTORY}/orrery/manifest-a and -b` },
  })
  world.exit()
}

describe('a folder in which messages wait', () => {
  test.each(pairs)(
    'is refused and left as it is when one copy of the manifest is %s and the other %s',
    async (a, b) => {
      const scene = await sceneWithWaiting()
      const { world, accepted } = scene
      const filesBefore = await timerFiles(world)
      expect(filesBefore.filter(path => path.includes('/ladder/'))).toHaveLength(1)
      expect(filesBefore.filter(path => path.includes('/parked/'))).toHaveLength(1)
      await spoil(scene, 'manifest-a', a)
      await spoil(scene, 'manifest-b', b)
      await expectRefused(world)
      expect(await timerFiles(world)).toEqual(filesBefore)
      for (const [name, bytes] of scene.copies) await put(world, pathOf(name), bytes)
      const broker = await TestBroker.open(world)
      await world.runFor(12 * MINUTE_MS)
      expect(mistakes(accepted, await published(broker))).toEqual([])
    },
  )

  test.each(kinds)('is served when one copy of the manifest is %s', async kind => {
    const scene = await sceneWithWaiting()
    await spoil(scene, 'manifest-b', kind)
    const broker = await TestBroker.open(scene.world)
    await scene.world.runFor(12 * MINUTE_MS)
    expect(mistakes(scene.accepted, await published(broker))).toEqual([])
  })

  test.each([
    ['the folder orrery is gone', ['orrery']],
    ['only chunks are left', ['orrery/manifest-a', 'orrery/manifest-b', 'consumequeue']],
    [
      'only parked chunks are left',
      ['orrery/manifest-a', 'orrery/manifest-b', 'consumequeue', 'orrery/ladder'],
    ],
  ])('is refused when %s', async (_, gone) => {
    const { world } = await sceneWithWaiting()
    for (const name of gone) await remove(world, `${DIRECTORY}/${name}`)
    await expectRefused(world)
  })

  test('is taken for a new one when the hint is followed', async () => {
    const { world } = await sceneWithWaiting()
    await remove(world, `${DIRECTORY}/orrery`)
    await remove(world, `${DIRECTORY}/consumequeue/rmq_sys_orrery_timer`)
    const broker = await TestBroker.open(world)
    const deliverTimeMs = world.platform.clock.timeMs() + 1_000
    const accepted = [broker.accept({ key: 3, deliverTimeMs })]
    await world.runFor(10_000)
    expect(mistakes(accepted, await broker.published())).toEqual([])
  })
})

test('a new folder can be started in again after a crash at any moment of its first start', async () => {
  for (let step = 0; step < 40; step++) {
    const world = new SimulatedWorld({ seed: step + 1 })
    TestBroker.open(world).catch(() => undefined)
    await world.runFor(step * 0.5)
    if (step % 2 === 0) world.crash()
    else world.kill()
    const broker = await TestBroker.open(world)
    const deliverTimeMs = world.platform.clock.timeMs() + 8_000
    const accepted = [broker.accept({ key: 1, deliverTimeMs })]
    await world.runFor(10_000)
    expect(mistakes(accepted, await broker.published())).toEqual([])
    await broker.stop()
  }
})
