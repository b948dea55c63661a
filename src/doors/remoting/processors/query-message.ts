import { BrokerError } from '../../../core/base/index.ts'
import { withoutFulfilled } from '../../../engine/store/index.ts'
import { REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'
import {
  optionalBoolean,
  requiredInt32,
  requiredText,
  requiredTimeLimit,
} from '../request-fields.ts'

/** As Apache's broker, whatever `maxNum` says. */
const BY_UNIQUE_KEY_MAX = 32
const BY_KEY_MAX = 64

/**
 * QUERY_MESSAGE (12): messages of a topic by unique key, or by a word of their keys.
 *
 * Request   topic, key: string; maxNum: int32; beginTimestamp, endTimestamp: int64 ms, both ends
 *           included; _UNIQUE_KEY_QUERY?: true to look for the unique key only, at most 32
 * Response  indexLastUpdateTimestamp, indexLastUpdatePhyoffset: store time and log offset of the
 *           newest entry; body: the newest records that fit, in the order of the log. What waits
 *           for its deliver time is the record under which it waits; delivered it is that alone
 * Errors    PARAMETER_INVALID; 22 when there is none, with the fields of the response;
 *           NOT_SUPPORTED when the index is turned off
 */
export const queryMessage: Processor = {
  code: REQUEST_CODE.QUERY_MESSAGE,
  name: 'QUERY_MESSAGE',
  action: 'read',
  resources: ({ header }) => [{ topic: requiredText(header.extFields, 'topic') }],
  async handle({ header }, { messageIndex }) {
    const fields = header.extFields
    const isUnique = optionalBoolean(fields, '_UNIQUE_KEY_QUERY') === true
    const maxNum = requiredInt32(fields, 'maxNum')
    const query = {
      topic: requiredText(fields, 'topic'),
      key: requiredText(fields, 'key'),
      by: isUnique ? ('uniqueKey' as const) : ('any' as const),
      fromMs: requiredTimeLimit(fields, 'beginTimestamp'),
      toMs: requiredTimeLimit(fields, 'endTimestamp'),
      countMax: isUnique ? BY_UNIQUE_KEY_MAX : Math.min(maxNum, BY_KEY_MAX),
    }
    if (messageIndex === undefined) {
      const feature = 'finding messages by key, since messageIndexEnable is off'
      throw new BrokerError('NOT_SUPPORTED', { feature })
    }
    const records = withoutFulfilled(await messageIndex.search(query))
    const { storeTimeMs, commitLogOffset } = messageIndex.newest
    const extFields = {
      indexLastUpdateTimestamp: String(storeTimeMs),
      indexLastUpdatePhyoffset: String(commitLogOffset),
    }
    if (records.length === 0) {
      const remark = 'can not find message, maybe time range not correct'
      return { code: RESPONSE_CODE.QUERY_NOT_FOUND, remark, extFields }
    }
    return { code: RESPONSE_CODE.SUCCESS, extFields, body: Buffer.concat(records) }
  },
}
