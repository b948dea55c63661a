import type { Command } from 'commander'
import { ScheduledMessagesClient } from '../client/index.ts'
import type { Forecast } from '../model/schedule/index.ts'
import { parseDuration } from '../model/schedule/index.ts'
import { addFilterFlags, type FilterFlags, filterOf } from './schedule-filter.ts'
import { addServerFlags, withServer } from './server-address.ts'

interface Flags extends FilterFlags {
  readonly step: string
  readonly server: string
  readonly json?: boolean
}

const HOUR_MS = 3_600_000

/** `orrery forecast`: how many messages become due, step by step. */
export function addForecast(program: Command): void {
  const command = program
    .command('forecast')
    .description('how many messages become due in each step of a time, by default the next hour')
  addFilterFlags(command)
  command.option('--step <duration>', 'width of a step', '1m')
  addServerFlags(command)
  command.action((flags: Flags) => forecast(flags))
}

async function forecast(flags: Flags): Promise<void> {
  const stepMs = parseDuration(flags.step)
  await withServer(flags.server, async client => {
    const nowMs = client.platform.clock.timeMs()
    const filter = filterOf(flags, nowMs)
    // Whole steps, so that the times read well.
    const startMs = filter.fromMs ?? nowMs
    const fromMs = startMs - (startMs % Math.max(1, stepMs))
    const steps = { fromMs, toMs: filter.toMs ?? startMs + HOUR_MS, stepMs }
    const found = await new ScheduledMessagesClient(client).forecast(filter, steps)
    print(found, steps, flags.json === true)
  })
}

function print(
  { counts, estimatedCount }: Forecast,
  { fromMs, stepMs }: { readonly fromMs: number; readonly stepMs: number },
  json: boolean,
): void {
  if (json) {
    console.log(JSON.stringify({ fromMs, stepMs, counts, estimatedCount }))
    return
  }
  for (const [step, count] of counts.entries()) {
    if (count > 0) console.log(`${new Date(fromMs + step * stepMs).toISOString()}  ${count}`)
  }
  const total = counts.reduce((sum, count) => sum + count, 0)
  const estimated = estimatedCount === 0 ? '' : `, of which ${estimatedCount} spread by estimate`
  console.log(`${total} in all${estimated}`)
}
