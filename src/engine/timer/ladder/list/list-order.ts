import type { TimerRef } from '../chunk-search.ts'

/**
 * A list goes by deliver time, then timer id. Where more is due at a time than one step can look
 * through, it goes by timer id alone, from there to `toMs`.
 */
export type ListPosition =
  /** Behind this message; the timer id is -1 to begin at the deliver time itself. */
  | { readonly kind: 'due'; readonly from: TimerRef }
  /** Behind `afterTimerId`, in what is due behind `from` and before `toMs`. */
  | {
      readonly kind: 'id'
      readonly from: TimerRef
      readonly toMs: number
      readonly afterTimerId: number
    }

export type ListOrder = ListPosition['kind']

/** Negative when `a` comes before `b`. */
export function compareIn(order: ListOrder, a: TimerRef, b: TimerRef): number {
  if (order === 'id') return a.timerId - b.timerId
  return a.deliverTimeMs - b.deliverTimeMs || a.timerId - b.timerId
}

/** The position at the beginning of a deliver time. */
export function positionAt(deliverTimeMs: number): ListPosition {
  return { kind: 'due', from: { deliverTimeMs, timerId: -1 } }
}
