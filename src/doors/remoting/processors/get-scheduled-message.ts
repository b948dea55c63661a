import { REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import { messageRefOf, topicOfRef } from '../message-ref.ts'
import type { Processor } from '../processor.ts'
import { scheduledMessageJson } from '../schedule-filter.ts'

/**
 * GET_SCHEDULED_MESSAGE (900005), Orrery's own: a message that waits, with all of it.
 *
 * Request   id: string, the recall handle from the answer to the send, or topic: string and key:
 *           string, its own key
 * Response  body: as LIST_SCHEDULED_MESSAGES has it, with properties and bodyBase64
 * Errors    MESSAGE_ID_INVALID; 22 when it does not wait; those of `SchedulePort.find`
 */
export const getScheduledMessage: Processor = {
  code: REQUEST_CODE.GET_SCHEDULED_MESSAGE,
  name: 'GET_SCHEDULED_MESSAGE',
  action: 'read',
  resources: ({ header }) => [{ topic: topicOfRef(messageRefOf(header.extFields)) }],
  async handle({ header }, { scheduled }) {
    const message = await scheduled.find(messageRefOf(header.extFields))
    if (message === undefined) {
      const remark = 'no such message waits: it is delivered, cancelled or not known'
      return { code: RESPONSE_CODE.QUERY_NOT_FOUND, remark }
    }
    const body = JSON.stringify({
      ...scheduledMessageJson(message),
      properties: Object.fromEntries(message.properties),
      bodyBase64: message.body.toString('base64'),
    })
    return { code: RESPONSE_CODE.SUCCESS, body: Buffer.from(body) }
  },
}
