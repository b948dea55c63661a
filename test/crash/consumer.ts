import { setTimeout as sleep } from 'node:timers/promises'

import type { Door } from './door.ts'
import { idOf, KINDS, type Ledger, topicOf } from './ledger.ts'

const IDLE_PAUSE_MS = 10

/** `topic/queue/offset` of every record that a consumer was shown, with the id in it. */
export type Shown = Map<string, number>

/** Where a consumer goes on reading, by `topic/queue`. */
export type Cursors = Map<string, number>

export function recordKey(topic: string, queueId: number, queueOffset: number): string {
  return `${topic}/${queueId}/${queueOffset}`
}

/**
 * Reads all topics while the load goes on and notes when each message arrived. What a consumer
 * has been shown must still be there after a crash, at the same place.
 */
export class Consumer {
  readonly #door: Door
  readonly #ledger: Ledger
  readonly #shown: Shown
  readonly #cursors: Cursors
  readonly #stop = new AbortController()
  readonly #readers: Promise<void>

  constructor(door: Door, ledger: Ledger, shown: Shown, cursors: Cursors) {
    this.#door = door
    this.#ledger = ledger
    this.#shown = shown
    this.#cursors = cursors
    this.#readers = Promise.all(KINDS.map(kind => this.#readOn(topicOf(kind)))).then(
      () => undefined,
    )
  }

  /** Resolves when the readers have ended; a broken connection has ended them already. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#readers
  }

  async #readOn(topic: string): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        const queueCount = await this.#door.queueCount(topic)
        let readCount = 0
        for (let queueId = 0; queueId < queueCount; queueId++) {
          readCount += await this.#readQueue(topic, queueId)
        }
        if (readCount === 0) await sleep(IDLE_PAUSE_MS)
      } catch {
        // The topic does not exist yet, or the broker was killed under us; losses show at the end.
        await sleep(50)
      }
    }
  }

  async #readQueue(topic: string, queueId: number): Promise<number> {
    const cursor = `${topic}/${queueId}`
    const page = await this.#door.read(topic, queueId, this.#cursors.get(cursor) ?? 0)
    const nowMs = Date.now()
    for (const record of page.records) {
      const id = idOf(record.body)
      if (id === undefined) continue
      this.#shown.set(recordKey(topic, queueId, record.queueOffset), id)
      const entry = this.#ledger.find(id)
      if (entry !== undefined) entry.receivedMs ??= nowMs
    }
    this.#cursors.set(cursor, page.nextOffset)
    return page.records.length
  }
}
