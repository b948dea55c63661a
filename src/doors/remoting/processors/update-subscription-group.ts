import {
  decodeSubscriptionGroupConfig,
  REQUEST_CODE,
  RESPONSE_CODE,
} from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'

/**
 * UPDATE_AND_CREATE_SUBSCRIPTIONGROUP (200): makes a consumer group or replaces its settings.
 * Answered when durable.
 *
 * Request   body SubscriptionGroupConfig; what it leaves out takes the default
 * Response  nothing
 * Errors    GROUP_NAME_INVALID, PARAMETER_INVALID, TOO_MANY_GROUPS, STORE_FAILED, STORE_FULL
 */
export const updateSubscriptionGroup: Processor = {
  code: REQUEST_CODE.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
  name: 'UPDATE_AND_CREATE_SUBSCRIPTIONGROUP',
  action: 'manage',
  resources: ({ body }) => [{ group: decodeSubscriptionGroupConfig(body).groupName }],
  async handle({ body }, { groups }) {
    await groups.update(decodeSubscriptionGroupConfig(body))
    return { code: RESPONSE_CODE.SUCCESS }
  },
}
