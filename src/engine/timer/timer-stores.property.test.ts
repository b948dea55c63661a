import { expect, test } from 'vitest'
import { BrokerError } from '../../core/base/index.ts'
import { SeededRandom, SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { type Accepted, mistakes, TestBroker, timerFiles } from './testing.ts'

/** `SEED=5` repeats one run, `SEED=20,21,22` others. */
const seeds = (process.env['SEED'] ?? '1,2,3,4').split(',').map(Number)

const DELAYS_MS = [0, 1, 3, 50, 700, 4_990, 5_010, 9_000, 30_000, 61_000, 400_000, 8_000_000]

/** Undefined when the broker takes nothing at the moment. */
function attempt(accept: () => Accepted): Accepted | undefined {
  try {
    return accept()
  } catch (error) {
    if (error instanceof BrokerError && /^STORE_(FULL|BUSY)$/.test(error.code)) return undefined
    throw error
  }
}

/** The broker could not do it at the moment: nothing is said about the message. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof BrokerError)) throw error
}

/** A start that a full disk or a failed read prevents is tried again. */
async function openAgain(world: SimulatedWorld): Promise<TestBroker> {
  for (let failures = 0; failures < 20; failures++) {
    try {
      return await TestBroker.open(world)
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error
      expect(['STORE_FULL', 'STORE_FAILED']).toContain(error.code)
      world.exit()
    }
  }
  throw new Error('the broker does not start')
}

/** Random work, crashes and clock steps; then everything must have been published once. */
async function runWorld(seed: number): Promise<{ wrong: readonly string[]; files: string[] }> {
  const world = new SimulatedWorld({ seed })
  const random = new SeededRandom(seed)
  const accepted: Accepted[] = []
  const levels = new Set<number>()
  const topics = ['Target', 'Other']
  let broker = await TestBroker.open(world)
  for (let step = 0; step < 120; step++) {
    const kind = random.below(23)
    const { clock } = world.platform
    if (kind < 9) {
      const herdAtMs = clock.timeMs() + random.below(20_000)
      const isHerd = random.chance(0.3)
      const count = random.below(60)
      for (let index = 0; index < count; index++) {
        const delayMs = (DELAYS_MS[random.below(DELAYS_MS.length)] ?? 0) * random.fraction()
        const deliverTimeMs = isHerd ? herdAtMs : clock.timeMs() + Math.ceil(delayMs)
        const topic = topics[random.below(2)] ?? 'Target'
        const message = { key: accepted.length, deliverTimeMs, topic, bodyBytes: random.below(800) }
        const outcome = attempt(() => broker.accept(message))
        if (outcome !== undefined) accepted.push(outcome)
      }
    } else if (kind < 11) {
      for (let index = 0; index < 20; index++) {
        const level = 1 + random.below(4)
        const outcome = attempt(() => broker.acceptLevel({ key: accepted.length, level }))
        if (outcome === undefined) continue
        levels.add(outcome.key)
        accepted.push(outcome)
      }
    } else if (kind >= 20) {
      for (let count = random.below(30); count > 0 && accepted.length > 0; count--) {
        const message = accepted[accepted.length - 1 - random.below(Math.min(300, accepted.length))]
        // What waits for a delay level cannot be cancelled.
        if (message === undefined || levels.has(message.key)) continue
        if (random.chance(0.5)) {
          broker.cancel(message).catch(ignoreRefusal)
        } else if (message.mayBeDueMs.length === 1) {
          const aheadMs = (DELAYS_MS[random.below(DELAYS_MS.length)] ?? 0) * random.fraction()
          broker.move(message, clock.timeMs() + Math.ceil(aheadMs)).catch(ignoreRefusal)
        }
      }
    } else if (kind === 11) {
      if (broker.sink.refused.size > 0) broker.sink.refused.clear()
      else broker.sink.refused.add('Other')
    } else if (kind === 12) {
      broker.sink.isBusy = !broker.sink.isBusy
    } else if (kind === 13) {
      const ms = (random.below(2) === 0 ? -1 : 1) * random.below(2 * 3_600_000)
      world.stepClock(ms)
    } else if (kind === 14) {
      if (random.chance(0.5)) world.crash()
      else world.kill()
      broker = await openAgain(world)
    } else if (kind === 16 && random.chance(0.5)) {
      world.faults.failNext({ call: 'write', error: 'STORE_FULL', count: 1 + random.below(5) })
    } else if (kind === 17 && random.chance(0.5)) {
      const path = /ladder|parked/
      world.faults.failNext({ call: 'read', path, error: 'STORE_FAILED', count: random.below(4) })
    } else if (kind === 15 && random.chance(0.3)) {
      await broker.stop()
      broker = await openAgain(world)
    }
    await world.runFor(random.below(3) === 0 ? random.below(12_000) : random.below(50))
  }
  broker.sink.isBusy = false
  broker.sink.refused.clear()
  await world.runFor(100_000)
  const dues = accepted.flatMap(message => [message.deliverTimeMs, ...message.mayBeDueMs])
  const lastMs = Math.max(...dues)
  world.stepClock(Math.max(0, lastMs - world.platform.clock.timeMs()))
  await world.runFor(60_000)
  const published = [...(await broker.published('Target')), ...(await broker.published('Other'))]
  const wrong = mistakes(accepted, published)
  await broker.stop()
  const files = await timerFiles(world)
  // Everything that was remembered over crashes has been met, and is forgotten.
  broker = await openAgain(world)
  expect(broker.store.section('fired')).toEqual([])
  expect(broker.store.section('removed')).toEqual({ cancelled: [], moved: [] })
  const ladder = broker.store.section('ladder')
  expect(ladder).toMatchObject({ firedAhead: [] })
  expect(JSON.stringify(ladder)).not.toContain('"doneBytes"')
  return { wrong, files }
}

test.each(seeds)(
  'every acknowledged message is published once and none early, whatever happens (SEED=%i)',
  async seed => {
    const { wrong, files } = await runWorld(seed)
    expect(wrong).toEqual([])
    expect(files).toEqual([])
  },
  120_000,
)
