import { expect, test } from 'vitest'
import { SeededRandom, SimulatedWorld } from '../../core/platform/simulated/index.ts'
import type { Store } from './store.ts'
import { flushed, missing, send, type Sent, startStore } from './testing.ts'

const oneSeed = process.env['SEED']
const seeds =
  oneSeed === undefined ? Array.from({ length: 12 }, (_, index) => index + 1) : [Number(oneSeed)]

interface Run {
  readonly world: SimulatedWorld
  readonly random: SeededRandom
  /** Sent since the last start. */
  readonly sent: Sent[]
}

async function work(run: Run, store: Store): Promise<void> {
  const { world, random } = run
  const burst = random.below(60)
  for (let index = 0; index < burst; index++) {
    const queueId = random.below(3)
    const body = `${queueId} ${world.uptimeMs} ${'x'.repeat(random.below(1 + random.below(6_000)))}`
    if (store.congested) await flushed(world, store)
    run.sent.push(send(world, store, { queueId, body }))
  }
  await world.runFor(random.below(4) === 0 ? 7_000 * random.fraction() : 5 * random.fraction())
}

test.each(seeds)('what was visible is there after every crash (SEED=%i)', async seed => {
  const world = new SimulatedWorld({ seed })
  const random = new SeededRandom(seed)
  const flush = seed % 5 === 0 ? 'async' : 'sync'
  const visible: Sent[] = []
  let store = await startStore(world, { flush })
  for (let round = 0; round < 15; round++) {
    const run: Run = { world, random, sent: [] }
    const steps = random.below(4)
    for (let step = 0; step < steps; step++) await work(run, store)
    visible.push(...run.sent.filter(sent => sent.commitLogOffset < store.appliedOffset))
    const end = random.below(flush === 'async' ? 2 : 3)
    if (end === 0) await world.finish(store.stop())
    if (end === 0) world.exit()
    else if (end === 1) world.kill()
    else world.crash()
    store = await startStore(world, { flush })
    expect(await missing(world, store, visible)).toEqual([])
  }
  // A torn write with whole ones behind it passes for damage, and its message for missing.
  const problems = world.logLines.filter(({ level }) => level === 'error')
  const torn = problems.filter(({ message }) => message.includes('passed over'))
  const gaps = problems.filter(({ message }) => message.includes('missing'))
  expect(problems).toHaveLength(torn.length + gaps.length)
  if (torn.length === 0) expect(gaps).toEqual([])
})
