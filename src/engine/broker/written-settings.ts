interface Change<S> {
  /** What the file holds, as far as is known. */
  written: S
  /** What was set last; it may be on its way to the file. */
  latest: S
}

/**
 * Changes of settings that take effect at once and count only when they are written: when the
 * write fails, the settings are again those that the file holds.
 */
export class WrittenSettings<E extends S, S extends object> {
  readonly #underWay = new Map<E, Change<S>>()
  readonly #save: (entry: E) => Promise<void>

  /** `save` writes the file; it is called after each change, also when settings are put back. */
  constructor(save: (entry: E) => Promise<void>) {
    this.#save = save
  }

  /** Durable when it resolves. `before` are the entry's present settings. */
  async change(entry: E, before: S, after: S): Promise<void> {
    const change = this.#underWay.get(entry) ?? { written: before, latest: after }
    change.latest = after
    this.#underWay.set(entry, change)
    Object.assign(entry, after)
    try {
      await this.#save(entry)
      change.written = after
    } catch (error) {
      // A later change of the same entry either is written after all or puts back itself.
      if (change.latest === after) this.#putBack(entry, change)
      throw error
    } finally {
      if (change.latest === after) this.#underWay.delete(entry)
    }
  }

  #putBack(entry: E, change: Change<S>): void {
    Object.assign(entry, change.written)
    // A failed write may have reached the disk; the next one that succeeds sets it right.
    this.#save(entry).catch(() => undefined)
  }
}
