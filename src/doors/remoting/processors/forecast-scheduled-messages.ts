import { REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'
import { requiredInt64 } from '../request-fields.ts'
import { filterResources, scheduleFilter } from '../schedule-filter.ts'

/**
 * FORECAST_SCHEDULED_MESSAGES (900004), Orrery's own: how many messages become due in each step of
 * a time.
 *
 * Request   the filter of `scheduleFilter`, of which fromMs and toMs must be there: the time;
 *           stepMs: int64
 * Response  body {"fromMs":…,"stepMs":…,"counts":[…],"estimatedCount":…}
 * Errors    those of `SchedulePort.forecast`
 */
export const forecastScheduledMessages: Processor = {
  code: REQUEST_CODE.FORECAST_SCHEDULED_MESSAGES,
  name: 'FORECAST_SCHEDULED_MESSAGES',
  action: 'read',
  resources: ({ header }) => filterResources(header.extFields),
  async handle({ header }, { scheduled }) {
    const { extFields } = header
    const fromMs = requiredInt64(extFields, 'fromMs')
    const stepMs = requiredInt64(extFields, 'stepMs')
    const steps = { fromMs, toMs: requiredInt64(extFields, 'toMs'), stepMs }
    const forecast = await scheduled.forecast(scheduleFilter(extFields), steps)
    const body = JSON.stringify({ fromMs, stepMs, ...forecast })
    return { code: RESPONSE_CODE.SUCCESS, body: Buffer.from(body) }
  },
}
