import type { BrokerError } from '../../../core/base/index.ts'
import type { RecordDraft } from '../../../model/message/index.ts'
import type { ConsumeQueue } from '../../store/index.ts'
import type { RefLookup, NewRemoval, TimerRef, TimerState } from '../../timer/index.ts'
import type { HandleSearch } from './own-handle.ts'

/** What is asked of the timers. See `TimerStores`. */
export interface ScheduledTimers extends Pick<HandleSearch, 'list'> {
  find<Result>(ref: TimerRef, decide: (state: TimerState) => Result): Promise<Result>
  beginRemoval(removal: NewRemoval): void
  movedTo(firstTimerId: number): Promise<TimerRef | undefined>
  findKey(digest: string): Promise<RefLookup>
  isKeyCurrent(digest: string, lookup: RefLookup): boolean
  pendingKeyOffset(digest: string): number | undefined
  beginKey(digest: string, timerId: number): void
}

/** What is asked of the store. */
export interface ScheduledStore {
  readonly endOffset: number
  /** Set when the disk has failed: nothing is accepted any more. */
  readonly failure: BrokerError | undefined
  queue(topic: string, queueId: number): ConsumeQueue
  append(draft: RecordDraft, queue: ConsumeQueue, tagsCode: number, storeTimeMs: number): number
  /** See `Store.appendAgain`: what was accepted may be larger than what is new. */
  appendAgain(
    draft: RecordDraft,
    queue: ConsumeQueue,
    tagsCode: number,
    storeTimeMs: number,
  ): number
  /** See `Store.appendDue`: also while space is low, since cancelling makes room. */
  appendDue(draft: RecordDraft, queue: ConsumeQueue, tagsCode: number, storeTimeMs: number): number
  readRecord(commitLogOffset: number): Promise<Buffer | undefined>
  whenApplied(commitLogOffset: number): Promise<void>
}

export type Waiting = Extract<TimerState, { kind: 'waiting' }>
