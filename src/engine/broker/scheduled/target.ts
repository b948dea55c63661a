import type { TimerRef } from '../../timer/index.ts'

/** Why nothing could be changed. */
export type Refusal = 'cancelled' | 'too-late' | 'unknown'

/** What a look has found of a message that does not simply wait. */
export type Found = 'cancelling' | 'cancelled' | 'too-late' | 'unknown' | 'absent'

/** The message that somebody means, by id or by own key: where it is, which changes as it is moved. */
export interface Target {
  /** Where it is; undefined: it cannot be here. Errors: STORE_BUSY, STORE_FAILED, MESSAGE_UNREADABLE. */
  locate(): Promise<TimerRef | undefined>
  /** Whether this is its accept record, or that of its latest move. */
  isMeant(record: Buffer): boolean
  /** In the step of a decision: false when `locate` would say something else by now. */
  isCurrent(): boolean
  /** It does not wait at `from`: whether it has gone elsewhere since `locate`. */
  hasMoved(from: TimerRef): Promise<boolean>
  /** What to answer of a message that does not wait at `at`. */
  resultOf(found: Found, at: TimerRef): Promise<Refusal>
}
