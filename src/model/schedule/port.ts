/**
 * What users do with waiting messages, whoever keeps them. Served by the broker; later also by a
 * cluster.
 */
export interface SchedulePort {
  /**
   * Cancels a waiting message. Durable when it resolves.
   *
   * - `cancelled`: it is never delivered. Asked again while its time has not come: the same.
   * - `too-late`: it does not wait any more, or is being delivered.
   * - `unknown`: no message of this id is known here.
   *
   * Errors: MESSAGE_ID_INVALID; STORE_FULL, STORE_BUSY, STORE_FAILED and SHUTTING_DOWN, after
   * which it may be asked again.
   */
  cancel(ref: MessageRef): Promise<CancelResult>

  /**
   * Gives a waiting message another deliver time, earlier or later; one that has come means now. It
   * keeps its id. Durable when it resolves; the results are those of `cancel`.
   *
   * Errors: those of `cancel`, those of a deliver time (DELAY_NEGATIVE, DELIVER_TIME_IN_SECONDS,
   * DELIVER_TIME_TOO_FAR), PROPERTIES_TOO_LARGE.
   */
  move(ref: MessageRef, deliverTimeMs: number): Promise<MoveResult>
}

/** A scheduled message. */
export interface MessageRef {
  /** What the send of it was answered with: its recall handle. */
  readonly id: string
}

export type CancelResult = 'cancelled' | 'too-late' | 'unknown'

export type MoveResult =
  /** `deliverTimeMs` is never before the moment of the move. */
  | { readonly kind: 'moved'; readonly deliverTimeMs: number }
  /** It was cancelled, and stays so. */
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'too-late' }
  | { readonly kind: 'unknown' }
