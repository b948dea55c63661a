import { expect, test } from 'vitest'
import { SeededRandom, SimulatedWorld } from '../../../core/platform/simulated/index.ts'
import { flushed } from '../testing.ts'
import { foundKeys, type IndexedScene, sendKeyed, startIndexed, uniqueKeyOf } from './testing.ts'

const oneSeed = process.env['SEED']
const seeds =
  oneSeed === undefined ? Array.from({ length: 14 }, (_, index) => index + 1) : [Number(oneSeed)]

const TOPICS = ['TopicTest', 'Orders']
const WORDS = ['red', 'green', 'blue', 'grün', 'AaAa', 'BBBB', 'AaBB']

interface Sent {
  readonly topic: string
  readonly uniqueKey: string
  readonly words: readonly string[]
  readonly commitLogOffset: number
}

/** Sends some messages, each with up to three words, and lets time pass. */
async function work(scene: IndexedScene, random: SeededRandom, sent: Sent[]): Promise<void> {
  const { world, store } = scene
  const burst = random.below(80)
  for (let index = 0; index < burst; index++) {
    if (store.congested) await flushed(world, store)
    const topic = random.pick(TOPICS)
    const uniqueKey = `u${sent.length}`
    const words = Array.from({ length: random.below(4) }, () => random.pick(WORDS))
    const keys = words.join(random.pick([' ', '  ']))
    const waits = random.chance(0.3)
    const commitLogOffset = sendKeyed(scene, { topic, uniqueKey, keys, waits })
    sent.push({ topic, uniqueKey, words, commitLogOffset })
  }
  await world.runFor(random.below(4) === 0 ? 7_000 * random.fraction() : 5 * random.fraction())
}

/** The model: what the log really holds, by topic and word. A crash takes what was not flushed. */
async function truth(scene: IndexedScene, sent: readonly Sent[]): Promise<Map<string, string[]>> {
  const { world, store } = scene
  const keys = new Map<string, string[]>()
  for (const { topic, uniqueKey, words, commitLogOffset } of sent) {
    const record = await world.finish(store.readRecord(commitLogOffset))
    if (record === undefined || uniqueKeyOf(record) !== uniqueKey) continue
    for (const word of new Set([uniqueKey, ...words])) {
      const key = `${topic}#${word}`
      keys.set(key, [...(keys.get(key) ?? []), uniqueKey])
    }
  }
  return keys
}

/** All words, and the youngest unique keys with some of the older ones. */
async function check(scene: IndexedScene, sent: readonly Sent[]): Promise<void> {
  const expected = await truth(scene, sent)
  const checked = sent.filter((_, index) => index % 13 === 0 || index > sent.length - 30)
  for (const topic of TOPICS) {
    for (const key of [...WORDS, ...checked.map(({ uniqueKey }) => uniqueKey)]) {
      const keys = expected.get(`${topic}#${key}`) ?? []
      expect([key, ...(await foundKeys(scene, { topic, key }))]).toEqual([key, ...keys.slice(-64)])
    }
  }
}

test.each(seeds)('what the log holds is found, after every crash (SEED=%i)', async seed => {
  const world = new SimulatedWorld({ seed })
  const random = new SeededRandom(seed)
  const flush = seed % 3 === 0 ? 'async' : 'sync'
  // One size holds everything up to the checkpoint, the other is written all the time.
  const stagedBytesMax = seed % 2 === 0 ? 48 * 1024 : 2 * 24 * 20
  const options = { stagedBytesMax, store: { flush } } as const
  const sent: Sent[] = []
  let scene = await startIndexed(world, options)
  for (let round = 0; round < 10; round++) {
    const steps = random.below(4)
    for (let step = 0; step < steps; step++) await work(scene, random, sent)
    if (random.chance(0.3)) await flushed(world, scene.store)
    const end = random.below(3)
    if (end === 0) await world.finish(scene.store.stop())
    if (end === 0) world.exit()
    else if (end === 1) world.kill()
    else world.crash()
    scene = await startIndexed(world, options)
    if (round % 5 === 4) await check(scene, sent)
  }
  await work(scene, random, sent)
  await flushed(world, scene.store)
  await check(scene, sent)
})
