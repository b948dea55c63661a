import { BrokerError } from '../../core/base/index.ts'
import type { ExtFields } from '../../model/wire/index.ts'

const INT32_MAX = 2_147_483_647

/** A text that must be there and not be empty. Errors: PARAMETER_INVALID. */
export function requiredText(fields: ExtFields, name: string): string {
  const value = fields[name]
  if (value === undefined || value === '') {
    throw new BrokerError('PARAMETER_INVALID', { field: name, problem: 'missing' })
  }
  return value
}

/** A text that may be absent; an empty one counts as absent. */
export function optionalText(fields: ExtFields, name: string): string | undefined {
  const value = fields[name]
  return value === '' ? undefined : value
}

/** A signed 32-bit number that must be there. Errors: PARAMETER_INVALID. */
export function requiredInt32(fields: ExtFields, name: string): number {
  return checkedInt32(name, requiredInt64(fields, name))
}

/** A signed 32-bit number that may be absent. Errors: PARAMETER_INVALID. */
export function optionalInt32(fields: ExtFields, name: string): number | undefined {
  return optionalText(fields, name) === undefined ? undefined : requiredInt32(fields, name)
}

/** A whole number that must be there and be exact as a double. Errors: PARAMETER_INVALID. */
export function requiredInt64(fields: ExtFields, name: string): number {
  const text = requiredText(fields, name)
  const value = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(value)) {
    throw new BrokerError('PARAMETER_INVALID', { field: name, problem: 'not a whole number' })
  }
  // "-0" is 0 for everybody else.
  return value === 0 ? 0 : value
}

export function optionalInt64(fields: ExtFields, name: string): number | undefined {
  return optionalText(fields, name) === undefined ? undefined : requiredInt64(fields, name)
}

/**
 * One end of a span of time, which must be there. Java's clients send their largest number for no
 * end: it is taken for the largest that is exact as a double. Errors: PARAMETER_INVALID.
 */
export function requiredTimeLimit(fields: ExtFields, name: string): number {
  const value = requiredVersion(fields, name)
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, value))
}

/**
 * A whole number that only says which of two is newer, and must be there. Go clients count in
 * nanoseconds: what a double does not hold exactly is rounded. Errors: PARAMETER_INVALID.
 */
export function requiredVersion(fields: ExtFields, name: string): number {
  const text = requiredText(fields, name)
  if (/^-?\d{1,19}$/.test(text)) return Number(text)
  throw new BrokerError('PARAMETER_INVALID', { field: name, problem: 'not a whole number' })
}

/** `true` or `false`, as RocketMQ writes them. Errors: PARAMETER_INVALID. */
export function optionalBoolean(fields: ExtFields, name: string): boolean | undefined {
  const text = optionalText(fields, name)?.toLowerCase()
  if (text === undefined) return undefined
  if (text !== 'true' && text !== 'false') {
    throw new BrokerError('PARAMETER_INVALID', { field: name, problem: 'not true or false' })
  }
  return text === 'true'
}

function checkedInt32(name: string, value: number): number {
  if (value >= -INT32_MAX - 1 && value <= INT32_MAX) return value
  throw new BrokerError('PARAMETER_INVALID', { field: name, problem: 'beyond 32 bits' })
}
