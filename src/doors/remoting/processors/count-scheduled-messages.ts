import { REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'
import { filterResources, scheduleFilter } from '../schedule-filter.ts'

/**
 * COUNT_SCHEDULED_MESSAGES (900003), Orrery's own: how many messages wait.
 *
 * Request   the filter of `scheduleFilter`
 * Response  count: int64
 * Errors    those of `SchedulePort.count`
 */
export const countScheduledMessages: Processor = {
  code: REQUEST_CODE.COUNT_SCHEDULED_MESSAGES,
  name: 'COUNT_SCHEDULED_MESSAGES',
  action: 'read',
  resources: ({ header }) => filterResources(header.extFields),
  async handle({ header }, { scheduled }) {
    const count = await scheduled.count(scheduleFilter(header.extFields))
    return { code: RESPONSE_CODE.SUCCESS, extFields: { count: String(count) } }
  },
}
