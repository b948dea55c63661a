import type { ConsumeQueue, QueueRead, Store } from '../../src/engine/store/index.ts'
import {
  checkRecord,
  decodeRecord,
  recordQueueOffset,
  recordSize,
  SCHEDULE_TOPIC,
  TIMER_DROP_QUEUE,
  TIMER_TOPIC,
} from '../../src/model/message/index.ts'
import type { Ledger } from './ledger.ts'
import { Violation } from './violation.ts'

const COUNT_MAX = 32
const SEAL_BYTES = 12
const BYTES_MAX = 256 * 1024

export interface ReaderParts {
  readonly store: Store
  readonly ledger: Ledger
  /** Records may be damaged: each is read by itself. */
  readonly toleratesDamage: boolean
  readonly nowMs: () => number
}

/**
 * A consumer of all topics, which reads each message in the moment in which it becomes visible:
 * what it has got once may never be missing again.
 */
export class Reader {
  readonly #parts: ReaderParts
  readonly #nexts = new Map<ConsumeQueue, number>()
  readonly #reading = new Set<ConsumeQueue>()
  #isClosed = false
  #violation: unknown

  constructor(parts: ReaderParts) {
    this.#parts = parts
  }

  /** Something wrong that was seen meanwhile. */
  get violation(): unknown {
    return this.#violation
  }

  get isBusy(): boolean {
    return this.#reading.size > 0
  }

  /** Reads what is there from the first message on, then what arrives. */
  open(topics: Iterable<string>): void {
    this.#parts.store.onArrival(queue => this.#look(queue))
    this.readAll(topics)
  }

  /** After it nothing that it does counts. */
  close(): void {
    this.#isClosed = true
  }

  /** Reads every queue, also those which it has read before. */
  readAll(topics: Iterable<string>): void {
    this.#nexts.clear()
    this.catchUp(topics)
  }

  /** Reads what it could not read before. */
  catchUp(topics: Iterable<string>): void {
    for (const topic of topics) {
      for (const queue of this.#parts.store.queuesOf(topic)) this.#look(queue)
    }
  }

  #look(queue: ConsumeQueue): void {
    if (this.#isClosed || isInternal(queue) || this.#reading.has(queue)) return
    try {
      this.#read(queue)
    } catch (error) {
      this.#violation ??= error
    }
  }

  #read(queue: ConsumeQueue): void {
    const { store, toleratesDamage } = this.#parts
    for (;;) {
      const fromOffset = Math.max(this.#nexts.get(queue) ?? 0, queue.minOffset)
      if (fromOffset >= queue.maxOffset) return
      const read = store.readQueue(queue, {
        fromOffset,
        countMax: toleratesDamage ? 1 : COUNT_MAX,
        bytesMax: BYTES_MAX,
        accepts: undefined,
      })
      if (read instanceof Promise) {
        this.#await(queue, read)
        return
      }
      this.#take(queue, read)
    }
  }

  #await(queue: ConsumeQueue, read: Promise<QueueRead>): void {
    this.#reading.add(queue)
    const ended = (result: QueueRead | undefined): void => {
      this.#reading.delete(queue)
      if (this.#isClosed || result === undefined) return
      try {
        this.#take(queue, result)
      } catch (error) {
        this.#violation ??= error
        return
      }
      this.#look(queue)
    }
    // A read that failed is made again when the reader catches up.
    void read.catch(() => undefined).then(ended)
  }

  #take(queue: ConsumeQueue, read: QueueRead): void {
    const { ledger, nowMs } = this.#parts
    ledger.nowMs = nowMs()
    ledger.latestTimeMs = Math.max(ledger.latestTimeMs, ledger.nowMs)
    this.#nexts.set(queue, read.nextOffset)
    const isDrop = queue.topic === TIMER_TOPIC
    let position = 0
    while (position < read.bytes.length) {
      const check = checkRecord(read.bytes, position, read.bytes.length)
      if (check.kind !== 'record') {
        this.#damaged(queue, read)
        return
      }
      const end = position + recordSize(read.bytes, position)
      // The checksum of the record, which is its last property.
      const seal = read.bytes.toString('latin1', end - SEAL_BYTES, end)
      const queueOffset = recordQueueOffset(read.bytes, position)
      if (isDrop) ledger.dropped(decodeRecord(read.bytes, position))
      else if (!ledger.isSeenAgain(queue, queueOffset, seal)) {
        ledger.seen(decodeRecord(read.bytes, position), seal)
      }
      position = end
    }
  }

  #damaged(queue: ConsumeQueue, read: QueueRead): void {
    const at = `${queue.topic}/${queue.queueId}/${read.nextOffset - 1}`
    const known = this.#parts.ledger.queue(queue.topic, queue.queueId).places[read.nextOffset - 1]
    const isKnown = known === undefined || known.send.isDamaged
    if (this.#parts.toleratesDamage && isKnown) return
    throw new Violation(10, `${at} is served damaged`)
  }
}

/** Not for readers, but for the records of what was dropped. */
function isInternal({ topic, queueId }: ConsumeQueue): boolean {
  return topic === SCHEDULE_TOPIC || (topic === TIMER_TOPIC && queueId !== TIMER_DROP_QUEUE)
}
