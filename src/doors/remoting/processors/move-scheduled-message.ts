import { BrokerError } from '../../../core/base/index.ts'
import { type DelayLimits, deliverTimeAfter } from '../../../model/schedule/index.ts'
import { type ExtFields, REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'
import { messageRefOf, REFUSED_CHANGES, topicOfRef } from '../message-ref.ts'
import { optionalInt64 } from '../request-fields.ts'

/**
 * MOVE_SCHEDULED_MESSAGE (900001), Orrery's own: gives a message that waits another deliver time.
 * Answered when that is durable.
 *
 * Request   id: string, the recall handle from the answer to the send, or topic: string and key:
 *           string, its own key; deliverTimeMs: int64, one that has come delivers now, or delayMs:
 *           int64, from now on, 0 or more; one of the two
 * Response  deliverTimeMs: int64, in force
 * Errors    PARAMETER_INVALID; 604 when nothing is moved, with a remark and the field moveResult:
 *           'cancelled' | 'too-late' | 'unknown'; those of `SchedulePort.move`
 */
export const moveScheduledMessage: Processor = {
  code: REQUEST_CODE.MOVE_SCHEDULED_MESSAGE,
  name: 'MOVE_SCHEDULED_MESSAGE',
  action: 'send',
  resources: ({ header }) => [{ topic: topicOfRef(messageRefOf(header.extFields)) }],
  async handle({ header }, { scheduled, clock }) {
    const ref = messageRefOf(header.extFields)
    const nowMs = clock.timeMs()
    const deliverTimeMs = askedTime(header.extFields, nowMs, scheduled.limits())
    const result = await scheduled.move(ref, deliverTimeMs)
    if (result.kind === 'moved') {
      const extFields = { deliverTimeMs: String(result.deliverTimeMs) }
      return { code: RESPONSE_CODE.SUCCESS, extFields }
    }
    const extFields = { moveResult: result.kind }
    return {
      code: RESPONSE_CODE.ILLEGAL_OPERATION,
      remark: REFUSED_CHANGES[result.kind],
      extFields,
    }
  },
}

/** Errors: PARAMETER_INVALID; those of a delay. */
function askedTime(fields: ExtFields, nowMs: number, limits: DelayLimits): number {
  const deliverTimeMs = optionalInt64(fields, 'deliverTimeMs')
  const delayMs = optionalInt64(fields, 'delayMs')
  if (deliverTimeMs !== undefined && delayMs === undefined) return deliverTimeMs
  if (deliverTimeMs === undefined && delayMs !== undefined) {
    return deliverTimeAfter(delayMs, nowMs, limits)
  }
  const problem = 'give one of deliverTimeMs and delayMs'
  throw new BrokerError('PARAMETER_INVALID', { problem })
}
