import { BrokerError } from '../../core/base/index.ts'

/**
 * An absolute time below this was meant in seconds: as milliseconds it lies before March 1973, as
 * seconds it reaches to the year 5138.
 */
export const DELIVER_TIME_MS_MIN = 100_000_000_000

const EPOCH_MS = /^\d{1,16}$/
const ISO_8601 =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?([Zz]|[+-]\d\d(?::?\d\d)?)?$/
const SHOWN_LENGTH_MAX = 64
const MINUTE_MS = 60_000

/**
 * The deliver time that a person writes: ISO 8601 with an offset (`2030-01-31T09:00:00+01:00`,
 * `…Z`), or milliseconds since 1970. Parts of a millisecond are rounded up: never early.
 *
 * Errors: DELIVER_TIME_INVALID, also without an offset, since nobody can tell which time zone was
 * meant; DELIVER_TIME_IN_SECONDS.
 */
export function parseDeliverAt(input: string | number): number {
  const text = String(input)
  return EPOCH_MS.test(text) ? parseEpochMs(text) : parseIso8601(text)
}

function parseEpochMs(text: string): number {
  const deliverTimeMs = Number(text)
  if (!Number.isSafeInteger(deliverTimeMs)) throw invalid(text, 'beyond 2^53')
  if (deliverTimeMs > 0 && deliverTimeMs < DELIVER_TIME_MS_MIN) {
    throw new BrokerError('DELIVER_TIME_IN_SECONDS', { found: text })
  }
  return deliverTimeMs
}

function parseIso8601(text: string): number {
  const match = ISO_8601.exec(text)
  if (match === null) throw invalid(text, 'not of this form')
  const [, year, month, day, hour, minute, second = '0', fraction = '', offset] = match
  if (offset === undefined) throw invalid(text, 'add an offset such as Z or +01:00')
  const date = Date.UTC(Number(year), Number(month) - 1, Number(day))
  if (!isDay(date, Number(month), Number(day))) throw invalid(text, 'no such day')
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) {
    throw invalid(text, 'no such time of day')
  }
  const timeOfDayMs =
    ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000 + fractionMs(fraction)
  return date + timeOfDayMs - offsetMs(text, offset)
}

/** `Date.UTC` takes the 30th of February for the 2nd of March. */
function isDay(dateMs: number, month: number, day: number): boolean {
  const date = new Date(dateMs)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

function fractionMs(digits: string): number {
  return Math.ceil(Number(digits.padEnd(9, '0')) / 1_000_000)
}

function offsetMs(text: string, offset: string): number {
  if (offset === 'Z' || offset === 'z') return 0
  const hours = Number(offset.slice(1, 3))
  const minutes = offset.length > 3 ? Number(offset.slice(-2)) : 0
  if (hours > 23 || minutes > 59) throw invalid(text, 'no such offset')
  const sign = offset.startsWith('-') ? -1 : 1
  return sign * (hours * 60 + minutes) * MINUTE_MS
}

function invalid(text: string, problem: string): BrokerError {
  const found = JSON.stringify(text.slice(0, SHOWN_LENGTH_MAX))
  return new BrokerError('DELIVER_TIME_INVALID', { found, problem })
}
