import {
  javaHash,
  recordQueueId,
  recordSize,
  recordSysFlag,
  recordTopic,
  SYS_FLAG,
} from '../../model/message/index.ts'
import { RecordHashes } from '../store/index.ts'

/** Reads from a record which items it should have; filled again for each record. */
export class EntryReader {
  readonly hashes: RecordHashes = new RecordHashes()
  /** Apache may have items for it, and we have none. */
  isOptional = false
  readonly #topicHashes = new Map<string, number>()

  read(source: Buffer, position: number): void {
    const topic = recordTopic(source, position)
    let topicKeyHash = this.#topicHashes.get(topic)
    if (topicKeyHash === undefined) {
      topicKeyHash = javaHash(`${topic}#`)
      this.#topicHashes.set(topic, topicKeyHash)
    }
    const queue = { topic, queueId: recordQueueId(source, position), topicKeyHash }
    this.hashes.read({ source, position, sizeBytes: recordSize(source, position), queue })
    const kind = recordSysFlag(source, position) & SYS_FLAG.TRANSACTION_MASK
    this.isOptional = kind === SYS_FLAG.TRANSACTION_PREPARED
  }
}
