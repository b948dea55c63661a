import { BrokerError } from '../../../core/base/index.ts'
import { decodeRecallHandle } from '../../../model/message/index.ts'
import type { CancelResult } from '../../../model/schedule/index.ts'
import { REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import { REFUSED_CHANGES } from '../message-ref.ts'
import type { Processor } from '../processor.ts'
import { requiredText } from '../request-fields.ts'

const REFUSALS: Readonly<Record<Exclude<CancelResult, 'cancelled'>, string>> = {
  'too-late': REFUSED_CHANGES['too-late'],
  unknown: 'no waiting message has this handle',
}

/**
 * RECALL_MESSAGE (370): cancels a message that waits for its time. Answered when that is durable.
 *
 * Request   producerGroup: string, not looked at; topic: string, as in the handle; recallHandle:
 *           string, from the answer to the send
 * Response  msgId: string, the unique key of the message
 * Errors    MESSAGE_ID_INVALID, also for another topic; 604 when it is too late or the message is
 *           not known, with a remark and the field recallResult: 'too-late' | 'unknown', which only
 *           our own client reads; those of `SchedulePort.cancel`
 */
export const recallMessage: Processor = {
  code: REQUEST_CODE.RECALL_MESSAGE,
  name: 'RECALL_MESSAGE',
  action: 'send',
  resources: ({ header }) => [{ topic: requiredText(header.extFields, 'topic') }],
  async handle({ header }, { scheduled }) {
    const topic = requiredText(header.extFields, 'topic')
    const id = requiredText(header.extFields, 'recallHandle')
    const handle = decodeRecallHandle(id)
    if (handle === undefined) throw new BrokerError('MESSAGE_ID_INVALID')
    if (handle.topic !== topic) throw new BrokerError('MESSAGE_ID_INVALID', { topic })
    const result = await scheduled.cancel({ id })
    if (result !== 'cancelled') {
      const extFields = { recallResult: result }
      return { code: RESPONSE_CODE.ILLEGAL_OPERATION, remark: REFUSALS[result], extFields }
    }
    return { code: RESPONSE_CODE.SUCCESS, extFields: { msgId: handle.uniqueKey } }
  },
}
