import { BrokerError } from '../../core/base/index.ts'
import type { OnceLog } from './once-log.ts'

/** True for the only expressions that are served: tags. Clients leave the type out or empty. */
export function isTagExpression(subscription: { readonly expressionType: string }): boolean {
  const { expressionType } = subscription
  return expressionType === '' || expressionType === 'TAG'
}

/** The refusal of any other expression; the operator is told once. */
export function expressionRefused(expressionType: string, onceLog: OnceLog): BrokerError {
  const fields = { expressionType: JSON.stringify(expressionType.slice(0, 32)) }
  onceLog.warn('expressionType', 'a consumer filters by what is not supported', fields)
  const advice = 'subscribe by tags, or to * and filter in the consumer'
  return new BrokerError('NOT_SUPPORTED', { ...fields, advice })
}
