import { BrokerError } from '../core/base/index.ts'
import { PROPERTY } from '../model/message/index.ts'
import { parseDeliverAt, parseDuration } from '../model/schedule/index.ts'
import { checkTopicArgument } from './topic-argument.ts'

/** What `orrery send` was asked to send. */
export interface SendOrder {
  readonly topic: string
  readonly body: Uint8Array
  readonly when: SendTime
  readonly tag: string | undefined
  readonly key: string | undefined
  /** That no other waiting message of the topic has. */
  readonly ownKey: string | undefined
  readonly ifAbsent: boolean
  readonly properties: Readonly<Record<string, string>>
}

export type SendTime =
  | { readonly kind: 'now' }
  | { readonly kind: 'delay'; readonly delayMs: number }
  | { readonly kind: 'at'; readonly deliverTimeMs: number }
  | { readonly kind: 'level'; readonly level: number }

/** Flags as they came from the command line. */
export interface SendFlags {
  readonly delay?: string
  readonly at?: string
  readonly level?: string
  readonly tag?: string
  readonly key?: string
  readonly replace?: boolean
  readonly ifAbsent?: boolean
  readonly property?: readonly string[]
}

/** Errors: COMMAND_LINE_INVALID, TOPIC_NAME_INVALID, and those of `parseDuration` and `parseDeliverAt`. */
export function sendOrder(topic: string, body: Uint8Array, flags: SendFlags): SendOrder {
  checkTopicArgument(topic)
  const when = sendTime(flags)
  const given = properties(flags.property ?? [])
  if (when.kind !== 'now') checkNoDelay(given)
  const { tag, key, ifAbsent = false } = flags
  return { topic, body, when, tag, key, ownKey: ownKey(flags, when), ifAbsent, properties: given }
}

function ownKey(flags: SendFlags, when: SendTime): string | undefined {
  const { key, replace = false, ifAbsent = false } = flags
  if (!replace && !ifAbsent) return undefined
  if (!replace) throw invalid('--if-absent', 'goes with --replace')
  if (key === undefined || key === '') throw invalid('--replace', 'needs --key')
  if (when.kind === 'delay' || when.kind === 'at') return key
  throw invalid('--replace', 'needs --delay or --at: only messages that wait have own keys')
}

function invalid(flag: string, problem: string): BrokerError {
  return new BrokerError('COMMAND_LINE_INVALID', { [flag]: problem })
}

function sendTime({ delay, at, level }: SendFlags): SendTime {
  if ([delay, at, level].filter(flag => flag !== undefined).length > 1) {
    throw new BrokerError('COMMAND_LINE_INVALID', {
      flags: '--delay, --at and --level exclude each other',
    })
  }
  if (delay !== undefined) return { kind: 'delay', delayMs: parseDuration(delay) }
  if (at !== undefined) return { kind: 'at', deliverTimeMs: parseDeliverAt(at) }
  if (level !== undefined) return { kind: 'level', level: parseLevel(level) }
  return { kind: 'now' }
}

function parseLevel(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
  throw new BrokerError('COMMAND_LINE_INVALID', {
    '--level': `${shown(text)} is no level; give 1 to 18, or up to the last of the broker's own table`,
  })
}

function shown(text: string): string {
  return text === '' ? 'an empty value' : text
}

const DELAY_PROPERTIES: readonly string[] = [
  PROPERTY.DELAY,
  PROPERTY.TIMER_DELAY_SEC,
  PROPERTY.TIMER_DELAY_MS,
  PROPERTY.TIMER_DELIVER_MS,
]

/** A flag and a property may say different times, of which one would be dropped in silence. */
function checkNoDelay(given: Readonly<Record<string, string>>): void {
  const delay = DELAY_PROPERTIES.find(name => Object.hasOwn(given, name))
  if (delay === undefined) return
  throw new BrokerError('COMMAND_LINE_INVALID', {
    '--property': `${delay} says when, as --delay, --at and --level do; give one of them`,
  })
}

function properties(pairs: readonly string[]): Readonly<Record<string, string>> {
  const entries = pairs.map(pair => {
    const end = pair.indexOf('=')
    if (end < 1) {
      throw new BrokerError('COMMAND_LINE_INVALID', { '--property': `${pair} is not NAME=VALUE` })
    }
    return [pair.slice(0, end), pair.slice(end + 1)] as const
  })
  return Object.fromEntries(entries)
}
