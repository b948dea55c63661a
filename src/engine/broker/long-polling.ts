import type { Clock, Timer, Timers } from '../../core/platform/index.ts'
import type { ConsumeQueue } from '../store/index.ts'
import type { PendingPull } from './pending-pull.ts'

/** How late an overdue pull is noticed at most, in milliseconds. */
const SWEEP_MS = 500
/** Woken pulls handled before other work gets its turn. */
const SLICE_COUNT = 64

interface LongPollingNeeds {
  readonly clock: Clock
  readonly timers: Timers
  /** Parked pulls at most; the next is not taken. */
  readonly parkedCountMax: number
  /** Runs a woken or overdue pull again. It may park it once more unless `isFinal` is set. */
  readonly rerun: (pull: PendingPull) => void
}

/**
 * Pulls that found nothing and wait for a message in their queue, in memory only.
 *
 * One timer looks for the overdue ones, and only while any is parked. Woken pulls run later and
 * in slices, so that a message for a thousand waiting groups does not hold up the loop.
 */
export class LongPolling {
  readonly #needs: LongPollingNeeds
  readonly #byQueue = new Map<ConsumeQueue, Set<PendingPull>>()
  readonly #byOwner = new Map<object, Set<PendingPull>>()
  #ready: PendingPull[] = []
  #readyNext = 0
  #parkedCount = 0
  #sweep: Timer | undefined
  #sliceAsked = false

  constructor(needs: LongPollingNeeds) {
    this.#needs = needs
  }

  get parkedCount(): number {
    return this.#parkedCount
  }

  /** Keeps the pull until a message comes or its deadline; false when there is no room for it. */
  park(pull: PendingPull): boolean {
    if (this.#parkedCount >= this.#needs.parkedCountMax) return false
    member(this.#byQueue, pull.queue).add(pull)
    member(this.#byOwner, pull.asker.owner).add(pull)
    this.#parkedCount++
    pull.wasParked = true
    this.#sweep ??= this.#sweepLater()
    return true
  }

  /** A queue has new visible messages: all that wait for it run again, soon. */
  wake(queue: ConsumeQueue): void {
    const parked = this.#byQueue.get(queue)
    if (parked === undefined) return
    for (const pull of parked) {
      this.#unpark(pull)
      this.#makeReady(pull)
    }
  }

  /** The owner has gone: what it had parked is forgotten. */
  drop(owner: object): void {
    for (const pull of this.#byOwner.get(owner) ?? []) {
      this.#unpark(pull)
    }
  }

  /** Ends all waiting at once: what is parked runs a last time before this returns. */
  close(): void {
    this.#sweep?.cancel()
    this.#sweep = undefined
    this.#takeOverdue(Infinity)
    while (this.#readyNext < this.#ready.length) this.#runSlice()
  }

  #sweepLater(): Timer {
    return this.#needs.timers.after(SWEEP_MS, () => {
      this.#takeOverdue(this.#needs.clock.uptimeMs())
      this.#sweep = this.#parkedCount === 0 ? undefined : this.#sweepLater()
    })
  }

  #takeOverdue(uptimeMs: number): void {
    for (const parked of this.#byQueue.values()) {
      for (const pull of parked) {
        if (pull.deadlineUptimeMs > uptimeMs) continue
        this.#unpark(pull)
        pull.isFinal = true
        this.#makeReady(pull)
      }
    }
  }

  #unpark(pull: PendingPull): void {
    forget(this.#byQueue, pull.queue, pull)
    forget(this.#byOwner, pull.asker.owner, pull)
    this.#parkedCount--
  }

  #makeReady(pull: PendingPull): void {
    this.#ready.push(pull)
    this.#askSlice()
  }

  #runSlice(): void {
    const end = Math.min(this.#readyNext + SLICE_COUNT, this.#ready.length)
    while (this.#readyNext < end) {
      const pull = this.#ready[this.#readyNext]
      this.#readyNext++
      if (pull !== undefined) this.#needs.rerun(pull)
    }
    if (this.#readyNext < this.#ready.length) {
      this.#askSlice()
    } else {
      this.#ready = []
      this.#readyNext = 0
    }
  }

  #askSlice(): void {
    if (this.#sliceAsked) return
    this.#sliceAsked = true
    this.#needs.timers.soon(() => {
      this.#sliceAsked = false
      this.#runSlice()
    })
  }
}

function member<K>(sets: Map<K, Set<PendingPull>>, key: K): Set<PendingPull> {
  const found = sets.get(key)
  if (found !== undefined) return found
  const made = new Set<PendingPull>()
  sets.set(key, made)
  return made
}

function forget<K>(sets: Map<K, Set<PendingPull>>, key: K, pull: PendingPull): void {
  const set = sets.get(key)
  if (set === undefined) return
  set.delete(pull)
  if (set.size === 0) sets.delete(key)
}
