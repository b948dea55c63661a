import {
  findProperty,
  PROPERTY,
  TIMER_CANCEL_QUEUE,
  TIMER_KEY_QUEUE,
} from '../../model/message/index.ts'
import type { TimerRef } from './ladder/chunk-search.ts'

/** Of a message with an own key that took nobody's place. */
export const REPLACES_NONE = -1

/**
 * What a unit of the timers' topic has in the place of the tags code: a deliver time; of a record
 * that cancels or replaces a message the timer id of that one, by which it is found again.
 */
export function timerTagsCode(properties: string, queueId: number): number {
  if (queueId === TIMER_CANCEL_QUEUE) {
    return refOf(findProperty(properties, PROPERTY.ORRERY_CANCELS)).timerId
  }
  if (queueId !== TIMER_KEY_QUEUE) {
    return Number(findProperty(properties, PROPERTY.TIMER_OUT_MS) ?? 0)
  }
  const replaced = findProperty(properties, PROPERTY.ORRERY_REPLACES)
  return replaced === undefined ? REPLACES_NONE : refOf(replaced).timerId
}

/** As the properties of change records name a message: a timer id and a deliver time, by a blank. */
export function refOf(text: string | undefined): TimerRef {
  const [timerId, deliverTimeMs] = (text ?? '').split(' ')
  return { timerId: Number(timerId), deliverTimeMs: Number(deliverTimeMs) }
}
