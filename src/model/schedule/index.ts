/** When a message is to be delivered: levels, delays, deliver times, their limits. Pure. */
export { DEFAULT_DELAY_LEVELS, delayLevelMs, parseDelayLevels } from './delay-levels.ts'
export { parseDeliverAt } from './deliver-at.ts'
export {
  checkedDeliverTime,
  type DelayDecision,
  type DelayLimits,
  resolveDelay,
} from './deliver-time.ts'
export { parseDuration } from './durations.ts'
export type { CancelResult, MessageRef, MoveResult, SchedulePort } from './port.ts'
