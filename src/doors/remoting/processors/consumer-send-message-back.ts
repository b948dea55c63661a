import { REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'
import {
  optionalBoolean,
  optionalInt32,
  requiredInt32,
  requiredInt64,
  requiredText,
} from '../request-fields.ts'

/**
 * CONSUMER_SEND_MSG_BACK (36): a consumer wants a message again, later. Answered when the copy is
 * durable. The rule is in `engine/consume/send-back.ts`.
 *
 * Request   group: string; offset: int64, place in the commit log; delayLevel: int32, 0: by the
 *           number of tries, negative: to the dead letters; unitMode?: boolean;
 *           maxReconsumeTimes?: int32. originMsgId and originTopic are known from the message.
 * Response  nothing
 * Errors    GROUP_NOT_FOUND, MESSAGE_NOT_FOUND, and those of a send
 */
export const consumerSendMessageBack: Processor = {
  code: REQUEST_CODE.CONSUMER_SEND_MSG_BACK,
  name: 'CONSUMER_SEND_MSG_BACK',
  action: 'receive',
  resources: ({ header }) => [{ group: requiredText(header.extFields, 'group') }],
  async handle({ header }, { sendBack }) {
    const fields = header.extFields
    await sendBack.sendBack({
      group: requiredText(fields, 'group'),
      commitLogOffset: requiredInt64(fields, 'offset'),
      delayLevel: requiredInt32(fields, 'delayLevel'),
      unitMode: optionalBoolean(fields, 'unitMode') === true,
      clientVersion: header.version,
      maxReconsumeTimes: optionalInt32(fields, 'maxReconsumeTimes'),
    })
    return { code: RESPONSE_CODE.SUCCESS }
  },
}
