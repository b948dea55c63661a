import { BrokerError } from '../core/base/index.ts'
import { formatProperties, PROPERTY } from '../model/message/index.ts'

/** A message to send. At most one of `delayMs`, `deliverTimeMs` and `level`. */
export interface OutgoingMessage {
  readonly topic: string
  /** Text is sent as UTF-8. */
  readonly body: Uint8Array | string
  readonly tags?: string | undefined
  /** Several keys are found one by one; no blanks in them. */
  readonly keys?: string | readonly string[] | undefined
  /**
   * With a deliver time: takes the place of the waiting message of the topic with this own key. 1 to
   * 255 characters.
   */
  readonly ownKey?: string | undefined
  /** With `ownKey`: refused with KEY_EXISTS when such a message waits. */
  readonly ifAbsent?: boolean | undefined
  /** The user's own properties; names that the broker gives a meaning may be used knowingly. */
  readonly properties?: Readonly<Record<string, string>> | undefined
  /** Deliver so many milliseconds after the broker has it. */
  readonly delayMs?: number | undefined
  /** Deliver at this time, in milliseconds since 1970. */
  readonly deliverTimeMs?: number | undefined
  /** Deliver after the delay of this level, 1 to 18 unless the broker has others. */
  readonly level?: number | undefined
}

export function bodyBytes(message: OutgoingMessage): Buffer {
  if (typeof message.body === 'string') return Buffer.from(message.body)
  return Buffer.from(message.body.buffer, message.body.byteOffset, message.body.byteLength)
}

/**
 * The properties of a message as they are sent. `uniqueKey` is what the user knows it by.
 *
 * Errors: DELAY_INVALID (not a whole number), PARAMETER_INVALID (two kinds of delay),
 * MESSAGE_INVALID (a property is empty or has a separator in it).
 */
export function encodeProperties(message: OutgoingMessage, uniqueKey: string): string {
  const entries = new Map<string, string>(Object.entries(message.properties ?? {}))
  if (message.tags !== undefined && message.tags !== '') entries.set(PROPERTY.TAGS, message.tags)
  const keys = typeof message.keys === 'string' ? message.keys : message.keys?.join(' ')
  if (keys !== undefined && keys !== '') entries.set(PROPERTY.KEYS, keys)
  if (message.ownKey !== undefined) entries.set(PROPERTY.ORRERY_KEY, message.ownKey)
  if (message.ifAbsent === true) entries.set(PROPERTY.ORRERY_KEY_WHEN, 'absent')
  const delay = delayProperty(message)
  if (delay !== undefined) entries.set(delay.name, String(delay.value))
  entries.set(PROPERTY.UNIQ_KEY, uniqueKey)
  entries.set(PROPERTY.WAIT, 'true')
  return formatProperties(entries)
}

/** Which property delays the message, if any. Errors as `encodeProperties`. */
export function delayProperty(
  message: OutgoingMessage,
): { readonly name: string; readonly value: number } | undefined {
  const given = [
    { name: PROPERTY.TIMER_DELAY_MS, value: message.delayMs },
    { name: PROPERTY.TIMER_DELIVER_MS, value: message.deliverTimeMs },
    { name: PROPERTY.DELAY, value: message.level },
  ].flatMap(({ name, value }) => (value === undefined ? [] : [{ name, value }]))
  const [delay] = given
  if (given.length > 1) {
    const problem = 'give one of delayMs, deliverTimeMs and level'
    throw new BrokerError('PARAMETER_INVALID', { problem })
  }
  if (delay !== undefined && !Number.isSafeInteger(delay.value)) {
    throw new BrokerError('DELAY_INVALID', { property: delay.name, value: delay.value })
  }
  return delay
}
