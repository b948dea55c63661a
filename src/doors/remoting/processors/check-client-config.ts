import { decodeCheckClient, REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'
import { expressionRefused, isTagExpression } from '../filter-expressions.ts'

/**
 * CHECK_CLIENT_CONFIG (46): whether a subscription would be served. Clients ask before they start
 * with anything but tags.
 *
 * Request   body CheckClientRequestBody
 * Response  nothing
 * Errors    NOT_SUPPORTED: the expression is not made of tags
 */
export const checkClientConfig: Processor = {
  code: REQUEST_CODE.CHECK_CLIENT_CONFIG,
  name: 'CHECK_CLIENT_CONFIG',
  action: 'receive',
  resources({ body }) {
    const { group, subscription } = decodeCheckClient(body)
    return [{ group, topic: subscription.topic }]
  },
  handle({ body }, { onceLog }) {
    const { subscription } = decodeCheckClient(body)
    if (isTagExpression(subscription)) return { code: RESPONSE_CODE.SUCCESS }
    throw expressionRefused(subscription.expressionType, onceLog)
  },
}
