import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../../../core/platform/simulated/index.ts'
import { findProperty, PROPERTY, recordProperties } from '../../../../model/message/index.ts'
import { type Accepted, TestBroker } from '../../testing.ts'
import type { ListPosition } from './list-order.ts'
import { Tally } from './tally.ts'
import type { ListedMessage, WaitingQuery } from './waiting-list.ts'

const SECOND_MS = 1000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const ALL: WaitingQuery = { fromMs: 0, toMs: 1e15, isParked: undefined, matches: undefined }

async function listed(
  world: SimulatedWorld,
  broker: TestBroker,
  query: WaitingQuery,
  countMax: number,
): Promise<ListedMessage[]> {
  const found: ListedMessage[] = []
  let after: ListPosition | undefined
  for (;;) {
    const step = await world.finish(broker.timers.list(query, after, countMax))
    found.push(...step.messages)
    expect(step.messages.length).toBeLessThanOrEqual(countMax)
    if (step.next === undefined) return found
    after = step.next
  }
}

function keyOf({ record }: ListedMessage): number {
  return Number(findProperty(recordProperties(record, 0), PROPERTY.KEYS))
}

function ascending(keys: readonly number[]): number[] {
  return keys.toSorted((a, b) => a - b)
}

/** A few times that many messages share, and some of their own. */
const delays = fc.oneof(
  fc.constantFrom(2 * SECOND_MS, 8 * SECOND_MS, 3 * HOUR_MS, 40 * DAY_MS),
  fc.integer({ min: 1, max: 20 * SECOND_MS }),
  fc.integer({ min: 1, max: 5 * HOUR_MS }),
  fc.integer({ min: 1, max: 400 * DAY_MS }),
)

const scenes = fc.record({
  seed: fc.nat(1_000),
  bursts: fc.array(
    fc.record({
      delayMs: delays,
      count: fc.integer({ min: 1, max: 60 }),
      topic: fc.constantFrom('Target', 'Other', 'Refused'),
      bodyBytes: fc.constantFrom(20, 900),
    }),
    { minLength: 1, maxLength: 12 },
  ),
  cancelEvery: fc.integer({ min: 2, max: 9 }),
  runMs: fc.constantFrom(0, 500, 3_000, 9_000),
  restart: fc.constantFrom('none', 'stop', 'crash'),
  countMax: fc.constantFrom(1, 7, 100),
})

function refuse(sink: { readonly refused: Set<string> }): void {
  sink.refused.add('Refused')
}

test('a list has every message that waits, once, and the count is theirs', async () => {
  await fc.assert(
    fc.asyncProperty(scenes, async scene => {
      const world = new SimulatedWorld({ seed: scene.seed })
      let broker = await TestBroker.open(world, {}, refuse)
      const startMs = world.platform.clock.timeMs()
      const accepted: Accepted[] = []
      for (const { delayMs, count, topic, bodyBytes } of scene.bursts) {
        for (let index = 0; index < count; index++) {
          const key = accepted.length
          accepted.push(broker.accept({ key, deliverTimeMs: startMs + delayMs, topic, bodyBytes }))
        }
        await world.finish(broker.store.whenApplied(broker.store.endOffset - 1))
      }
      await world.runFor(scene.runMs)
      const cancelled = new Set<number>()
      for (const message of accepted.filter(({ key }) => key % scene.cancelEvery === 0)) {
        const answer = await world.finish(broker.cancel(message))
        if (answer === 'cancelled') cancelled.add(message.key)
      }
      if (scene.restart !== 'none') {
        if (scene.restart === 'stop') await broker.stop()
        else world.crash()
        broker = await TestBroker.open(world, {}, refuse)
      }
      const nowMs = world.platform.clock.timeMs()
      // What is due within a moment may be on its way while the list is made.
      const isSettled = ({ deliverTimeMs, topic }: Accepted): boolean =>
        deliverTimeMs > nowMs + SECOND_MS ||
        (deliverTimeMs < nowMs - 2 * SECOND_MS && topic === 'Refused')
      const isOver = ({ deliverTimeMs, topic }: Accepted): boolean =>
        deliverTimeMs < nowMs - 2 * SECOND_MS && topic !== 'Refused'
      const waits = accepted.filter(message => isSettled(message) && !cancelled.has(message.key))
      const known = new Set(accepted.filter(m => isSettled(m) || isOver(m)).map(({ key }) => key))

      const keys = (await listed(world, broker, ALL, scene.countMax)).map(keyOf)
      expect(new Set(keys).size).toBe(keys.length)
      expect(ascending(keys.filter(key => known.has(key)))).toEqual(waits.map(({ key }) => key))

      const onlyOther: WaitingQuery = {
        fromMs: nowMs + 2 * SECOND_MS,
        toMs: nowMs + 30 * DAY_MS,
        isParked: false,
        matches: (source, position) =>
          findProperty(recordProperties(source, position), PROPERTY.REAL_TOPIC) === 'Other',
      }
      const meant = waits.filter(({ topic, deliverTimeMs }) => {
        return (
          topic === 'Other' && deliverTimeMs >= onlyOther.fromMs && deliverTimeMs < onlyOther.toMs
        )
      })
      const others = (await listed(world, broker, onlyOther, scene.countMax)).map(keyOf)
      expect(ascending(others)).toEqual(meant.map(({ key }) => key))
      const tally = new Tally({ fromMs: onlyOther.fromMs, stepMs: DAY_MS, stepCount: 30 }, 0)
      await world.finish(broker.timers.count(onlyOther, tally))
      expect(tally.total).toBe(meant.length)

      const later: WaitingQuery = { ...ALL, fromMs: nowMs + 2 * SECOND_MS, isParked: false }
      const all = new Tally({ fromMs: 0, stepMs: 1e15, stepCount: 1 }, 0)
      await world.finish(broker.timers.count(later, all))
      expect(all.total).toBe(
        waits.filter(({ deliverTimeMs }) => deliverTimeMs >= later.fromMs).length,
      )
    }),
    { numRuns: 60 },
  )
}, 60_000)

test('small partitions are listed in the order of deliver times', async () => {
  const world = new SimulatedWorld({ seed: 3 })
  const broker = await TestBroker.open(world)
  const startMs = world.platform.clock.timeMs()
  for (let key = 0; key < 100; key++) {
    broker.accept({ key, deliverTimeMs: startMs + HOUR_MS * (1 + ((key * 37) % 100)) })
  }
  await world.finish(broker.store.whenApplied(broker.store.endOffset - 1))
  const times = (await listed(world, broker, ALL, 9)).map(({ deliverTimeMs }) => deliverTimeMs)
  expect(times).toEqual(ascending(times))
  expect(times).toHaveLength(100)
})

test('what is too much for one step is listed by timer id, in many steps', async () => {
  const world = new SimulatedWorld({ seed: 4 })
  const broker = await TestBroker.open(world)
  const startMs = world.platform.clock.timeMs()
  for (let key = 0; key < 600; key++) {
    const deliverTimeMs = startMs + 100 * DAY_MS + ((key * 7) % 1000)
    broker.accept({ key, deliverTimeMs, bodyBytes: 900 })
    if (key % 50 === 0) await world.finish(broker.store.whenApplied(broker.store.endOffset - 1))
  }
  await world.finish(broker.store.whenApplied(broker.store.endOffset - 1))
  const keys = (await listed(world, broker, ALL, 1_000)).map(keyOf)
  expect(keys).toEqual(Array.from({ length: 600 }, (_, key) => key))
})

test('a page goes on behind the message it ended with, although that has gone', async () => {
  const world = new SimulatedWorld({ seed: 6 })
  const broker = await TestBroker.open(world)
  const startMs = world.platform.clock.timeMs()
  const messages = Array.from({ length: 10 }, (_, key) =>
    broker.accept({ key, deliverTimeMs: startMs + HOUR_MS * (1 + key) }),
  )
  await world.finish(broker.store.whenApplied(broker.store.endOffset - 1))
  const first = await world.finish(broker.timers.list(ALL, undefined, 4))
  const last = messages[3]
  if (last !== undefined) await world.finish(broker.cancel(last))
  const second = await world.finish(broker.timers.list(ALL, first.next, 4))
  expect(first.messages.map(keyOf)).toEqual([0, 1, 2, 3])
  expect(second.messages.map(keyOf)).toEqual([4, 5, 6, 7])
})

test.each([
  ['parked', 100, true],
  ['in a partition', 3 * HOUR_MS, false],
])('a step has few messages when they are large, and none is left out: %s', async (...given) => {
  const [, delayMs, isParked] = given
  const world = new SimulatedWorld({ seed: 7 })
  const timers = { listStepBytes: 16 * 1024 * 1024 }
  const broker = await TestBroker.open(world, { timers }, refuse)
  const startMs = world.platform.clock.timeMs()
  for (let key = 0; key < 700; key++) {
    const due = { deliverTimeMs: startMs + delayMs + (key % 7), topic: 'Refused' }
    broker.accept({ key, ...due, bodyBytes: 15_000 })
    await world.finish(broker.store.whenApplied(broker.store.endOffset - 1))
  }
  await world.runFor(3 * SECOND_MS)
  const keys: number[] = []
  let largestBytes = 0
  let after: ListPosition | undefined
  do {
    const query = { ...ALL, isParked }
    const step = await world.finish(broker.timers.list(query, after, 1_000))
    keys.push(...step.messages.map(keyOf))
    const bytes = step.messages.reduce((sum, { record }) => sum + record.length, 0)
    largestBytes = Math.max(largestBytes, bytes)
    after = step.next
  } while (after !== undefined)
  expect(ascending(keys)).toEqual(Array.from({ length: 700 }, (_, key) => key))
  expect(largestBytes).toBeLessThanOrEqual(4 * 1024 * 1024)
  expect(largestBytes).toBeGreaterThan(3 * 1024 * 1024)
})
