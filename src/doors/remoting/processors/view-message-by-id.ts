import { REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'
import { optionalText, requiredInt64 } from '../request-fields.ts'

/**
 * VIEW_MESSAGE_BY_ID (33): the message at a place in the commit log, which the id by place names.
 *
 * Request   offset: int64, in the commit log; topic?: string, for the permission only
 * Response  body: the record as it lies in the log; of a message that waits, or has waited, that
 *           under which it does
 * Errors    PARAMETER_INVALID; 1 when no record begins there
 */
export const viewMessageById: Processor = {
  code: REQUEST_CODE.VIEW_MESSAGE_BY_ID,
  name: 'VIEW_MESSAGE_BY_ID',
  action: 'read',
  resources: ({ header }) => {
    const topic = optionalText(header.extFields, 'topic')
    return topic === undefined ? [] : [{ topic }]
  },
  async handle({ header }, { store }) {
    const offset = requiredInt64(header.extFields, 'offset')
    const record = await store.readRecord(offset)
    if (record === undefined) {
      const remark = `can not find message by the offset, ${offset}`
      return { code: RESPONSE_CODE.SYSTEM_ERROR, remark }
    }
    return { code: RESPONSE_CODE.SUCCESS, body: record }
  },
}
