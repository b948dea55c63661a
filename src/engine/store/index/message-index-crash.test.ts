import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../../core/platform/simulated/index.ts'
import { checkpointed, flushed } from '../testing.ts'
import { foundKeys, type IndexedScene, sendKeyed, startIndexed } from './testing.ts'

const seeds = Array.from({ length: 60 }, (_, index) => index + 1)

/** Many of one word: their items are one chain, over a sector's border. */
async function sendMany(scene: IndexedScene, from: number, to: number): Promise<void> {
  for (let number = from; number < to; number++) {
    sendKeyed(scene, { uniqueKey: `u${number}`, keys: `all k${number % 7}` })
  }
  await flushed(scene.world, scene.store)
}

test.each(seeds)('a power cut while a checkpoint writes loses no entry (SEED=%i)', async seed => {
  const world = new SimulatedWorld({ seed })
  const geometry = { slotCount: 3_000, itemCount: 2_000 }
  const first = await startIndexed(world, { geometry })
  await sendMany(first, 0, 25)
  await checkpointed(world, first.store)
  await sendMany(first, 25, 50)
  // The power goes at one of the calls on the index's files of the next checkpoint.
  let calls = 0
  world.faults.onCall = ({ path }) => {
    if (path.includes('/index/')) calls++
  }
  const endsAt = 1 + (seed % 8)
  const isCut = await world.run(() => calls >= endsAt, 12_000)
  await world.runFor(seed / 30)
  world.faults.onCall = undefined
  expect(isCut).toBe(true)
  world.crash()
  const scene = await startIndexed(world, { geometry })
  const all = Array.from({ length: 50 }, (_, number) => `u${number}`)
  expect(await foundKeys(scene, { key: 'all' })).toEqual(all)
  // And they are written once more, to the same file.
  await sendMany(scene, 50, 60)
  await checkpointed(world, scene.store)
  for (let word = 0; word < 7; word++) {
    const keys = Array.from({ length: 60 }, (_, number) => number).filter(each => each % 7 === word)
    expect(await foundKeys(scene, { key: `k${word}` })).toEqual(keys.map(number => `u${number}`))
  }
})
