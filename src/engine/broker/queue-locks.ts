import type { Clock } from '../../core/platform/index.ts'

/** A lock that its owner does not renew ends after so long, in milliseconds of uptime. */
export const QUEUE_LOCK_MS = 60_000

/** One queue of one topic of this broker. */
export interface QueueName {
  readonly topic: string
  readonly queueId: number
}

interface Lock {
  readonly clientId: string
  readonly endUptimeMs: number
}

/**
 * Which client of a group may consume a queue in order. In memory only: after a restart the
 * clients lock again within twenty seconds.
 */
export class QueueLocks {
  readonly #clock: Clock
  readonly #groups = new Map<string, Map<string, Lock>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Takes or renews the locks that are free or the client's own; returns the queues which the
   * client holds now. The caller has checked that the queues exist.
   */
  lock<Q extends QueueName>(group: string, clientId: string, queues: readonly Q[]): readonly Q[] {
    const nowMs = this.#clock.uptimeMs()
    const locks = this.#groups.get(group) ?? new Map<string, Lock>()
    const held = queues.filter(queue => {
      const lock = locks.get(keyOf(queue))
      if (lock !== undefined && lock.clientId !== clientId && lock.endUptimeMs > nowMs) return false
      locks.set(keyOf(queue), { clientId, endUptimeMs: nowMs + QUEUE_LOCK_MS })
      return true
    })
    if (locks.size > 0) this.#groups.set(group, locks)
    return held
  }

  /** Frees those of the queues that the client holds. */
  unlock(group: string, clientId: string, queues: readonly QueueName[]): void {
    const locks = this.#groups.get(group)
    if (locks === undefined) return
    for (const queue of queues) {
      if (locks.get(keyOf(queue))?.clientId === clientId) locks.delete(keyOf(queue))
    }
    if (locks.size === 0) this.#groups.delete(group)
  }

  /** True while any queue is locked by the group: it consumes in order. */
  holdsAny(group: string): boolean {
    const locks = this.#groups.get(group)
    if (locks === undefined) return false
    const nowMs = this.#clock.uptimeMs()
    for (const [key, lock] of locks) {
      if (lock.endUptimeMs > nowMs) return true
      locks.delete(key)
    }
    this.#groups.delete(group)
    return false
  }
}

function keyOf(queue: QueueName): string {
  return `${queue.queueId}@${queue.topic}`
}
