import type { Command } from 'commander'
import { Consumer } from '../client/index.ts'
import { BrokerError } from '../core/base/index.ts'
import { exitCodes } from './exit-code.ts'
import { messageText } from './message-text.ts'
import { addServerFlags, withServer } from './server-address.ts'
import { StopSignal } from './stop-signal.ts'

interface Flags {
  readonly group: string
  readonly tag: string
  readonly max?: string
  readonly server: string
  readonly json?: boolean
}

/** `orrery consume`: prints messages until so many have come, or until a signal. */
export function addConsume(program: Command): void {
  const command = program
    .command('consume <topic>')
    .description('print messages of a topic as they come, and remember how far the group got')
    .requiredOption('--group <group>', 'the consumer group')
    .option('--max <count>', 'end after so many messages')
    .option('--tag <expression>', 'only these tags: a, or a || b', '*')
  addServerFlags(command)
  command.action(consume)
}

async function consume(topic: string, flags: Flags): Promise<void> {
  const messagesMax = parseMax(flags.max)
  const stopSignal = new StopSignal(() => process.exit(exitCodes.failed))
  await withServer(flags.server, async client => {
    let printedCount = 0
    const consumer = new Consumer(client, {
      group: flags.group,
      subscriptions: { [topic]: flags.tag },
      messagesMax,
      handler: message => {
        console.log(messageText(message, flags.json === true))
        printedCount += 1
        if (printedCount === messagesMax) stopSignal.raise()
      },
    })
    await consumer.start()
    await stopSignal.first
    await consumer.stop()
  })
}

function parseMax(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new BrokerError('PARAMETER_INVALID', { '--max': `${text} is not 1 or more` })
}
