import { type CheckpointParticipant, countsOf } from '../store/index.ts'

/**
 * Timers of which recovery has found in the log, behind the last checkpoint, that they are done
 * with: fired or cancelled, although the checkpoint has them waiting. Each is met once more, where
 * it waited, and then forgotten. Empty except for a while after a crash.
 */
export class TimerIds implements CheckpointParticipant {
  readonly name: 'fired' | 'cancelled'
  readonly #ids: Set<number>

  /** `section` is that of the manifest, `undefined` in a new store. Errors: STORE_DAMAGED. */
  constructor(name: 'fired' | 'cancelled', section: unknown) {
    this.name = name
    this.#ids = new Set(section === undefined ? [] : countsOf(section, `sections.${name}`))
  }

  add(timerId: number): void {
    this.#ids.add(timerId)
  }

  has(timerId: number): boolean {
    return this.#ids.has(timerId)
  }

  /** True, once, for a timer that was done with before the restart: it must not fire again. */
  take(timerId: number): boolean {
    return this.#ids.size > 0 && this.#ids.delete(timerId)
  }

  prepare(): Promise<void> {
    return Promise.resolve()
  }

  snapshot(): readonly number[] {
    return [...this.#ids]
  }

  write(): Promise<void> {
    return Promise.resolve()
  }

  relieve(): Promise<void> {
    return Promise.resolve()
  }

  committed(): Promise<void> {
    return Promise.resolve()
  }
}
