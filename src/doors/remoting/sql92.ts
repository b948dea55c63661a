import type { OnceLog } from './once-log.ts'

/** Apache's sentence when its filter is off, and what to do here. */
export const SQL92_REMARK =
  'The broker does not support consumer to filter message by SQL92; subscribe by tags, or to * and filter in the consumer'

/** True for the only expressions that are served: tags. Clients leave the type out or empty. */
export function isTagExpression(subscription: { readonly expressionType: string }): boolean {
  const { expressionType } = subscription
  return expressionType === '' || expressionType === 'TAG'
}

/** Tells the operator, once, that a consumer asks for it. */
export function noteSql92(onceLog: OnceLog, group: string): void {
  onceLog.warn('SQL92', 'a consumer filters by SQL92, which is not supported', { group })
}
