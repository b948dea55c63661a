/**
 * When a message is to be delivered: levels, delays, deliver times, their limits; and what can be
 * asked of those that wait. Pure.
 */
export { checkAskedText } from './asked-text.ts'
export { type BulkChange, type BulkOrder, bulkOrderOf, encodeBulkOrder } from './bulk-change.ts'
export { DEFAULT_DELAY_LEVELS, delayLevelMs, parseDelayLevels } from './delay-levels.ts'
export { parseDeliverAt } from './deliver-at.ts'
export {
  checkedDeliverTime,
  type DelayDecision,
  type DelayLimits,
  deliverTimeAfter,
  resolveDelay,
} from './deliver-time.ts'
export { checkLatePolicy, type OnLate, onLateOf } from './late-policy.ts'
export { parseDuration } from './durations.ts'
export {
  asksForProperties,
  keysOf,
  matchesProperties,
  type ScheduledState,
  type ScheduleFilter,
} from './filter.ts'
export { checkOwnKey } from './own-key.ts'
export type {
  CancelResult,
  ChangeCount,
  Forecast,
  ForecastSteps,
  IdRef,
  KeyRef,
  MessageRef,
  MoveResult,
  NewMessage,
  NewPlace,
  Page,
  PageRequest,
  ReplaceResult,
  ReplaceWhen,
  ScheduledMessage,
  ScheduleLimits,
  SchedulePort,
  WholeMessage,
} from './port.ts'
