import { isUtf8 } from 'node:buffer'
import type { Command } from 'commander'
import { ScheduledMessagesClient } from '../client/index.ts'
import { BrokerError } from '../core/base/index.ts'
import type { MessageRef, ScheduledMessage, WholeMessage } from '../model/schedule/index.ts'
import { addRefFlags, refOf } from './message-argument.ts'
import { addFilterFlags, type FilterFlags, filterOf } from './schedule-filter.ts'
import { addServerFlags, withServer } from './server-address.ts'

interface Flags extends FilterFlags {
  readonly server: string
  readonly json?: boolean
}

interface ListFlags extends Flags {
  readonly limit: string
}

const PAGE_SIZE = 1_000

/** `orrery scheduled list | count | show`: what waits. */
export function addScheduledLists(scheduled: Command): void {
  const list = scheduled.command('list').description('messages that wait, by deliver time')
  addFilterFlags(list)
  list.option('--limit <count>', 'end after so many; 0: all', '100')
  addServerFlags(list)
  list.action((flags: ListFlags) => listed(flags))
  const count = scheduled.command('count').description('how many messages wait')
  addFilterFlags(count)
  addServerFlags(count)
  count.action((flags: Flags) => counted(flags))
  const show = scheduled.command('show [id]').description('all of a message that waits')
  addRefFlags(show)
  show.action((id: string | undefined, flags: Flags) => shown(refOf(id, flags), flags))
}

async function listed(flags: ListFlags): Promise<void> {
  const limit = limitOf(flags.limit)
  await withServer(flags.server, async client => {
    const reader = new ScheduledMessagesClient(client)
    const filter = filterOf(flags, client.platform.clock.timeMs())
    let cursor: string | undefined
    let restCount = limit
    do {
      const page = await reader.list(filter, { limit: Math.min(PAGE_SIZE, restCount), cursor })
      for (const message of page.messages) console.log(lineOf(message, flags.json === true))
      restCount -= page.messages.length
      cursor = page.nextCursor
    } while (cursor !== undefined && restCount > 0)
    if (cursor !== undefined && flags.json !== true) {
      console.error(`orrery: there may be more; --limit 0 lists all`)
    }
  })
}

async function counted(flags: Flags): Promise<void> {
  await withServer(flags.server, async client => {
    const filter = filterOf(flags, client.platform.clock.timeMs())
    const count = await new ScheduledMessagesClient(client).count(filter)
    console.log(flags.json === true ? JSON.stringify({ count }) : String(count))
  })
}

async function shown(ref: MessageRef, flags: Flags): Promise<void> {
  await withServer(flags.server, async client => {
    const message = await new ScheduledMessagesClient(client).find(ref)
    if (message === undefined) throw new BrokerError('NOT_WAITING', { outcome: 'does not wait' })
    console.log(wholeText(message, flags.json === true))
  })
}

/** Errors: COMMAND_LINE_INVALID. */
function limitOf(text: string): number {
  if (!/^\d{1,15}$/.test(text)) {
    throw new BrokerError('COMMAND_LINE_INVALID', { '--limit': `${text} is no count` })
  }
  return Number(text) === 0 ? Infinity : Number(text)
}

/** One line: when, where to, its state, what it is known by. */
export function lineOf(message: ScheduledMessage, json: boolean): string {
  if (json) return JSON.stringify(message)
  const { deliverTimeMs, topic, state, tag, keys, bodyBytes, id } = message
  const name = [tag === undefined ? [] : [`tag=${tag}`], keys.map(key => `key=${key}`)].flat()
  const words = [
    new Date(deliverTimeMs).toISOString(),
    state,
    topic,
    ...name,
    `${bodyBytes} B`,
    id ?? '-',
  ]
  return words.join('  ')
}

function wholeText(message: WholeMessage, json: boolean): string {
  const { body, properties, ...rest } = message
  const content = isUtf8(body) ? { body: body.toString() } : { bodyBase64: body.toString('base64') }
  const whole = { ...rest, properties: Object.fromEntries(properties), ...content }
  if (json) return JSON.stringify(whole)
  const times = {
    deliverTime: new Date(message.deliverTimeMs).toISOString(),
    acceptTime: new Date(message.acceptTimeMs).toISOString(),
  }
  return JSON.stringify({ ...times, ...whole }, undefined, 2)
}
