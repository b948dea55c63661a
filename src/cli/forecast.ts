import type { Command } from 'commander'
import { ScheduledMessagesClient } from '../client/index.ts'
import { BrokerError } from '../core/base/index.ts'
import type { Forecast, ForecastSteps, ScheduleFilter } from '../model/schedule/index.ts'
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
  const stepMs = stepOf(flags.step)
  await withServer(flags.server, async client => {
    const nowMs = client.platform.clock.timeMs()
    const filter = filterOf(flags, nowMs)
    const steps = stepsOf(filter, stepMs, nowMs)
    const found = await new ScheduledMessagesClient(client).forecast(filter, steps)
    print(found, steps, flags.json === true)
  })
}

/** Errors: COMMAND_LINE_INVALID, DURATION_INVALID. */
function stepOf(text: string): number {
  const stepMs = parseDuration(text)
  if (stepMs > 0) return stepMs
  throw new BrokerError('COMMAND_LINE_INVALID', { '--step': 'is longer than nothing' })
}

/** From the given time on, to the millisecond; or from the whole step in which now is. */
export function stepsOf(
  { fromMs, toMs }: ScheduleFilter,
  stepMs: number,
  nowMs: number,
): ForecastSteps {
  return {
    fromMs: fromMs ?? nowMs - (nowMs % stepMs),
    toMs: toMs ?? (fromMs ?? nowMs) + HOUR_MS,
    stepMs,
  }
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
