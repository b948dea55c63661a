import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { OutgoingMessage, SendReceipt } from '../client/index.ts'
import { decodeRecallHandle } from '../model/message/index.ts'
import { sendOrder, type SendFlags, type SendOrder } from './send-order.ts'
import { addServerFlags, withServer } from './server-address.ts'

interface Flags extends SendFlags {
  readonly server: string
  readonly json?: boolean
}

const STANDARD_INPUT = 0

/** `orrery send`: one message, now or for later. */
export function addSend(program: Command): void {
  const command = program
    .command('send <topic> <body>')
    .description('send one message; a body of - is read from standard input')
    .option('--delay <duration>', 'deliver after 250ms, 10s, 15m, 36h, 30d')
    .option('--at <time>', 'deliver at 2030-01-31T09:00:00+01:00, or milliseconds since 1970')
    .option(
      '--level <number>',
      'deliver after the time of this delay level, 1 to 18; levels above the last count as the last',
    )
    .option('--tag <tag>', 'what consumers filter by')
    .option('--key <key>', 'what tools find it by')
    .option('--replace', 'the key is its own: it takes the place of the one that waits with it')
    .option('--if-absent', 'with --replace: only when none waits with the key')
    .option('--property <name=value>', 'a property; may be repeated', collect)
  addServerFlags(command)
  command.action((topic: string, body: string, flags: Flags) => send(topic, body, flags))
}

function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value]
}

async function send(topic: string, body: string, flags: Flags): Promise<void> {
  const content = body === '-' ? readFileSync(STANDARD_INPUT) : Buffer.from(body)
  const order = sendOrder(topic, content, flags)
  await withServer(flags.server, async client => {
    const receipt = await client.send(outgoing(order))
    console.log(receiptText(topic, receipt, flags.json === true))
  })
}

function outgoing(order: SendOrder): OutgoingMessage {
  const { topic, body, tag, key, ownKey, ifAbsent, properties, when } = order
  const message = { topic, body, tags: tag, keys: key, ownKey, ifAbsent, properties }
  switch (when.kind) {
    case 'now':
      return message
    case 'delay':
      return { ...message, delayMs: when.delayMs }
    case 'at':
      return { ...message, deliverTimeMs: when.deliverTimeMs }
    case 'level':
      return { ...message, level: when.level }
  }
}

/** What `send` prints. The deliver time is the broker's, out of the recall handle. */
export function receiptText(topic: string, receipt: SendReceipt, json: boolean): string {
  const { messageId, brokerName, queueId, queueOffset, recallHandle, replacedHandle } = receipt
  const deliverTimeMs =
    recallHandle === undefined ? undefined : decodeRecallHandle(recallHandle)?.deliverTimeMs
  if (json) {
    const place = { brokerName, queueId, queueOffset }
    const times = { recallHandle, replacedHandle, deliverTimeMs }
    return JSON.stringify({ messageId, topic, ...place, ...times })
  }
  if (deliverTimeMs === undefined) return `sent ${messageId} to ${topic}`
  const due = `due ${new Date(deliverTimeMs).toISOString()}`
  const replaced = replacedHandle === undefined ? '' : ', in the place of another'
  return `sent ${messageId} to ${topic}, ${due}${replaced}`
}
