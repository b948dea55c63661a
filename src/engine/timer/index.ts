/** What waits, and when it is due: delay levels, the ladder, and what is parked. */
export type { DueOutcome, DueSink } from './due-sink.ts'
export { TimerStores, type TimerOptions, type TimerStatistics } from './timer-stores.ts'
