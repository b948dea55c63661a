import type { Command } from 'commander'
import { type BrokerClient, Consumer } from '../client/index.ts'
import { type ConsumeFlags, type ConsumeOrder, consumeOrder } from './consume-order.ts'
import { endProcess } from './end-process.ts'
import { exitCodes } from './exit-code.ts'
import { messageText } from './message-text.ts'
import { addServerFlags, withServer } from './server-address.ts'
import { StopSignal } from './stop-signal.ts'

interface Flags extends ConsumeFlags {
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
  command.action((topic: string, flags: Flags) => consume(consumeOrder(topic, flags), flags))
}

async function consume(order: ConsumeOrder, flags: Flags): Promise<void> {
  const { topic, group, tags, messagesMax } = order
  const json = flags.json === true
  const stopSignal = new StopSignal(() => endProcess(exitCodes.failed))
  await withServer(flags.server, async client => {
    await noteAbsence(client, topic, json)
    let printedCount = 0
    const consumer = new Consumer(client, {
      group,
      subscriptions: { [topic]: tags },
      messagesMax,
      handler: message => {
        console.log(messageText(message, json))
        printedCount += 1
        if (printedCount === messagesMax) stopSignal.raise()
      },
    })
    await consumer.start()
    await stopSignal.first
    await consumer.stop()
  })
}

/** Says once, on standard error, that there is nothing to read yet: it may be a typing error. */
async function noteAbsence(client: BrokerClient, topic: string, json: boolean): Promise<void> {
  const queues = await client.readableQueues(topic)
  if (queues.length > 0) return
  const message = `the topic ${topic} does not exist yet; waiting for it`
  console.error(json ? JSON.stringify({ notice: { message, topic } }) : `orrery: ${message}`)
}
