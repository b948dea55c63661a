import {
  appendProperty,
  PROPERTY,
  TIMER_CANCEL_QUEUE,
  TIMER_TOPIC,
  type RecallHandle,
  type RecordDraft,
} from '../../../model/message/index.ts'

const NOTHING = Buffer.alloc(0)
const TOPIC = Buffer.from(TIMER_TOPIC)

/**
 * The log record by which a message is cancelled: without a body, in a queue of its own of the
 * timers' topic. Its property `ORRERY_CANCELS` says which; topic and unique key are for people.
 */
export function cancelRecord(
  handle: RecallHandle & { readonly timerId: number },
  origin: { readonly storeHost: Buffer; readonly nowMs: number },
): RecordDraft {
  const { topic, uniqueKey, timerId } = handle
  let properties = appendProperty('', PROPERTY.ORRERY_CANCELS, String(timerId))
  properties = appendProperty(properties, PROPERTY.REAL_TOPIC, topic)
  properties = appendProperty(properties, PROPERTY.UNIQ_KEY, uniqueKey)
  return {
    topic: TOPIC,
    queueId: TIMER_CANCEL_QUEUE,
    flag: 0,
    sysFlag: 0,
    bornTimeMs: origin.nowMs,
    bornHost: origin.storeHost,
    storeHost: origin.storeHost,
    reconsumeTimes: 0,
    preparedTransactionOffset: 0,
    body: NOTHING,
    bodyStart: 0,
    bodyEnd: 0,
    properties,
  }
}
