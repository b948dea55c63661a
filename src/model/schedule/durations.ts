import { BrokerError } from '../../core/base/index.ts'

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}
const FORM = /^([+-]?)(\d{1,16})(ms|s|m|h|d)?$/
const SHOWN_LENGTH_MAX = 64

/**
 * Milliseconds of `250ms`, `10s`, `15m`, `36h` or `30d`; a number alone is milliseconds.
 *
 * Errors: DELAY_NEGATIVE below 0, DURATION_INVALID for anything else that is not of this form or
 * beyond 2^53.
 */
export function parseDuration(input: string | number): number {
  const [, sign, digits, unit = 'ms'] = FORM.exec(String(input)) ?? []
  const factor = UNIT_MS[unit] ?? Number.NaN
  const durationMs = Number(digits) * factor
  if (!Number.isSafeInteger(durationMs)) throw invalid(input)
  if (sign === '-' && durationMs > 0)
    throw new BrokerError('DELAY_NEGATIVE', { found: shown(input) })
  return durationMs
}

function invalid(input: string | number): BrokerError {
  return new BrokerError('DURATION_INVALID', { found: shown(input) })
}

function shown(input: string | number): string {
  return JSON.stringify(String(input).slice(0, SHOWN_LENGTH_MAX))
}
