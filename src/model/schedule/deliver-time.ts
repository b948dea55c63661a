import { BrokerError } from '../../core/base/index.ts'
import { findPropertyOrEmpty, PROPERTY } from '../message/index.ts'
import { delayLevelMs } from './delay-levels.ts'
import { DELIVER_TIME_MS_MIN } from './deliver-at.ts'

export interface DelayLimits {
  /** Longest accepted delay. Levels are not measured by it: their table is the operator's. */
  readonly delayMsMax: number
  /** Milliseconds per delay level, that of level 1 first. */
  readonly levelsMs: readonly number[]
}

/** When a message is to be delivered. */
export type DelayDecision =
  | { readonly kind: 'now' }
  /** `level` is at most the number of levels. */
  | { readonly kind: 'level'; readonly level: number; readonly delayMs: number }
  /** `deliverTimeMs` is later than now. */
  | { readonly kind: 'timer'; readonly deliverTimeMs: number }

const NOW: DelayDecision = { kind: 'now' }
/** In the names of all four properties: what lacks it is delivered now. */
const SIGN_OF_DELAY = 'DEL'
const LIMIT_OPTION = 'timer.delayMsMax (timerMaxDelaySec in a broker.conf)'
const SHOWN_LENGTH_MAX = 64
const MINUS = 0x2d
const ZERO = 0x30

/**
 * What the properties of a message that is being sent say about its deliver time.
 *
 * DELAY above 0 is a level and wins; above the highest level it is the highest. Else the first of
 * TIMER_DELAY_SEC, TIMER_DELAY_MS (from now) and TIMER_DELIVER_MS (absolute) counts. A time that
 * has come is now. TIMER_OUT_MS says that another broker has already resolved and kept it.
 *
 * Nothing else is bent into range. Errors: DELAY_INVALID, DELAY_NEGATIVE, DELIVER_TIME_IN_SECONDS,
 * DELIVER_TIME_TOO_FAR with the limit in milliseconds and its option.
 */
export function resolveDelay(
  properties: string,
  nowMs: number,
  limits: DelayLimits,
): DelayDecision {
  if (!properties.includes(SIGN_OF_DELAY)) return NOW
  const level = readNumber(properties, PROPERTY.DELAY)
  if (level !== undefined && level > 0) return levelDecision(level, limits.levelsMs)
  if (findPropertyOrEmpty(properties, PROPERTY.TIMER_OUT_MS) !== undefined) return NOW

  const delaySec = readNumber(properties, PROPERTY.TIMER_DELAY_SEC)
  if (delaySec !== undefined) {
    return relativeDecision(PROPERTY.TIMER_DELAY_SEC, delaySec * 1000, nowMs, limits)
  }
  const delayMs = readNumber(properties, PROPERTY.TIMER_DELAY_MS)
  if (delayMs !== undefined) {
    return relativeDecision(PROPERTY.TIMER_DELAY_MS, delayMs, nowMs, limits)
  }
  const deliverTimeMs = readNumber(properties, PROPERTY.TIMER_DELIVER_MS)
  if (deliverTimeMs !== undefined) return absoluteDecision(deliverTimeMs, nowMs, limits)
  return NOW
}

/**
 * The deliver time that an absolute time means for a message that waits: itself, or now when it has
 * come. Errors: DELAY_INVALID, DELAY_NEGATIVE, DELIVER_TIME_IN_SECONDS, DELIVER_TIME_TOO_FAR.
 */
export function checkedDeliverTime(
  deliverTimeMs: number,
  nowMs: number,
  limits: DelayLimits,
): number {
  if (!Number.isSafeInteger(deliverTimeMs)) {
    throw new BrokerError('DELAY_INVALID', { property: 'deliverTimeMs', found: deliverTimeMs })
  }
  const decision = absoluteDecision(deliverTimeMs, nowMs, limits)
  return decision.kind === 'timer' ? decision.deliverTimeMs : nowMs
}

/**
 * The deliver time that a delay means for a message that waits, counted from now: 0 is now. Errors:
 * DELAY_INVALID, DELAY_NEGATIVE, DELIVER_TIME_TOO_FAR.
 */
export function deliverTimeAfter(delayMs: number, nowMs: number, limits: DelayLimits): number {
  if (!Number.isSafeInteger(delayMs)) {
    throw new BrokerError('DELAY_INVALID', { property: 'delayMs', found: delayMs })
  }
  const decision = relativeDecision('delayMs', delayMs, nowMs, limits)
  return decision.kind === 'timer' ? decision.deliverTimeMs : nowMs
}

function levelDecision(wanted: number, levelsMs: readonly number[]): DelayDecision {
  const level = Math.min(wanted, levelsMs.length)
  return { kind: 'level', level, delayMs: delayLevelMs(levelsMs, level) }
}

function relativeDecision(
  property: string,
  delayMs: number,
  nowMs: number,
  limits: DelayLimits,
): DelayDecision {
  if (delayMs < 0) throw new BrokerError('DELAY_NEGATIVE', { property, delayMs })
  if (delayMs === 0) return NOW
  return timerDecision(property, delayMs, nowMs, limits)
}

function absoluteDecision(
  deliverTimeMs: number,
  nowMs: number,
  limits: DelayLimits,
): DelayDecision {
  const property = PROPERTY.TIMER_DELIVER_MS
  if (deliverTimeMs < 0) throw new BrokerError('DELAY_NEGATIVE', { property, deliverTimeMs })
  if (deliverTimeMs > 0 && deliverTimeMs < DELIVER_TIME_MS_MIN) {
    throw new BrokerError('DELIVER_TIME_IN_SECONDS', { property, deliverTimeMs })
  }
  if (deliverTimeMs <= nowMs) return NOW
  return timerDecision(property, deliverTimeMs - nowMs, nowMs, limits)
}

/** The one place where the limit is checked. */
function timerDecision(
  property: string,
  delayMs: number,
  nowMs: number,
  limits: DelayLimits,
): DelayDecision {
  // The delay is compared before the sum is made, and the sum before it is kept.
  const deliverTimeMs = nowMs + delayMs
  if (delayMs > limits.delayMsMax || !Number.isSafeInteger(deliverTimeMs)) {
    throw new BrokerError('DELIVER_TIME_TOO_FAR', {
      property,
      delayMs,
      limit: limits.delayMsMax,
      option: LIMIT_OPTION,
    })
  }
  return { kind: 'timer', deliverTimeMs }
}

/** Undefined when the property is absent. Errors: DELAY_INVALID, also when it is empty. */
function readNumber(properties: string, property: string): number | undefined {
  const text = findPropertyOrEmpty(properties, property)
  if (text === undefined) return undefined
  const value = wholeNumber(text)
  if (Number.isNaN(value)) {
    const found = JSON.stringify(text.slice(0, SHOWN_LENGTH_MAX))
    throw new BrokerError('DELAY_INVALID', { property, found })
  }
  return value
}

/** Digits, perhaps behind a minus, that make a safe integer; else NaN. On the way of each message. */
function wholeNumber(text: string): number {
  const isNegative = text.charCodeAt(0) === MINUS
  const first = isNegative ? 1 : 0
  if (text.length === first) return Number.NaN
  let value = 0
  for (let index = first; index < text.length; index++) {
    const digit = text.charCodeAt(index) - ZERO
    if (digit < 0 || digit > 9) return Number.NaN
    value = 10 * value + digit
    if (value > Number.MAX_SAFE_INTEGER) return Number.NaN
  }
  return isNegative && value > 0 ? -value : value
}
