import {
  isAcceptQueue,
  javaHash,
  propertiesStart,
  recordSysFlag,
  SYS_FLAG,
  TIMER_TOPIC,
} from '../../../model/message/index.ts'
import { keyHashOf } from './index-layout.ts'
import { hashOn, RecordKeys, wordEnd } from './record-keys.ts'

const HASH_OF_SEPARATOR = javaHash('#')
const HASHES_FIRST = 8

/** What is asked of a record; `source` holds it at `position`. */
export interface HashedRecord {
  readonly source: Buffer
  readonly position: number
  readonly sizeBytes: number
  readonly queue: {
    readonly topic: string
    readonly queueId: number
    /** Java's hash of the topic with `#` behind it. */
    readonly topicKeyHash: number
  }
}

/** Hashes of what a record is found by, in the order of its items; filled again for each record. */
export class RecordHashes {
  count = 0
  #hashes = new Int32Array(HASHES_FIRST)
  readonly #keys = new RecordKeys()

  at(index: number): number {
    return this.#hashes[index] ?? 0
  }

  /** A record that no search finds has none. */
  read({ source, position, sizeBytes, queue }: HashedRecord): void {
    this.count = 0
    const kind = recordSysFlag(source, position) & SYS_FLAG.TRANSACTION_MASK
    if (kind === SYS_FLAG.TRANSACTION_ROLLBACK) return
    const keys = this.#keys
    keys.read(source, propertiesStart(source, position), position + sizeBytes)
    let topicHash = queue.topicKeyHash
    if (queue.topic === TIMER_TOPIC) {
      if (!isAcceptQueue(queue.queueId) || keys.realTopicEnd === 0) return
      topicHash = hashOn(0, source, keys.realTopicStart, keys.realTopicEnd)
      topicHash = (Math.imul(topicHash, 31) + HASH_OF_SEPARATOR) | 0
    }
    if (keys.uniqueKeyEnd > 0) {
      this.#add(keyHashOf(hashOn(topicHash, source, keys.uniqueKeyStart, keys.uniqueKeyEnd)))
    }
    for (let start = keys.keysStart; start < keys.keysEnd;) {
      const end = wordEnd(source, start, keys.keysEnd)
      if (end > start) this.#add(keyHashOf(hashOn(topicHash, source, start, end)))
      start = end + 1
    }
  }

  #add(hash: number): void {
    if (this.count === this.#hashes.length) {
      const hashes = new Int32Array(2 * this.count)
      hashes.set(this.#hashes)
      this.#hashes = hashes
    }
    this.#hashes[this.count++] = hash
  }
}
