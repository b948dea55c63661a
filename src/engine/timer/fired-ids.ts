import { type CheckpointParticipant, countsOf } from '../store/index.ts'

/**
 * Timers whose published record lies behind the last checkpoint: recovery found it there, so they
 * have fired although the checkpoint does not say so. Each is met once more, where it waited, and
 * then forgotten. Empty except for a while after a crash.
 */
export class FiredIds implements CheckpointParticipant {
  readonly name = 'fired'
  readonly #ids: Set<number>

  /** `section` is that of the manifest, `undefined` in a new store. Errors: STORE_DAMAGED. */
  constructor(section: unknown) {
    this.#ids = new Set(section === undefined ? [] : countsOf(section, 'sections.fired'))
  }

  add(timerId: number): void {
    this.#ids.add(timerId)
  }

  /** Not met yet. */
  get count(): number {
    return this.#ids.size
  }

  has(timerId: number): boolean {
    return this.#ids.has(timerId)
  }

  /** True, once, for a timer that was done with before the restart: it must not fire again. */
  take(timerId: number): boolean {
    return this.#ids.size > 0 && this.#ids.delete(timerId)
  }

  snapshot(): readonly number[] {
    return [...this.#ids]
  }
}
