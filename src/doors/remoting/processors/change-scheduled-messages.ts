import { BrokerError } from '../../../core/base/index.ts'
import type { BulkChange } from '../../../model/schedule/index.ts'
import { type ExtFields, REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'
import { optionalBoolean, requiredInt64, requiredText } from '../request-fields.ts'
import { filterResources, scheduleFilter } from '../schedule-filter.ts'

/**
 * CHANGE_SCHEDULED_MESSAGES (900006), Orrery's own: cancels or shifts all waiting messages that a
 * filter means.
 *
 * Request   the filter of `scheduleFilter`, without a state; change: 'cancel' or 'shift'; shiftMs:
 *           int64, of a shift, later or, below 0, earlier; dryRun?: true only counts
 * Response  changedCount, refusedCount: int64; when all is done
 * Errors    those of `SchedulePort.changeAll`
 */
export const changeScheduledMessages: Processor = {
  code: REQUEST_CODE.CHANGE_SCHEDULED_MESSAGES,
  name: 'CHANGE_SCHEDULED_MESSAGES',
  action: 'send',
  resources: ({ header }) => filterResources(header.extFields),
  async handle({ header }, { scheduled }) {
    const { extFields } = header
    const dryRun = optionalBoolean(extFields, 'dryRun') === true
    const change = changeOf(extFields)
    const count = await scheduled.changeAll(scheduleFilter(extFields), change, dryRun)
    const { changedCount, refusedCount } = count
    return {
      code: RESPONSE_CODE.SUCCESS,
      extFields: { changedCount: String(changedCount), refusedCount: String(refusedCount) },
    }
  },
}

function changeOf(fields: ExtFields): BulkChange {
  const kind = requiredText(fields, 'change')
  if (kind === 'cancel') return { kind }
  if (kind === 'shift') return { kind, shiftMs: requiredInt64(fields, 'shiftMs') }
  throw new BrokerError('PARAMETER_INVALID', { field: 'change', problem: 'is cancel or shift' })
}
