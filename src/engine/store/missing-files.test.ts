import { describe, expect, test } from 'vitest'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import type { Store } from './store.ts'
import {
  checkpointed,
  flushed,
  messagesOf,
  missing,
  openStore,
  readAll,
  rejectionOf,
  send,
  type Sent,
  STORE_OPTIONS,
  startStore,
} from './testing.ts'

const { directory, segmentBytes } = STORE_OPTIONS
const QUEUES = `${directory}/consumequeue`
const FIRST = '0'.repeat(20)

interface Scene {
  readonly world: SimulatedWorld
  readonly sent: readonly Sent[]
}

/** A folder with three queues of 60 messages each and a log of a few segments. */
async function sceneAfter(end: 'stop' | 'kill'): Promise<Scene> {
  const world = new SimulatedWorld({ seed: 4 })
  const store = await startStore(world)
  const sent: Sent[] = []
  for (let round = 0; round < 60; round++) {
    for (const place of [{ topic: 'A' }, { topic: 'B' }, { topic: 'B', queueId: 3 }]) {
      sent.push(send(world, store, { ...place, body: `${round} ${'x'.repeat(900)}` }))
    }
    await flushed(world, store)
  }
  await checkpointed(world, store)
  if (end === 'kill') world.kill()
  else await stop(world, store)
  return { world, sent }
}

async function stop(world: SimulatedWorld, store: Store): Promise<void> {
  await world.finish(store.stop())
  world.exit()
}

function segmentPath(world: SimulatedWorld, index: number): Promise<string> {
  return world.finish(world.outside.files.list(`${directory}/commitlog`)).then(names => {
    return `${directory}/commitlog/${names.at(index) ?? ''}`
  })
}

async function remove(world: SimulatedWorld, path: string): Promise<void> {
  const { files } = world.outside
  const isFolder = (await world.finish(files.sizeOf(path))) === undefined
  const names = isFolder ? await world.finish(files.list(path)) : []
  for (const name of names) await remove(world, `${path}/${name}`)
  await world.finish(files.remove(path))
}

/** Cuts a file, and fills it up with zeros to its length unless it is to stay short. */
async function cut(
  world: SimulatedWorld,
  path: string,
  to: { sizeBytes: number; isFilledUp: boolean },
): Promise<void> {
  const file = await world.finish(world.outside.files.open(path, 'write'))
  const lengthBytes = await world.finish(file.sizeBytes())
  await world.finish(file.truncate(to.sizeBytes))
  if (to.isFilledUp) await world.finish(file.truncate(lengthBytes))
  await world.finish(file.datasync())
  await world.finish(file.close())
}

function linesOf(world: SimulatedWorld, level: 'warn' | 'error'): readonly string[] {
  return world.logLines.filter(line => line.level === level).map(({ message }) => message)
}

const REBUILT =
  'files of queues are missing, or what was in them; all queues are built again from the log'

const QUEUE_DAMAGE: readonly (readonly [string, (world: SimulatedWorld) => Promise<void>])[] = [
  ['all queues are gone', world => remove(world, QUEUES)],
  ['a topic is gone', world => remove(world, `${QUEUES}/B`)],
  ['a file is gone', world => remove(world, `${QUEUES}/B/3/${FIRST}`)],
  [
    'a file is empty',
    world => cut(world, `${QUEUES}/A/0/${FIRST}`, { sizeBytes: 0, isFilledUp: false }),
  ],
  [
    'a file holds zeros',
    world => cut(world, `${QUEUES}/A/0/${FIRST}`, { sizeBytes: 0, isFilledUp: true }),
  ],
  [
    'the end of a file is zeroed',
    world => cut(world, `${QUEUES}/A/0/${FIRST}`, { sizeBytes: 20 * 50, isFilledUp: true }),
  ],
]

describe.each(['stop', 'kill'] as const)('queues after a %s', end => {
  test.each(QUEUE_DAMAGE)(
    'are built again from the log when %s, and it is said',
    async (_, damage) => {
      const { world, sent } = await sceneAfter(end)
      await damage(world)
      const store = await startStore(world)
      expect(await missing(world, store, sent)).toEqual([])
      expect(linesOf(world, 'warn')).toContain(REBUILT)
      const lost = linesOf(world, 'error').filter(line => /no longer|missing in the log/.test(line))
      expect(lost).toEqual([])
      // Numbers go on where they were.
      expect(send(world, store, { topic: 'A', body: 'next' }).queueOffset).toBe(60)
      await flushed(world, store)
      await stop(world, store)
      const next = await startStore(world)
      expect(await missing(world, next, sent)).toEqual([])
      expect(linesOf(world, 'warn').filter(line => line === REBUILT)).toHaveLength(1)
    },
  )

  test('are not built again when all is there: the log is read from the checkpoint on', async () => {
    const { world, sent } = await sceneAfter(end)
    const store = await startStore(world)
    expect(await missing(world, store, sent)).toEqual([])
    expect(linesOf(world, 'warn')).not.toContain(REBUILT)
    const recovered = world.logLines.findLast(({ message }) => message === 'recovered')
    expect(recovered?.fields['fromOffset']).toBe(recovered?.fields['endOffset'])
  })

  test('are built again after a power cut while they were', async () => {
    const { world, sent } = await sceneAfter(end)
    await remove(world, QUEUES)
    await world.finish(openStore(world))
    world.crash()
    expect(await missing(world, await startStore(world), sent)).toEqual([])
  })
})

test('a queue whose first of two files is gone is built again', async () => {
  const world = new SimulatedWorld({ seed: 4 })
  const store = await startStore(world)
  store.queue('TopicTest', 0).startAt(299_995)
  const sent = Array.from({ length: 10 }, (_, index) => send(world, store, { body: `${index}` }))
  await flushed(world, store)
  await stop(world, store)
  await remove(world, `${QUEUES}/TopicTest/0/${FIRST}`)
  const next = await startStore(world)
  expect(await missing(world, next, sent)).toEqual([])
  expect(linesOf(world, 'warn')).toContain(REBUILT)
})

test('a queue that is gone is numbered on by what the log still has', async () => {
  const { world, sent } = await sceneAfter('stop')
  const store = await startStore(world, { retentionMs: 1 })
  await world.run(() => store.minLogOffset > 0, 60_000)
  await flushed(world, store)
  await checkpointed(world, store)
  await stop(world, store)
  const old = sent.filter(({ commitLogOffset }) => commitLogOffset < store.minLogOffset)
  expect(old.length).toBeGreaterThan(50)
  await remove(world, `${QUEUES}/B/3`)
  const next = await startStore(world)
  // Its newest message is in the log still, and brings back all of its numbers.
  expect(next.queue('B', 3).maxOffset).toBe(60)
  const kept = sent.filter(({ commitLogOffset }) => commitLogOffset >= next.minLogOffset)
  expect(await missing(world, next, kept)).toEqual([])
})

describe('a log that ends before what the last checkpoint knew', () => {
  test.each([
    ['is empty', { sizeBytes: 0, isFilledUp: false }],
    ['is short', { sizeBytes: 100, isFilledUp: false }],
    ['holds zeros', { sizeBytes: 0, isFilledUp: true }],
    ['is zeroed from somewhere on', { sizeBytes: 4_000, isFilledUp: true }],
  ])('because its last segment %s is reported, the rest is served', async (_, to) => {
    for (const end of ['stop', 'kill'] as const) {
      const { world, sent } = await sceneAfter(end)
      const path = await segmentPath(world, -1)
      const base = Number(path.slice(-20))
      await cut(world, path, to)
      const store = await startStore(world)
      const line = world.logLines.find(({ level }) => level === 'error')
      expect(line?.message).toContain('commit log is missing')
      expect(line?.fields['file']).toBe(path)
      const { fromOffset, toOffset } = line?.fields ?? {}
      expect(fromOffset).toBeGreaterThanOrEqual(to.sizeBytes > 1_000 ? base + 2_000 : base)
      // The record that was cut in two is found when it is read.
      expect(fromOffset).toBeLessThanOrEqual(base + to.sizeBytes + 1_100)
      // What was there is not given away again: neither numbers nor places.
      expect(toOffset).toBe(store.endOffset)
      const next = [send(world, store, { topic: 'A', body: 'next' })]
      expect(next[0]?.queueOffset).toBe(60)
      await flushed(world, store)
      const whole = sent.filter(({ commitLogOffset }) => commitLogOffset < base)
      expect(await missing(world, store, whole)).toEqual([])
      expect(await readFrom(world, store, 60)).toEqual(['next'])
      expect(linesOf(world, 'warn')).not.toContain(REBUILT)
    }
  })

  test('is reported also where a segment between others is short', async () => {
    const { world } = await sceneAfter('stop')
    const path = await segmentPath(world, 0)
    await cut(world, path, { sizeBytes: segmentBytes / 2, isFilledUp: false })
    await startStore(world)
    expect(world.logLines.find(({ level }) => level === 'error')?.fields).toMatchObject({
      file: path,
      fromOffset: segmentBytes / 2,
      toOffset: segmentBytes,
    })
  })

  test('because files are not there at all is refused, and nothing is changed', async () => {
    const { world } = await sceneAfter('stop')
    await remove(world, await segmentPath(world, -1))
    const queue = await world.finish(world.outside.files.list(`${QUEUES}/B/3`))
    expect(await rejectionOf(world.finish(openStore(world)))).toBe('STORE_DAMAGED')
    expect(await world.finish(world.outside.files.list(`${QUEUES}/B/3`))).toEqual(queue)
  })
})

/** Bodies of a queue of topic A. */
async function readFrom(world: SimulatedWorld, store: Store, offset: number): Promise<string[]> {
  const request = { fromOffset: offset, countMax: 32, bytesMax: 100_000, accepts: undefined }
  const read = await world.finish(Promise.resolve(store.readQueue(store.queue('A', 0), request)))
  return messagesOf(read).map(({ body }) => body)
}

describe('a part of the log that is gone', () => {
  test('is named when a segment between others holds zeros; the rest is served', async () => {
    const { world, sent } = await sceneAfter('stop')
    const path = await segmentPath(world, 0)
    await cut(world, path, { sizeBytes: 0, isFilledUp: true })
    const store = await startStore(world)
    const line = world.logLines.find(({ level }) => level === 'error')
    expect(line?.fields).toMatchObject({ file: path, fromOffset: 0, toOffset: segmentBytes })
    const whole = sent.filter(({ commitLogOffset }) => commitLogOffset >= segmentBytes)
    expect(await missing(world, store, whole)).toEqual([])
    expect(send(world, store, { topic: 'A', body: 'next' }).queueOffset).toBe(60)
  })

  test('leaves a queue its numbers when its newest messages were there', async () => {
    const world = new SimulatedWorld({ seed: 4 })
    let store = await startStore(world)
    for (let round = 0; round < 5; round++) send(world, store, { topic: 'Old', body: `${round}` })
    await flushed(world, store)
    for (let round = 0; store.endOffset < 2 * segmentBytes; round++) {
      send(world, store, { body: `${round} ${'x'.repeat(900)}` })
      await flushed(world, store)
    }
    await stop(world, store)
    await cut(world, await segmentPath(world, 0), { sizeBytes: 0, isFilledUp: true })
    store = await startStore(world)
    expect(send(world, store, { topic: 'Old', body: 'next' }).queueOffset).toBe(5)
    await flushed(world, store)
    expect((await readAll(world, store)).size).toBeGreaterThan(50)
  })

  test('is named when the first segment was removed', async () => {
    const { world } = await sceneAfter('stop')
    await remove(world, await segmentPath(world, 0))
    await startStore(world)
    const line = world.logLines.find(({ level }) => level === 'error')
    expect(line?.message).toBe('the beginning of the commit log is missing')
    expect(line?.fields).toMatchObject({ fromOffset: 0, toOffset: segmentBytes })
  })
})

describe('a stop', () => {
  test('ends in time with thousands of new queues, and the next start has them all', async () => {
    for (const waitMs of [0, 5_050]) {
      const world = new SimulatedWorld({ seed: 4 })
      const store = await startStore(world)
      const sent: Sent[] = []
      for (let index = 0; index < 3_000; index++) {
        sent.push(send(world, store, { topic: `T${index}`, body: 'x' }))
        if (store.congested) await flushed(world, store)
      }
      await flushed(world, store)
      // The second time in the middle of a checkpoint.
      await world.runFor(waitMs)
      const startMs = world.uptimeMs
      await world.finish(store.stop())
      expect(world.uptimeMs - startMs).toBeLessThan(4_000)
      expect(linesOf(world, 'error')).toEqual([])
      expect(linesOf(world, 'warn').at(-1)).toContain('too many queues')
      world.crash()
      const next = await startStore(world)
      expect(await missing(world, next, sent)).toEqual([])
    }
  })
})
