import { BrokerError } from '../core/base/index.ts'
import { checkGroupName } from '../model/message/index.ts'
import { checkTopicArgument } from './topic-argument.ts'

/** What `orrery consume` was asked for. */
export interface ConsumeOrder {
  readonly topic: string
  readonly group: string
  /** `*`, or tags with `||` between them. */
  readonly tags: string
  /** Without it, until a signal. */
  readonly messagesMax: number | undefined
}

/** Flags as they came from the command line. */
export interface ConsumeFlags {
  readonly group: string
  readonly tag: string
  readonly max?: string
}

/** Errors: COMMAND_LINE_INVALID, TOPIC_NAME_INVALID, GROUP_NAME_INVALID. */
export function consumeOrder(topic: string, flags: ConsumeFlags): ConsumeOrder {
  checkTopicArgument(topic)
  if (flags.group === '') throw new BrokerError('GROUP_NAME_INVALID', { group: 'is empty' })
  checkGroupName(flags.group)
  checkTags(flags.tag)
  return { topic, group: flags.group, tags: flags.tag, messagesMax: parseMax(flags.max) }
}

/** Stricter than brokers, who take nothing for everything: an empty variable is likely no wish. */
function checkTags(expression: string): void {
  if (expression.split('||').every(tag => tag.trim() !== '')) return
  throw new BrokerError('COMMAND_LINE_INVALID', {
    '--tag': `${JSON.stringify(expression)} lacks a tag; give a, or a || b, or * for all`,
  })
}

function parseMax(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  const shown = text === '' ? 'an empty value' : text
  throw new BrokerError('COMMAND_LINE_INVALID', { '--max': `${shown} is not 1 or more` })
}
