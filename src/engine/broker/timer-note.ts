import { type RecordDraft, TIMER_TOPIC } from '../../model/message/index.ts'

const TOPIC = Buffer.from(TIMER_TOPIC)

/** Where and when something is said of waiting messages. */
export interface Origin {
  readonly storeHost: Buffer
  readonly nowMs: number
}

/**
 * A log record that says something of waiting messages and is none itself, in a queue of its own
 * kind of the timers' topic.
 */
export function timerNote(
  queueId: number,
  { properties, body }: { readonly properties: string; readonly body: Buffer },
  origin: Origin,
): RecordDraft {
  return {
    topic: TOPIC,
    queueId,
    flag: 0,
    sysFlag: 0,
    bornTimeMs: origin.nowMs,
    bornHost: origin.storeHost,
    storeHost: origin.storeHost,
    reconsumeTimes: 0,
    preparedTransactionOffset: 0,
    body,
    bodyStart: 0,
    bodyEnd: body.length,
    properties,
  }
}
