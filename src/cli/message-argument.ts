import type { Command } from 'commander'
import { BrokerError } from '../core/base/index.ts'
import { decodeRecallHandle } from '../model/message/index.ts'
import type { MessageRef } from '../model/schedule/index.ts'
import { addServerFlags } from './server-address.ts'
import { checkTopicArgument } from './topic-argument.ts'

/** In place of an id. */
export interface RefFlags {
  readonly topic?: string
  readonly key?: string
}

/** Flags of a command about one waiting message, `COMMAND [id]`. */
export function addRefFlags(command: Command): void {
  command
    .option('--topic <topic>', 'its topic, with --key in place of the id')
    .option('--key <key>', 'its own key, with which it was sent')
  addServerFlags(command)
}

/** Errors: COMMAND_LINE_INVALID, MESSAGE_ID_INVALID, TOPIC_NAME_INVALID. */
export function refOf(id: string | undefined, { topic, key }: RefFlags): MessageRef {
  if (id === undefined && topic !== undefined && key !== undefined) {
    checkTopicArgument(topic)
    return { topic, key }
  }
  if (id === undefined || topic !== undefined || key !== undefined) {
    throw new BrokerError('COMMAND_LINE_INVALID', { problem: 'give an id, or --topic and --key' })
  }
  if (decodeRecallHandle(id) === undefined) throw new BrokerError('MESSAGE_ID_INVALID')
  return { id }
}
