import type { Command } from 'commander'
import type { When } from '../client/index.ts'
import { BrokerError } from '../core/base/index.ts'
import { type MessageRef, parseDeliverAt, parseDuration } from '../model/schedule/index.ts'
import { addRefFlags, type RefFlags, refOf } from './message-argument.ts'
import { addScheduledBulk } from './scheduled-bulk.ts'
import { addScheduledLists } from './scheduled-list.ts'
import { withServer } from './server-address.ts'

interface Flags extends RefFlags {
  readonly server: string
  readonly json?: boolean
}

interface MoveFlags extends Flags {
  readonly delay?: string
  readonly at?: string
}

/** What was done. */
interface Outcome {
  readonly outcome: string
  readonly deliverTimeMs?: number
}

/** `orrery scheduled`: what can be done with a message that waits for its deliver time. */
export function addScheduled(program: Command): void {
  const command = program
    .command('scheduled')
    .description(
      'what waits: list, count, show; cancel, move, deliver one by recall handle or own key, or all',
    )
  addScheduledLists(command)
  addScheduledBulk(command)
  const cancel = command.command('cancel [id]').description('never deliver it')
  addRefFlags(cancel)
  cancel.action((id: string | undefined, flags: Flags) => cancelled(refOf(id, flags), flags))
  const move = command
    .command('move [id]')
    .description('deliver it at another time')
    .option('--delay <duration>', 'in 250ms, 10s, 15m, 36h, 30d from now')
    .option('--at <time>', 'at 2030-01-31T09:00:00+01:00, or milliseconds since 1970')
  addRefFlags(move)
  move.action((id: string | undefined, flags: MoveFlags) => {
    return moved(refOf(id, flags), whenOf(flags), flags)
  })
  const deliver = command.command('deliver [id]').description('deliver it now')
  addRefFlags(deliver)
  deliver.action((id: string | undefined, flags: Flags) => {
    return moved(refOf(id, flags), { delayMs: 0 }, flags)
  })
}

async function cancelled(ref: MessageRef, flags: Flags): Promise<void> {
  await withServer(flags.server, async client => {
    const outcome = await client.cancel(ref)
    if (outcome !== 'cancelled') throw new BrokerError('NOT_WAITING', { outcome })
    print({ outcome }, flags)
  })
}

async function moved(ref: MessageRef, when: When, flags: Flags): Promise<void> {
  await withServer(flags.server, async client => {
    const { kind: outcome, ...time } = await client.move(ref, when)
    if (outcome !== 'moved') throw new BrokerError('NOT_WAITING', { outcome })
    print({ outcome, ...time }, flags)
  })
}

function whenOf({ delay, at }: MoveFlags): When {
  if ((delay === undefined) === (at === undefined)) {
    const problem = 'give one of --delay and --at'
    throw new BrokerError('COMMAND_LINE_INVALID', { problem })
  }
  if (delay === undefined) return { deliverTimeMs: parseDeliverAt(at ?? '') }
  return { delayMs: parseDuration(delay) }
}

function print(outcome: Outcome, { json }: Flags): void {
  if (json === true) console.log(JSON.stringify(outcome))
  else if (outcome.deliverTimeMs === undefined) console.log(outcome.outcome)
  else console.log(`${outcome.outcome} to ${new Date(outcome.deliverTimeMs).toISOString()}`)
}
