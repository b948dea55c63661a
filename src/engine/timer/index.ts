/** What waits, and when it is due: delay levels, the ladder, and what is parked. */
export { type BulkJob, bulkOrderAt, covers } from './bulk-changes.ts'
export { CHUNK_HEADER_BYTES, chunkHeaderDamage } from './chunk.ts'
export type { ChunkSection } from './chunk-section.ts'
export type { DueOutcome, DueSink } from './due-sink.ts'
export type { TimerRef } from './ladder/chunk-search.ts'
export type { TimerState } from './ladder/finder.ts'
export type { ListPosition } from './ladder/list/list-order.ts'
export { Tally } from './ladder/list/tally.ts'
export type { ListedMessage, ListStep, WaitingQuery } from './ladder/list/waiting-list.ts'
export { ladderSectionOf } from './ladder/ladder-section.ts'
export { rungNamed, rungs } from './ladder/rungs.ts'
export { levelsSectionOf } from './levels/levels-section.ts'
export { parkedSectionOf } from './parked/parked-section.ts'
export type { NewRemoval, WaitingPlace } from './pending-removals.ts'
export { TimerStores, type TimerOptions, type TimerStatistics } from './timer-stores.ts'
export { digestOfKey } from './keys/key-index.ts'
export type { RefLookup } from './refs/ref-index.ts'
export { refOf, REPLACES_NONE, timerTagsCode } from './timer-tags-code.ts'
export {
  checkTimerRecord,
  isMarkSound,
  looksLikeTimerHeader,
  TIMER_HEADER_BYTES,
  timerDeliverTimeMs,
  timerIdOf,
  timerMark,
  timerMarkPosition,
  timerRecordStart,
} from './timer-record.ts'
