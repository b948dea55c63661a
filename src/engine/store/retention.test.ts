import { describe, expect, test } from 'vitest'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import type { RetentionFence } from './retention.ts'
import { Store } from './store.ts'
import { flushed, messagesOf, missing, send, type Sent, STORE_OPTIONS } from './testing.ts'

/** No multiple of the pause between two looks: one of them finds all segments old. */
const KEPT_MS = 303_000

const none = (): Promise<void> => Promise.resolve()

interface Filled {
  readonly world: SimulatedWorld
  readonly store: Store
  readonly sent: readonly Sent[]
}

/** Several segments of messages, all older than the retention. */
async function filled(fence: RetentionFence = () => Infinity): Promise<Filled> {
  const world = new SimulatedWorld({ seed: 1 })
  const open = async (): Promise<Store> => {
    const options = { ...STORE_OPTIONS, retentionMs: KEPT_MS, checkpointIntervalMs: 3_600_000 }
    const store = await Store.open({ ...options, checkpointBytes: 1 }, world.platform)
    store.join({
      participant: {
        name: 'fenced',
        prepare: none,
        snapshot: () => null,
        write: none,
        relieve: none,
        committed: none,
      },
      fence,
    })
    await store.recover(() => undefined)
    await store.start()
    return store
  }
  const store = await world.finish(open())
  const sent: Sent[] = []
  for (let index = 0; store.endOffset < 5 * STORE_OPTIONS.segmentBytes; index++) {
    sent.push(send(world, store, { queueId: index % 2, body: `${index} ${'r'.repeat(3_000)}` }))
    if (store.congested) await flushed(world, store)
  }
  await flushed(world, store)
  return { world, store, sent }
}

describe('retention', () => {
  test('removes old segments but the last, and the queues begin where the log does', async () => {
    const { world, store, sent } = await filled()
    expect(store.minLogOffset).toBe(0)
    await world.runFor(KEPT_MS + 30_000)
    expect(store.minLogOffset).toBe(5 * STORE_OPTIONS.segmentBytes)
    const left = sent.filter(({ commitLogOffset }) => commitLogOffset >= store.minLogOffset)
    for (const queueId of [0, 1]) {
      const first = left.find(message => message.queueId === queueId)
      expect(store.queue('TopicTest', queueId).minOffset).toBe(
        first?.queueOffset ?? store.queue('TopicTest', queueId).maxOffset,
      )
    }
    expect(await missing(world, store, left)).toEqual([])
  })

  test('removes nothing that is younger', async () => {
    const { world, store, sent } = await filled()
    await world.runFor(KEPT_MS - 60_000)
    expect(await missing(world, store, sent)).toEqual([])
  })

  test('removes nothing that somebody waits for', async () => {
    let fence = 2 * STORE_OPTIONS.segmentBytes + 17
    const { world, store, sent } = await filled(() => fence)
    await world.runFor(3 * KEPT_MS)
    expect(store.minLogOffset).toBe(2 * STORE_OPTIONS.segmentBytes)
    const waiting = sent.filter(({ commitLogOffset }) => commitLogOffset >= fence)
    expect(await missing(world, store, waiting)).toEqual([])
    fence = Infinity
    await world.runFor(30_000)
    expect(store.minLogOffset).toBe(5 * STORE_OPTIONS.segmentBytes)
  })

  test('lets a read under way end before what it took', async () => {
    const { world, store } = await filled()
    const queue = store.queue('TopicTest', 0)
    const request = { fromOffset: 0, countMax: 32, bytesMax: 1_000_000, accepts: undefined }
    await world.runFor(KEPT_MS - 5_000)
    let readCount = 0
    while (store.minLogOffset === 0 || readCount < 3) {
      const read = await world.finish(Promise.resolve(store.readQueue(queue, request)))
      expect(messagesOf(read)).toHaveLength(read.count)
      expect(read.nextOffset).toBeGreaterThan(0)
      if (store.minLogOffset > 0) readCount++
      await world.runFor(300)
    }
    const late = await world.finish(Promise.resolve(store.readQueue(queue, request)))
    expect(late).toMatchObject({ count: 0, removed: true, nextOffset: 1 })
  })

  test('is made good after the queues could not be trimmed', async () => {
    const { world, store } = await filled()
    await world.runFor(6_000)
    world.faults.failNext({ call: 'read', path: /consumequeue/, error: 'STORE_FAILED' })
    await world.runFor(KEPT_MS + 60_000)
    const queue = store.queue('TopicTest', 0)
    const place = (await world.finish(queue.readUnits(queue.minOffset, 1))).commitLogOffset(0)
    expect(place).toBeGreaterThanOrEqual(store.minLogOffset)
    expect(world.faults.counts().failedRead).toBe(1)
    expect(world.logLines.filter(({ level }) => level === 'error')).toHaveLength(1)
  })
})
