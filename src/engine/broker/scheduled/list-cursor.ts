import { BrokerError } from '../../../core/base/index.ts'
import type { ListPosition } from '../../timer/index.ts'

/** A position of a list as text; clients give it back as they got it. */
export function encodeCursor(position: ListPosition): string {
  const { from } = position
  const fields = [from.deliverTimeMs, from.timerId]
  if (position.kind === 'id') fields.push(position.toMs, position.afterTimerId)
  return Buffer.from(fields.join(' ')).toString('base64url')
}

/** Errors: PARAMETER_INVALID. */
export function decodeCursor(cursor: string): ListPosition {
  const text = Buffer.from(cursor, 'base64url').toString()
  const fields = text.split(' ').map(field => (/^-?\d{1,16}$/.test(field) ? Number(field) : NaN))
  const [deliverTimeMs = NaN, timerId = NaN, toMs = NaN, afterTimerId = NaN] = fields
  const isWhole = fields.every(field => Number.isSafeInteger(field))
  const from = { deliverTimeMs, timerId }
  if (isWhole && fields.length === 2) return { kind: 'due', from }
  if (isWhole && fields.length === 4 && toMs > deliverTimeMs) {
    return { kind: 'id', from, toMs, afterTimerId }
  }
  const problem = 'give the nextCursor of the page before, or none'
  throw new BrokerError('PARAMETER_INVALID', { field: 'cursor', problem })
}
