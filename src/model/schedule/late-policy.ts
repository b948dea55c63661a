import { BrokerError } from '../../core/base/index.ts'
import { findProperty, findPropertyOrEmpty, PROPERTY } from '../message/index.ts'

/** What becomes of a message that is about to be delivered too late. */
export type OnLate = 'deliver' | 'drop' | 'deadLetter'

const ON_LATE: readonly string[] = ['deliver', 'drop', 'deadLetter'] satisfies OnLate[]
const LATE_AFTER = PROPERTY.ORRERY_LATE_AFTER_MS
/** Ten years, as long as the longest delay. */
const LATE_AFTER_MS_MAX = 315_576_000_000
const DIGITS = /^\d{1,12}$/
const SHOWN_LENGTH_MAX = 64

/**
 * Checks the late policy of a message that is being sent: ORRERY_ON_LATE and ORRERY_LATE_AFTER_MS
 * (0 to ten years behind the deliver time), both or neither. `delays` are its properties that ask
 * for a delay.
 *
 * Errors: LATE_POLICY_INVALID; LATE_POLICY_NOT_FOR_LEVELS.
 */
export function checkLatePolicy(properties: string, delays: string): void {
  const onLate = findPropertyOrEmpty(properties, PROPERTY.ORRERY_ON_LATE)
  const lateAfter = findPropertyOrEmpty(properties, LATE_AFTER)
  if (onLate === undefined || !ON_LATE.includes(onLate)) {
    throw invalid(PROPERTY.ORRERY_ON_LATE, onLate, 'deliver, drop or deadLetter')
  }
  const isNumber = lateAfter !== undefined && DIGITS.test(lateAfter)
  if (!isNumber || Number(lateAfter) > LATE_AFTER_MS_MAX) {
    throw invalid(LATE_AFTER, lateAfter, `0 to ${LATE_AFTER_MS_MAX} milliseconds`)
  }
  if (Number(findProperty(delays, PROPERTY.DELAY) ?? 0) > 0) {
    throw new BrokerError('LATE_POLICY_NOT_FOR_LEVELS', { property: PROPERTY.DELAY })
  }
}

/**
 * What becomes of a message that was accepted with these properties and is about to be delivered
 * at `nowMs`: `deliver` unless it is late by more than its own policy permits.
 */
export function onLateOf(accepted: string, nowMs: number): OnLate {
  const onLate = findProperty(accepted, PROPERTY.ORRERY_ON_LATE)
  if (onLate !== 'drop' && onLate !== 'deadLetter') return 'deliver'
  const lateAfterMs = Number(findProperty(accepted, LATE_AFTER) ?? Infinity)
  const deliverTimeMs = Number(findProperty(accepted, PROPERTY.TIMER_OUT_MS) ?? Infinity)
  return nowMs - deliverTimeMs > lateAfterMs ? onLate : 'deliver'
}

function invalid(property: string, found: string | undefined, permitted: string): BrokerError {
  const shown = found === undefined ? 'nothing' : JSON.stringify(found.slice(0, SHOWN_LENGTH_MAX))
  return new BrokerError('LATE_POLICY_INVALID', { property, found: shown, permitted })
}
