import type { Command } from 'commander'
import { ScheduledMessagesClient } from '../client/index.ts'
import { BrokerError } from '../core/base/index.ts'
import { type BulkChange, parseDuration } from '../model/schedule/index.ts'
import { addMeantFlags, filterOf, type MeantFlags } from './schedule-filter.ts'
import { addServerFlags, withServer } from './server-address.ts'

interface Flags extends MeantFlags {
  readonly everything?: boolean
  readonly dryRun?: boolean
  readonly server: string
  readonly json?: boolean
}

interface ShiftFlags extends Flags {
  readonly by: string
}

const REFUSED =
  'they could not be moved, as the time would be beyond the longest delay, or could not be read'

/** `orrery scheduled cancel-all | shift-all`: changes of all that a filter means. */
export function addScheduledBulk(scheduled: Command): void {
  const cancel = scheduled
    .command('cancel-all')
    .description('never deliver any of those that the filter means')
  addBulkFlags(cancel)
  cancel.action((flags: Flags) => changeAll({ kind: 'cancel' }, flags))
  const shift = scheduled
    .command('shift-all')
    .description('deliver those that the filter means later, or earlier')
    .requiredOption('--by <duration>', 'later by 250ms, 10s, 15m, 36h, 30d; earlier by -15m')
  addBulkFlags(shift)
  shift.action((flags: ShiftFlags) => changeAll({ kind: 'shift', shiftMs: by(flags.by) }, flags))
}

function addBulkFlags(command: Command): void {
  addMeantFlags(command)
  command
    .option('--everything', 'with no filter: all messages that wait')
    .option('--dry-run', 'change nothing, and say how many it would be')
  addServerFlags(command)
}

async function changeAll(change: BulkChange, flags: Flags): Promise<void> {
  const { topic, tag, key, keyPrefix, from, to } = flags
  const isFiltered = [topic, tag, key, keyPrefix, from, to].some(flag => flag !== undefined)
  if (!isFiltered && flags.everything !== true) {
    const problem = 'give a filter, or --everything'
    throw new BrokerError('COMMAND_LINE_INVALID', { problem })
  }
  const dryRun = flags.dryRun === true
  await withServer(flags.server, async client => {
    const filter = filterOf(flags, client.platform.clock.timeMs())
    const count = await new ScheduledMessagesClient(client).changeAll(filter, change, dryRun)
    if (flags.json === true) {
      console.log(JSON.stringify({ ...count, dryRun }))
      return
    }
    const done = change.kind === 'cancel' ? 'cancelled' : 'shifted'
    console.log(`${count.changedCount} ${dryRun ? `would be ${done}` : done}`)
    if (count.refusedCount > 0) {
      console.log(`${count.refusedCount} stay: ${REFUSED}`)
    }
  })
}

/** A duration either way. Errors: DURATION_INVALID. */
function by(text: string): number {
  return text.startsWith('-') ? -parseDuration(text.slice(1)) : parseDuration(text)
}
