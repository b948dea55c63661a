/** Larger reads always go to a thread. */
const QUICK_BYTES_MAX = 16 * 1024
/** A read of what the system has in memory takes a few microseconds: this one had to wait. */
const WAITED_MS = 0.05
/** After one that had to wait, none is made here for so many times as long. */
const REST_RATIO = 100

/**
 * Whether a read is made at once, on the thread that asks. Of what the system has in memory a small
 * one takes a few microseconds, and ten times as long to hand to another thread. Whether it has it
 * nobody says; so as soon as one had to wait for the disk, the next ones go to threads, for so long
 * that waiting takes at most a hundredth of the time. See decision 17.
 */
export class QuickReads {
  readonly #uptimeMs: () => number
  #restUntilMs = 0

  constructor(uptimeMs: () => number) {
    this.#uptimeMs = uptimeMs
  }

  permits(sizeBytes: number): boolean {
    return sizeBytes <= QUICK_BYTES_MAX && this.#uptimeMs() >= this.#restUntilMs
  }

  /** Makes a read and notes how long it took. */
  run(read: () => number): number {
    const startMs = this.#uptimeMs()
    try {
      return read()
    } finally {
      const endMs = this.#uptimeMs()
      const tookMs = endMs - startMs
      if (tookMs > WAITED_MS) this.#restUntilMs = endMs + REST_RATIO * tookMs
    }
  }
}
