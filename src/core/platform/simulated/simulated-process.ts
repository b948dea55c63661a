import type { ScheduledEvent, Scheduler } from './scheduler.ts'

/**
 * A process in a simulated world. Once it is dead nothing that it started happens any more, and
 * no promise that it waits for settles.
 */
export class SimulatedProcess {
  readonly startedMs: number
  readonly #scheduler: Scheduler
  readonly #onDeath: (() => void)[] = []
  #alive = true

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler
    this.startedMs = scheduler.uptimeMs
  }

  get alive(): boolean {
    return this.#alive
  }

  /** Uptime of the world. */
  get nowMs(): number {
    return this.#scheduler.uptimeMs
  }

  schedule(delayMs: number, action: () => void): ScheduledEvent {
    return this.#scheduler.schedule(delayMs, () => {
      if (this.#alive) action()
    })
  }

  /** Called in order when the process dies, while it counts as dead already. */
  onDeath(action: () => void): void {
    this.#onDeath.push(action)
  }

  die(): void {
    if (!this.#alive) return
    this.#alive = false
    for (const action of this.#onDeath) action()
  }
}

/** What a dead process gets: it must not act again. */
export function neverSettled<T>(): Promise<T> {
  return new Promise(() => undefined)
}
