import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../../core/platform/simulated/index.ts'
import { type Accepted, mistakes, TestBroker } from '../testing.ts'

const MINUTE_MS = 60_000
const RATE = 500
const OPTIONS = { timers: { overdueRateMax: RATE } }

function nowOf(world: SimulatedWorld): number {
  return world.platform.clock.timeMs()
}

/** Accepts 4,000 messages for the minute that begins in two. */
async function backlog(world: SimulatedWorld, broker: TestBroker): Promise<Accepted[]> {
  const accepted: Accepted[] = []
  for (let key = 0; key < 4_000; key++) {
    const deliverTimeMs = nowOf(world) + 2 * MINUTE_MS + ((key * 7_919) % MINUTE_MS)
    accepted.push(broker.accept({ key, deliverTimeMs, bodyBytes: 600 }))
    if (key % 40 === 0) await world.finish(broker.store.whenApplied(broker.store.endOffset - 1))
  }
  await world.finish(broker.store.whenApplied(broker.store.endOffset - 1))
  return accepted
}

async function expectPaced(
  world: SimulatedWorld,
  broker: TestBroker,
  accepted: readonly Accepted[],
): Promise<void> {
  const startMs = nowOf(world)
  const live: Accepted[] = []
  // For the window at once, and through partitions.
  for (let key = 10_000; key < 10_050; key++) {
    live.push(broker.accept({ key, deliverTimeMs: startMs + (key - 9_999) * 150 }))
  }
  await world.runFor(5 * MINUTE_MS)
  const published = await broker.published()
  expect(mistakes([...accepted, ...live], published)).toEqual([])
  const overdue = published.filter(message => message.key < 10_000)
  const dues = overdue.map(message => accepted[message.key]?.deliverTimeMs ?? 0)
  // What one partition holds in several files is loaded file by file.
  let latestMs = 0
  for (const dueMs of dues) {
    latestMs = Math.max(latestMs, dueMs)
    expect(latestMs - dueMs).toBeLessThan(1_000)
  }
  const lastMs = Math.max(...overdue.map(message => message.storeTimeMs))
  expect(lastMs - startMs).toBeGreaterThan((1_000 * accepted.length) / RATE - 500)
  expect(lastMs - startMs).toBeLessThan((1_200 * accepted.length) / RATE)
  for (const message of published.filter(({ key }) => key >= 10_000)) {
    const dueMs = live[message.key - 10_000]?.deliverTimeMs ?? 0
    expect(message.storeTimeMs - dueMs).toBeLessThan(150)
  }
}

test('what fell due while the broker was down comes oldest first, at its rate, live ones in between', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const broker = await TestBroker.open(world, OPTIONS)
  const accepted = await backlog(world, broker)
  await broker.stop()
  world.stepClock(10 * MINUTE_MS)
  await expectPaced(world, await TestBroker.open(world, OPTIONS), accepted)
})

test('what fell due while the clock jumped is overdue as well', async () => {
  const world = new SimulatedWorld({ seed: 2 })
  const broker = await TestBroker.open(world, OPTIONS)
  const accepted = await backlog(world, broker)
  world.stepClock(10 * MINUTE_MS)
  await expectPaced(world, broker, accepted)
})
