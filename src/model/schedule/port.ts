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
}

/** A scheduled message. */
export interface MessageRef {
  /** What the send of it was answered with: its recall handle. */
  readonly id: string
}

export type CancelResult = 'cancelled' | 'too-late' | 'unknown'
