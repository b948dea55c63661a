import type { Chunk, ChunkPlace } from './chunk.ts'
import type { Removal } from './timer-record.ts'

/** Where a waiting message lies, beside the window. */
export type WaitingPlace =
  /** In the window, and its bytes in the commit log only. */
  | { readonly kind: 'log' }
  | ({ readonly kind: 'chunk'; readonly chunk: Chunk } & ChunkPlace)
  /** In the parked store, by its timer id. */
  | { readonly kind: 'parked' }

/** What is decided: see `PendingRemoval`. */
export type NewRemoval = Omit<PendingRemoval, 'isApplied'>

/** The removal of a message from its decision until nobody can meet the message any more. */
export interface PendingRemoval {
  readonly timerId: number
  readonly removal: Removal
  /** Commit log offset of the record that says so: it counts once that is durable. */
  readonly changeOffset: number
  place: WaitingPlace
  /** The record is durable. */
  isApplied: boolean
}

/** Somebody who reads files of waiting messages. */
interface Observer {
  readonly number: number
  isOpen: boolean
}

/**
 * Removals that are decided and not yet durable, and those that have just become so: from the
 * decision on the message must not fire, until the record is durable it must not be forgotten.
 * Whoever copies the message meanwhile says where to.
 */
export class PendingRemovals {
  readonly #byId = new Map<number, PendingRemoval>()
  /** Those that began first, first; the first is open. */
  readonly #observers: Observer[] = []
  #nextNumber = 0
  /** Applied while somebody was observing, in this order. */
  readonly #applied: { readonly timerId: number; readonly observerNumber: number }[] = []

  find(timerId: number): PendingRemoval | undefined {
    return this.#byId.size === 0 ? undefined : this.#byId.get(timerId)
  }

  begin(removal: NewRemoval): void {
    this.#byId.set(removal.timerId, { ...removal, isApplied: false })
  }

  /** The message was copied: the copy is what counts from now on. */
  moved(timerId: number, place: WaitingPlace): void {
    const pending = this.find(timerId)
    if (pending !== undefined && !pending.isApplied) pending.place = place
  }

  /** The message is done with. */
  forget(timerId: number): void {
    this.#byId.delete(timerId)
  }

  /**
   * Reads of a file that began before a mark was made do not see it: until the returned function
   * is called, removals that become durable can be found here.
   */
  observe(): () => void {
    const observer = { number: this.#nextNumber++, isOpen: true }
    this.#observers.push(observer)
    return () => {
      observer.isOpen = false
      this.#forgetSeen()
    }
  }

  /** It is durable and carried out. */
  applied(pending: PendingRemoval): void {
    pending.isApplied = true
    const { timerId } = pending
    if (this.#observers.length === 0) this.forget(timerId)
    else this.#applied.push({ timerId, observerNumber: this.#nextNumber })
  }

  /** Observers that begin behind a mark see it in the file: only earlier ones count. */
  #forgetSeen(): void {
    while (this.#observers[0]?.isOpen === false) this.#observers.shift()
    const oldest = this.#observers[0]?.number ?? Infinity
    const kept = this.#applied.findIndex(({ observerNumber }) => observerNumber > oldest)
    const seen = this.#applied.splice(0, kept < 0 ? this.#applied.length : kept)
    for (const { timerId } of seen) this.forget(timerId)
  }
}
