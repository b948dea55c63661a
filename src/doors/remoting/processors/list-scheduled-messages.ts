import { REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'
import { optionalInt32, optionalText } from '../request-fields.ts'
import { filterResources, scheduledMessageJson, scheduleFilter } from '../schedule-filter.ts'

const LIMIT = 100

/**
 * LIST_SCHEDULED_MESSAGES (900002), Orrery's own: messages that wait, by deliver time.
 *
 * Request   the filter of `scheduleFilter`; limit?: int32, most messages of the page, default 100;
 *           cursor?: string, nextCursor of the page before
 * Response  body {"messages":[…],"nextCursor":…}; without nextCursor it was the last page
 * Errors    those of `SchedulePort.list`
 */
export const listScheduledMessages: Processor = {
  code: REQUEST_CODE.LIST_SCHEDULED_MESSAGES,
  name: 'LIST_SCHEDULED_MESSAGES',
  action: 'read',
  resources: ({ header }) => filterResources(header.extFields),
  async handle({ header }, { scheduled }) {
    const { extFields } = header
    const limit = optionalInt32(extFields, 'limit') ?? LIMIT
    const cursor = optionalText(extFields, 'cursor')
    const page = await scheduled.list(scheduleFilter(extFields), { limit, cursor })
    const messages = page.messages.map(scheduledMessageJson)
    const body = JSON.stringify({ messages, nextCursor: page.nextCursor })
    return { code: RESPONSE_CODE.SUCCESS, body: Buffer.from(body) }
  },
}
