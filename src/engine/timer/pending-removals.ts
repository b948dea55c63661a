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

/**
 * Removals that are decided and not yet durable, and those that have just become so: from the
 * decision on the message must not fire, until the record is durable it must not be forgotten.
 * Whoever copies the message meanwhile says where to.
 */
export class PendingRemovals {
  readonly #byId = new Map<number, PendingRemoval>()
  #observerCount = 0
  /** Applied while somebody was observing. */
  #forgettable: number[] = []

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
    this.#observerCount++
    return () => {
      this.#observerCount--
      if (this.#observerCount > 0) return
      for (const timerId of this.#forgettable) this.forget(timerId)
      this.#forgettable = []
    }
  }

  /** It is durable and carried out. */
  applied(pending: PendingRemoval): void {
    pending.isApplied = true
    if (this.#observerCount === 0) this.forget(pending.timerId)
    else this.#forgettable.push(pending.timerId)
  }
}
