import type { BenchmarkContext } from './benchmark.ts'
import type { Broker } from './broker.ts'
import { runOrload } from './orload.ts'

const SLICE_SECONDS = 10
const LIMIT_SECONDS = 120
/** A slice that is so much faster than all before it shows that the compiler is not done. */
const GROWTH_MIN = 1.05

/**
 * Sends for at least `leastSeconds` and until the rate has stopped growing: a cold Java broker
 * needs half a minute to reach it, and measuring it earlier would flatter us.
 */
export async function warmUp(
  context: BenchmarkContext,
  broker: Broker,
  load: Readonly<Record<string, string | number>>,
  leastSeconds: number,
): Promise<void> {
  const seconds = Math.min(SLICE_SECONDS, leastSeconds)
  let best = 0
  let grew = true
  for (let spent = 0; spent < leastSeconds || (grew && spent < LIMIT_SECONDS); spent += seconds) {
    const flags = { ...load, addr: broker.address, topic: 'warm-up', seconds }
    const { send } = await runOrload(context.orload, 'send', flags)
    const rate = send?.accepted_per_s ?? 0
    grew = rate > best * GROWTH_MIN
    best = Math.max(best, rate)
  }
  context.say(`${broker.name} is warm at ${Math.round(best)}/s`)
}
