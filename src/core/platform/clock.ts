/** The only source of time. Production asks the system; a test turns it by hand. */
export interface Clock {
  /** Whole milliseconds since 1970, UTC. May jump either way; never subtract two readings. */
  timeMs(): number
  /** Milliseconds since some fixed moment in this process, with fraction. Never decreases. */
  uptimeMs(): number
}

/** Timers keep the process alive until they fire or are cancelled. */
export interface Timers {
  /**
   * Calls back once `clock.timeMs()` has reached `timeMs`, never before. A call later than that
   * is possible; a time in the past fires soon. Follows steps of the clock within a second.
   */
  at(timeMs: number, callback: () => void): Timer
  /** Calls back after `delayMs` of uptime, whatever the time does. */
  after(delayMs: number, callback: () => void): Timer
  /** Calls back after the input and output that is ready now has been handled. */
  soon(callback: () => void): void
}

export interface Timer {
  /** Does nothing after the call back. */
  cancel(): void
}
