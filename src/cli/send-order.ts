import { BrokerError } from '../core/base/index.ts'
import { parseDeliverAt, parseDuration } from '../model/schedule/index.ts'

/** What `orrery send` was asked to send. */
export interface SendOrder {
  readonly topic: string
  readonly body: Uint8Array
  readonly when: SendTime
  readonly tag: string | undefined
  readonly key: string | undefined
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
  readonly property?: readonly string[]
}

/** Errors: PARAMETER_INVALID, and those of `parseDuration` and `parseDeliverAt`. */
export function sendOrder(topic: string, body: Uint8Array, flags: SendFlags): SendOrder {
  return {
    topic,
    body,
    when: sendTime(flags),
    tag: flags.tag,
    key: flags.key,
    properties: properties(flags.property ?? []),
  }
}

function sendTime({ delay, at, level }: SendFlags): SendTime {
  if ([delay, at, level].filter(flag => flag !== undefined).length > 1) {
    throw new BrokerError('PARAMETER_INVALID', {
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
  throw new BrokerError('PARAMETER_INVALID', { '--level': `${text} is not 1 or more` })
}

function properties(pairs: readonly string[]): Readonly<Record<string, string>> {
  const entries = pairs.map(pair => {
    const end = pair.indexOf('=')
    if (end < 1) {
      throw new BrokerError('PARAMETER_INVALID', { '--property': `${pair} is not NAME=VALUE` })
    }
    return [pair.slice(0, end), pair.slice(end + 1)] as const
  })
  return Object.fromEntries(entries)
}
