import type { Store } from '../store/index.ts'
import type { DueOutcome, DueSink } from './due-sink.ts'

/** Hands due messages to the sink and knows how far what it appended has become durable. */
export class Publisher {
  readonly #store: Store
  readonly #sink: DueSink
  #lastOffset = -1
  #deliveredCount = 0

  constructor(store: Store, sink: DueSink) {
    this.#store = store
    this.#sink = sink
  }

  get deliveredCount(): number {
    return this.#deliveredCount
  }

  /** Due messages should wait: more is under way than the log takes at once. */
  get isCongested(): boolean {
    return this.#store.congested
  }

  /** What made them wait may be over. */
  announceRelief(): void {
    this.#store.announceRelief()
  }

  deliver(source: Buffer, position: number, timerId: number): DueOutcome {
    const outcome = this.#sink.deliver(source, position, timerId)
    if (outcome === 'appended') {
      this.#lastOffset = this.#store.endOffset - 1
      this.#deliveredCount++
    }
    return outcome
  }

  /** Resolves when everything handed out so far is durable. */
  async drained(): Promise<void> {
    if (this.#lastOffset >= this.#store.appliedOffset) {
      await this.#store.whenApplied(this.#lastOffset)
    }
  }
}
