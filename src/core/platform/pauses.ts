import type { Timers } from './clock.ts'

/** Resolves after `durationMs` of uptime. */
export function pause(timers: Timers, durationMs: number): Promise<void> {
  return new Promise(resolve => {
    timers.after(durationMs, resolve)
  })
}

/** Resolves when the input and output that is ready now has been handled. */
export function othersTurn(timers: Timers): Promise<void> {
  return new Promise(resolve => {
    timers.soon(resolve)
  })
}
