import { REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import { messageRefOf, REFUSED_CHANGES, topicOfRef } from '../message-ref.ts'
import type { Processor } from '../processor.ts'

/**
 * CANCEL_SCHEDULED_MESSAGE (900007), Orrery's own: cancels a message that waits for its time.
 * Answered when that is durable. As RECALL_MESSAGE (370), which knows no own keys.
 *
 * Request   id: string, the recall handle from the answer to the send, or topic: string and key:
 *           string, its own key
 * Response  none
 * Errors    MESSAGE_ID_INVALID; 604 when it is too late or the message is not known, with a remark
 *           and the field cancelResult: 'too-late' | 'unknown'; those of `SchedulePort.cancel`
 */
export const cancelScheduledMessage: Processor = {
  code: REQUEST_CODE.CANCEL_SCHEDULED_MESSAGE,
  name: 'CANCEL_SCHEDULED_MESSAGE',
  action: 'send',
  resources: ({ header }) => [{ topic: topicOfRef(messageRefOf(header.extFields)) }],
  async handle({ header }, { scheduled }) {
    const result = await scheduled.cancel(messageRefOf(header.extFields))
    if (result === 'cancelled') return { code: RESPONSE_CODE.SUCCESS }
    const extFields = { cancelResult: result }
    return { code: RESPONSE_CODE.ILLEGAL_OPERATION, remark: REFUSED_CHANGES[result], extFields }
  },
}
