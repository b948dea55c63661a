/** What waits, and when it is due: delay levels, the ladder, and what is parked. */
export type { DueOutcome, DueSink } from './due-sink.ts'
export type { TimerRef } from './ladder/chunk-search.ts'
export type { TimerState } from './ladder/finder.ts'
export type { NewRemoval, WaitingPlace } from './pending-removals.ts'
export { TimerStores, type TimerOptions, type TimerStatistics } from './timer-stores.ts'
