import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../../core/platform/simulated/index.ts'
import { type Accepted, mistakes, TestBroker, timerFiles } from '../testing.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const LEAD_MS = 15_000
const HERD_COUNT = 1_000

function nowOf(world: SimulatedWorld): number {
  return world.platform.clock.timeMs()
}

async function settled(world: SimulatedWorld, broker: TestBroker): Promise<void> {
  await world.finish(broker.store.whenApplied(broker.store.endOffset - 1))
}

/** Messages for one millisecond, in keys from `first` on: far more than is loaded whole. */
async function acceptHerd(
  world: SimulatedWorld,
  broker: TestBroker,
  herd: { readonly first: number; readonly deliverTimeMs: number },
): Promise<Accepted[]> {
  const accepted: Accepted[] = []
  for (let index = 0; index < HERD_COUNT; index++) {
    const { first, deliverTimeMs } = herd
    accepted.push(broker.accept({ key: first + index, deliverTimeMs, bodyBytes: 600 }))
    if (index % 50 === 0) await settled(world, broker)
  }
  await settled(world, broker)
  return accepted
}

function nineOClock(world: SimulatedWorld, days: number): number {
  return Math.ceil(nowOf(world) / DAY_MS + days) * DAY_MS + 9 * HOUR_MS
}

function keysOf(messages: readonly { readonly key: number }[]): number[] {
  return messages.map(({ key }) => key)
}

test.each([100, 20])('a herd due in %i days is written to a partition once', async days => {
  const world = new SimulatedWorld({ seed: 1 })
  let broker = await TestBroker.open(world)
  const deliverTimeMs = nineOClock(world, days)
  let writtenBytes = 0
  world.faults.onCall = ({ call, path, sizeBytes }) => {
    if (call === 'write' && path.includes('/ladder/')) writtenBytes += sizeBytes
  }
  const accepted = await acceptHerd(world, broker, { first: 0, deliverTimeMs })
  await broker.stop()
  const acceptedBytes = writtenBytes
  expect(acceptedBytes).toBeGreaterThan(HERD_COUNT * 600)
  world.stepClock(deliverTimeMs - LEAD_MS - nowOf(world))
  broker = await TestBroker.open(world)
  await world.runFor(LEAD_MS + 20_000)
  const published = await broker.published()
  expect(mistakes(accepted, published)).toEqual([])
  expect(keysOf(published)).toEqual(keysOf(accepted))
  expect(writtenBytes).toBe(acceptedBytes)
  await broker.stop()
  expect(await timerFiles(world)).toEqual([])
})

test('what is accepted for the same moment, early and late, is delivered in that order', async () => {
  const world = new SimulatedWorld({ seed: 2 })
  let broker = await TestBroker.open(world)
  const deliverTimeMs = nineOClock(world, 70)
  const accepted: Accepted[] = []
  // Each time into a partition of a finer rung: those exist when the coarse ones are handed down.
  for (const aheadMs of [70 * DAY_MS, 20 * DAY_MS, 5 * HOUR_MS, 30 * MINUTE_MS]) {
    world.stepClock(deliverTimeMs - aheadMs - nowOf(world))
    await world.runFor(2_000)
    const herd = { first: accepted.length, deliverTimeMs }
    accepted.push(...(await acceptHerd(world, broker, herd)))
    await broker.stop()
    broker = await TestBroker.open(world)
  }
  world.stepClock(deliverTimeMs - LEAD_MS - nowOf(world))
  await world.runFor(LEAD_MS + 60_000)
  const published = await broker.published()
  expect(mistakes(accepted, published)).toEqual([])
  expect(keysOf(published)).toEqual(keysOf(accepted))
})

test('wherever the process or the power dies while chunks are handed down, all is delivered once', async () => {
  for (let seed = 10; seed < 34; seed++) {
    const world = new SimulatedWorld({ seed })
    const busy = { store: { checkpointIntervalMs: 20 } }
    let broker = await TestBroker.open(world, busy)
    const deliverTimeMs = nineOClock(world, 100)
    const accepted = await acceptHerd(world, broker, { first: 0, deliverTimeMs })
    await broker.stop()
    // Ten seconds ahead it goes down to the millisecond.
    world.stepClock(deliverTimeMs - 10_010 - nowOf(world))
    world.faults.rates.slowCall = 0.3
    broker = await TestBroker.open(world, busy)
    // A rung down each millisecond, and a checkpoint now and then.
    for (let life = 0; life < 3; life++) {
      await world.runFor((seed % 12) + 6 * life)
      if (seed % 2 === 0) world.kill()
      else world.crash()
      broker = await TestBroker.open(world, busy)
    }
    world.faults.heal()
    await world.runFor(deliverTimeMs + 30_000 - nowOf(world))
    const published = await broker.published()
    expect(mistakes(accepted, published), `seed ${seed}`).toEqual([])
    await broker.stop()
    expect(await timerFiles(world)).toEqual([])
  }
}, 60_000)

test('what was handed down is found where it lies, also after a restart', async () => {
  const world = new SimulatedWorld({ seed: 3 })
  let broker = await TestBroker.open(world, { timers: { windowCountMax: 10 } })
  const deliverTimeMs = nineOClock(world, 100)
  const accepted = await acceptHerd(world, broker, { first: 0, deliverTimeMs })
  const other = broker.accept({ key: -1, deliverTimeMs: deliverTimeMs + DAY_MS })
  await settled(world, broker)
  await broker.stop()
  world.stepClock(deliverTimeMs - LEAD_MS - nowOf(world))
  broker = await TestBroker.open(world, { timers: { windowCountMax: 10 } })
  await world.runFor(6_000)
  const [first, , third] = accepted
  if (first === undefined || third === undefined) throw new Error('the herd is there')
  expect(await world.finish(broker.cancel(first))).toBe('cancelled')
  world.crash()
  broker = await TestBroker.open(world)
  await world.runFor(100)
  expect(await world.finish(broker.cancel(first))).toBe('cancelled')
  expect(await world.finish(broker.move(third, deliverTimeMs + 1))).toBe('done')
  await world.runFor(deliverTimeMs + 30_000 - nowOf(world))
  expect(mistakes(accepted, await broker.published())).toEqual([])
  expect(broker.timers.statistics().waitingCount).toBe(1)
  expect(await world.finish(broker.cancel(other))).toBe('cancelled')
})
