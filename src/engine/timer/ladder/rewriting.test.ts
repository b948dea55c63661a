import { expect, test } from 'vitest'
import { SeededRandom, SimulatedWorld } from '../../../core/platform/simulated/index.ts'
import { CHUNK_HEADER_BYTES } from '../chunk.ts'
import { type Accepted, mistakes, TestBroker, timerFiles } from '../testing.ts'
import { ladderSectionOf } from './ladder-section.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const COUNT = 600
const BODY_BYTES = 1_000
/** Of what is kept of a cancelled message. */
const HEADER_BYTES = 56

function nowOf(world: SimulatedWorld): number {
  return world.platform.clock.timeMs()
}

async function settled(world: SimulatedWorld, broker: TestBroker): Promise<void> {
  await world.finish(broker.store.whenApplied(broker.store.endOffset - 1))
}

async function bytesOnDisk(world: SimulatedWorld): Promise<number> {
  let bytes = 0
  for (const path of await timerFiles(world)) {
    bytes += (await world.finish(world.outside.files.sizeOf(path))) ?? 0
  }
  return bytes
}

/** A chunk several times as large as what is loaded whole, durable. */
async function acceptMany(
  world: SimulatedWorld,
  broker: TestBroker,
  firstDueMs: number,
  bodyBytes = BODY_BYTES,
): Promise<Accepted[]> {
  const accepted: Accepted[] = []
  for (let key = 0; key < COUNT; key++) {
    const deliverTimeMs = firstDueMs + key * 60_000
    accepted.push(broker.accept({ key, deliverTimeMs, bodyBytes }))
    if (key % 10 === 0) await settled(world, broker)
  }
  await world.runFor(6_000)
  return accepted
}

function farDay(world: SimulatedWorld): number {
  return Math.ceil(nowOf(world) / DAY_MS + 20) * DAY_MS
}

/** Lets everything become due, in a few steps: it is delivered, and no file is left. */
async function playToEnd(
  world: SimulatedWorld,
  broker: TestBroker,
  accepted: readonly Accepted[],
): Promise<void> {
  const dues = accepted.flatMap(message => message.mayBeDueMs).toSorted((a, b) => a - b)
  for (const share of [0, 0.3, 0.6, 1]) {
    const dueMs = dues[Math.floor(share * (dues.length - 1))] ?? 0
    world.stepClock(Math.max(0, dueMs - nowOf(world) - 11_000))
    await world.runFor(20_000)
  }
  expect(mistakes(accepted, await broker.published())).toEqual([])
  await broker.stop()
  expect(await timerFiles(world)).toEqual([])
}

test('the disk has the room of cancelled messages back long before their time', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const broker = await TestBroker.open(world)
  const accepted = await acceptMany(world, broker, farDay(world))
  const before = await bytesOnDisk(world)
  const cancelled = accepted.filter(({ key }) => key % 10 !== 0)
  await world.finish(Promise.all(cancelled.map(message => broker.cancel(message))))
  await world.runFor(20_000)
  const after = await bytesOnDisk(world)
  expect(after).toBeLessThan(before * 0.1 + cancelled.length * HEADER_BYTES + 1_000)
  // What is left of them says so, in the new file too.
  for (const message of cancelled.slice(0, 20)) {
    expect(await world.finish(broker.cancel(message))).toBe('cancelled')
  }
  expect(broker.timers.statistics().waitingCount).toBe(accepted.length - cancelled.length)
  await playToEnd(world, broker, accepted)
}, 60_000)

test('a file that holds headers of cancelled messages is not rewritten over and over', async () => {
  const world = new SimulatedWorld({ seed: 2 })
  const tiny = { timers: { loadBytesMax: 16 * 1024 } }
  const broker = await TestBroker.open(world, tiny)
  const accepted = await acceptMany(world, broker, farDay(world))
  const [first] = accepted
  if (first === undefined) throw new Error('there are some')
  await world.finish(Promise.all(accepted.map(message => broker.cancel(message))))
  await world.runFor(20_000)
  const [file, ...others] = await timerFiles(world)
  expect(others).toEqual([])
  // Larger than what is loaded whole, and all of it is cancelled.
  expect(await bytesOnDisk(world)).toBeGreaterThan(COUNT * HEADER_BYTES)
  await world.runFor(60_000)
  expect(await timerFiles(world)).toEqual([file])
  expect(await world.finish(broker.cancel(first))).toBe('cancelled')
})

test('of messages that were moved to another time nothing is left where they were', async () => {
  const world = new SimulatedWorld({ seed: 3 })
  const broker = await TestBroker.open(world)
  const firstDueMs = farDay(world)
  const accepted = await acceptMany(world, broker, firstDueMs)
  const before = await bytesOnDisk(world)
  for (const message of accepted) {
    await world.finish(broker.move(message, firstDueMs + 100 * DAY_MS + message.key))
  }
  await world.runFor(20_000)
  // Twice as much but for the rewriting, which began when half of them were moved.
  expect(await bytesOnDisk(world)).toBeLessThan(before * 1.6)
  await playToEnd(world, broker, accepted)
}, 60_000)

test('what is soon due is not rewritten', async () => {
  const world = new SimulatedWorld({ seed: 4 })
  const broker = await TestBroker.open(world)
  // Of one hour, which begins within minutes.
  const hourMs = Math.ceil(nowOf(world) / HOUR_MS) * HOUR_MS
  world.stepClock(hourMs + HOUR_MS - 3 * HOUR_MS - nowOf(world))
  const accepted: Accepted[] = []
  for (let key = 0; key < COUNT; key++) {
    const deliverTimeMs = hourMs + HOUR_MS + key
    accepted.push(broker.accept({ key, deliverTimeMs, bodyBytes: BODY_BYTES }))
    if (key % 50 === 0) await settled(world, broker)
  }
  await world.runFor(6_000)
  const before = await timerFiles(world)
  world.stepClock(hourMs + HOUR_MS - 300_000 - nowOf(world))
  for (const message of accepted) await world.finish(broker.cancel(message))
  await world.runFor(20_000)
  expect(await timerFiles(world)).toEqual(before)
})

test('wherever it is interrupted, cancels, moves and new messages meanwhile hold', async () => {
  let begunCount = 0
  for (let seed = 10; seed < 18; seed++) {
    const world = new SimulatedWorld({ seed })
    const random = new SeededRandom(seed)
    const roomy = { cacheBytes: 8 * 1024 * 1024, unappliedBytesMax: 4 * 1024 * 1024 }
    // As long as so much is loaded whole, nothing is rewritten.
    const timers = { loadBytesMax: 64 * 1024 * 1024 }
    let broker = await TestBroker.open(world, { store: roomy, timers })
    const firstDueMs = farDay(world)
    const accepted = await acceptMany(world, broker, firstDueMs, 14_000)
    const cancelled = accepted.filter(({ key }) => key % 5 !== 0)
    await world.finish(Promise.all(cancelled.map(message => broker.cancel(message))))
    await broker.stop()
    world.faults.rates.slowCall = 0.02
    const busy = { store: { ...roomy, checkpointIntervalMs: 30 } }
    broker = await TestBroker.open(world, busy)
    for (let life = 0; life < 3; life++) {
      const { checkpointOffset } = broker.store
      for (let count = 0; count < 12; count++) {
        await world.runFor(random.below(20))
        void broker.cancel(random.pick(accepted))
        if (random.chance(0.5)) void broker.move(random.pick(accepted), firstDueMs + DAY_MS)
        const deliverTimeMs = firstDueMs + random.below(DAY_MS)
        accepted.push(broker.accept({ key: accepted.length, deliverTimeMs, bodyBytes: 100 }))
      }
      // With a manifest from the middle of it, as a rule.
      await world.run(() => broker.store.checkpointOffset > checkpointOffset, 1_000)
      await world.runFor(random.below(15))
      if (random.chance(0.5)) world.kill()
      else world.crash()
      broker = await TestBroker.open(world, busy)
      begunCount += hasBegun(broker) ? 1 : 0
    }
    world.faults.heal()
    await world.runFor(30_000)
    for (const message of cancelled) {
      expect(await world.finish(broker.cancel(message)), `seed ${seed}`).toBe('cancelled')
    }
    // Nothing is due yet: whoever asked for a message on its way found it.
    const unmoved = accepted.slice(0, COUNT).filter(({ mayBeDueMs, deliverTimeMs }) => {
      return mayBeDueMs.every(dueMs => dueMs === deliverTimeMs)
    })
    expect(unmoved.flatMap(({ cancels }) => cancels)).not.toContain('absent')
    await playToEnd(world, broker, accepted)
  }
  expect(begunCount).toBeGreaterThan(0)
}, 120_000)

/** The manifest of the start has a chunk of which a part was rewritten. */
function hasBegun(broker: TestBroker): boolean {
  const { partitions } = ladderSectionOf(broker.store.section('ladder'))
  const whole = partitions.filter(({ isSplit }) => !isSplit)
  return whole.some(({ chunks }) => chunks.some(chunk => chunk.doneBytes > CHUNK_HEADER_BYTES))
}
