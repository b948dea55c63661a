import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../../core/platform/simulated/index.ts'
import { type Accepted, mistakes, TestBroker, timerFiles } from '../testing.ts'

const MINUTE_MS = 60_000
const HERD_COUNT = 5_000
const HERD_BYTES = 4_000
const STEADY_COUNT = 1_500
const MIB = 1024 * 1024

const OPTIONS = {
  store: { cacheBytes: 4 * MIB, unappliedBytesMax: 256 * 1024 },
  timers: {
    windowBytesMax: 2 * MIB,
    loadBytesMax: MIB,
    windowCountMax: 20_000,
    logMemoryBytes: 2 * MIB,
  },
}

interface Herd {
  readonly broker: TestBroker
  readonly herd: Accepted[]
  readonly steady: Accepted[]
  readonly herdMs: number
}

/**
 * A herd of four windows' size, due in the second from `herdMs` on, and 100 messages a second of
 * another topic from then on, accepted before, between and after it.
 */
async function accepted(world: SimulatedWorld): Promise<Herd> {
  const broker = await TestBroker.open(world, OPTIONS)
  const herdMs = Math.ceil(world.platform.clock.timeMs() / MINUTE_MS) * MINUTE_MS + 2 * MINUTE_MS
  const herd: Accepted[] = []
  const steady: Accepted[] = []
  for (let key = 0; key < HERD_COUNT; key++) {
    const deliverTimeMs = herdMs + (key % 1_000)
    herd.push(broker.accept({ key, topic: 'Herd', deliverTimeMs, bodyBytes: HERD_BYTES }))
    for (; steady.length * HERD_COUNT <= key * STEADY_COUNT;) {
      const steadyMs = herdMs + 10 * steady.length
      steady.push(broker.accept({ key: steady.length, topic: 'Steady', deliverTimeMs: steadyMs }))
    }
    if (key % 20 === 0) {
      await world.finish(broker.store.whenApplied(broker.store.endOffset - 1))
    }
  }
  return { broker, herd, steady, herdMs }
}

/** How many bytes of the herd were delivered between the time of a message and its delivery. */
async function bytesBefore(broker: TestBroker, steady: readonly Accepted[]): Promise<number[]> {
  const herd = await broker.published('Herd')
  const times = herd.map(message => message.storeTimeMs).toSorted((a, b) => a - b)
  const found: number[] = []
  for (const message of await broker.published('Steady')) {
    const dueMs = steady[message.key]?.deliverTimeMs ?? 0
    const between = times.filter(timeMs => timeMs > dueMs && timeMs < message.storeTimeMs)
    found.push(between.length * HERD_BYTES)
  }
  return found
}

test('a herd of four windows does not hold up what is due of another topic meanwhile', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const { broker, herd, steady, herdMs } = await accepted(world)
  await world.runFor(herdMs - world.platform.clock.timeMs() - 500)
  // The herd takes longer than all that is steady.
  broker.sink.bytesPerMsMax = 2_000
  await world.runFor(60_000)
  expect(mistakes(herd, await broker.published('Herd'))).toEqual([])
  expect(mistakes(steady, await broker.published('Steady'))).toEqual([])
  const bytes = await bytesBefore(broker, steady)
  // One batch that was claimed before it was due, and its turn.
  expect(Math.max(...bytes)).toBeLessThan(MIB + 128 * 1024)
  await broker.stop()
  expect(await timerFiles(world)).toEqual([])
})

test('what a herd lets pass is not fired again after a crash', async () => {
  const world = new SimulatedWorld({ seed: 2 })
  const { broker, herd, steady, herdMs } = await accepted(world)
  await world.runFor(herdMs - world.platform.clock.timeMs() - 500)
  broker.sink.bytesPerMsMax = 2_000
  await world.runFor(8_000)
  world.crash()
  const after = await TestBroker.open(world, OPTIONS, sink => {
    sink.bytesPerMsMax = 2_000
  })
  await world.runFor(60_000)
  expect(mistakes(herd, await after.published('Herd'))).toEqual([])
  expect(mistakes(steady, await after.published('Steady'))).toEqual([])
  await after.stop()
  expect(await timerFiles(world)).toEqual([])
})
