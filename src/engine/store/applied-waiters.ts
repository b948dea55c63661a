import type { BrokerError } from '../../core/base/index.ts'

interface Waiter {
  readonly commitLogOffset: number
  readonly resolve: () => void
  readonly reject: (error: BrokerError) => void
}

/** Those who wait until a record is durable and visible. */
export class AppliedWaiters {
  /** By commit log offset, ascending. */
  readonly #waiters: Waiter[] = []

  /** Resolves when the record at `commitLogOffset` is applied. */
  wait(commitLogOffset: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let index = this.#waiters.length
      // Nearly always the newest record is waited for.
      while (index > 0 && (this.#waiters[index - 1]?.commitLogOffset ?? 0) > commitLogOffset) {
        index--
      }
      this.#waiters.splice(index, 0, { commitLogOffset, resolve, reject })
    })
  }

  /** Everything below `appliedOffset` is applied. */
  settle(appliedOffset: number): void {
    let count = 0
    while (
      count < this.#waiters.length &&
      (this.#waiters[count]?.commitLogOffset ?? 0) < appliedOffset
    ) {
      count++
    }
    if (count === 0) return
    for (const waiter of this.#waiters.splice(0, count)) waiter.resolve()
  }

  /** What they wait for will not come, or nobody knows when. */
  rejectAll(error: BrokerError): void {
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error)
  }
}
