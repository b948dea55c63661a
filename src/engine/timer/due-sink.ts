/**
 * Where due messages go. The broker plugs it in: the timers know nothing of topics.
 */
export interface DueSink {
  /**
   * Appends the message to its real topic and queue. `source` holds the accept record at
   * `position`, during the call only. The published record carries `timerId`.
   *
   * - `appended`: it is in the log, durable once the store has applied it;
   * - `refused`: the target does not take it now: keep it and try again later;
   * - `busy`: the log takes nothing at the moment: try the same message again soon.
   */
  deliver(source: Buffer, position: number, timerId: number): DueOutcome
}

export type DueOutcome = 'appended' | 'refused' | 'busy'
