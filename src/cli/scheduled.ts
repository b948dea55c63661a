import type { Command } from 'commander'
import { BrokerError } from '../core/base/index.ts'
import { decodeRecallHandle } from '../model/message/index.ts'
import { parseDeliverAt, parseDuration } from '../model/schedule/index.ts'
import { addScheduledBulk } from './scheduled-bulk.ts'
import { addScheduledLists } from './scheduled-list.ts'
import { addServerFlags, withServer } from './server-address.ts'

interface Flags {
  readonly server: string
  readonly json?: boolean
}

interface MoveFlags extends Flags {
  readonly delay?: string
  readonly at?: string
}

type When = { readonly deliverTimeMs: number } | { readonly delayMs: number }

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
      'what waits: list, count, show; cancel, move, deliver one by its recall handle, or all',
    )
  addScheduledLists(command)
  addScheduledBulk(command)
  const cancel = command.command('cancel <id>').description('never deliver it')
  addServerFlags(cancel)
  cancel.action((id: string, flags: Flags) => cancelled(id, flags))
  const move = command
    .command('move <id>')
    .description('deliver it at another time')
    .option('--delay <duration>', 'in 250ms, 10s, 15m, 36h, 30d from now')
    .option('--at <time>', 'at 2030-01-31T09:00:00+01:00, or milliseconds since 1970')
  addServerFlags(move)
  move.action((id: string, flags: MoveFlags) => moved(id, whenOf(flags), flags))
  const deliver = command.command('deliver <id>').description('deliver it now')
  addServerFlags(deliver)
  deliver.action((id: string, flags: Flags) => moved(id, { delayMs: 0 }, flags))
}

async function cancelled(id: string, flags: Flags): Promise<void> {
  const topic = topicOf(id)
  await withServer(flags.server, async client => {
    const outcome = await client.recall({ topic, recallHandle: id })
    if (outcome !== 'cancelled') throw new BrokerError('NOT_WAITING', { outcome })
    print({ outcome }, flags)
  })
}

async function moved(id: string, when: When, flags: Flags): Promise<void> {
  topicOf(id)
  await withServer(flags.server, async client => {
    const { kind: outcome, ...time } = await client.move(id, when)
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

function topicOf(id: string): string {
  const handle = decodeRecallHandle(id)
  if (handle === undefined) throw new BrokerError('MESSAGE_ID_INVALID')
  return handle.topic
}

function print(outcome: Outcome, { json }: Flags): void {
  if (json === true) console.log(JSON.stringify(outcome))
  else if (outcome.deliverTimeMs === undefined) console.log(outcome.outcome)
  else console.log(`${outcome.outcome} to ${new Date(outcome.deliverTimeMs).toISOString()}`)
}
