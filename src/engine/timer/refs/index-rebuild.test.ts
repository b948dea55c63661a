import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../../core/platform/simulated/index.ts'
import { type Accepted, mistakes, TestBroker } from '../testing.ts'

const DAY_MS = 86_400_000
const COUNT = 150

function linesWith({ logLines }: SimulatedWorld, text: string): number {
  return logLines.filter(({ message }) => message.includes(text)).length
}

/** A broker with messages that were moved, some of them more than once. */
async function withMoved(world: SimulatedWorld): Promise<[TestBroker, readonly Accepted[]]> {
  const broker = await TestBroker.open(world)
  const nowMs = world.platform.clock.timeMs()
  const accepted: Accepted[] = []
  for (let key = 0; key < COUNT; key++) {
    accepted.push(broker.accept({ key, deliverTimeMs: nowMs + DAY_MS + key }))
  }
  await world.runFor(1_000)
  for (const [key, message] of accepted.entries()) {
    for (let round = key % 3; round > 0; round--) {
      const toMs = nowMs + 2 * DAY_MS + 1_000 * round + key
      expect(await world.finish(broker.move(message, toMs))).toBe('done')
    }
  }
  await world.runFor(60_000)
  return [broker, accepted]
}

test.each(['stop', 'kill', 'power cut'] as const)(
  'damage met by a checkpoint ends nothing; after a %s moved messages are found by their first ids',
  async how => {
    const world = new SimulatedWorld({ seed: 1 })
    let [broker, accepted] = await withMoved(world)
    world.faults.failNext({ call: 'keyValueRead', path: /moved/, error: 'STORE_DAMAGED' })
    await world.runFor(180_000)
    expect(broker.store.failure).toBeUndefined()
    expect(linesWith(world, 'the index of moved messages is damaged')).toBe(1)
    // Behind the last checkpoint.
    const nowMs = world.platform.clock.timeMs()
    const [first] = accepted
    if (first === undefined) throw new Error('there are none')
    expect(await world.finish(broker.move(first, nowMs + 3 * DAY_MS))).toBe('done')
    if (how === 'stop') await broker.stop()
    else if (how === 'kill') world.kill()
    else world.crash()
    broker = await TestBroker.open(world)
    await world.runFor(2_000)
    expect(linesWith(world, 'the index of moved messages is made again')).toBe(1)
    for (const message of accepted.slice(0, COUNT / 2)) {
      expect(await world.finish(broker.cancel(message))).toBe('cancelled')
    }
    await broker.stop()
    broker = await TestBroker.open(world)
    await world.runFor(2_000)
    expect(linesWith(world, 'the index of moved messages is made again')).toBe(1)
    for (const message of accepted.slice(COUNT / 2)) {
      expect(await world.finish(broker.move(message, nowMs + 4 * DAY_MS))).toBe('done')
    }
    world.stepClock(4 * DAY_MS)
    await world.runFor(60_000)
    expect(mistakes([...accepted], await broker.published())).toEqual([])
    await broker.stop()
  },
)
