import type { Files } from '../../core/platform/index.ts'
import {
  recordQueueId,
  recordQueueOffset,
  recordSize,
  recordSysFlag,
  recordTopic,
  SYS_FLAG,
} from '../../model/message/index.ts'
import { QUEUE_SEGMENT_BYTES } from '../store/index.ts'
import { expectedTagsCode, LevelDelays } from './expected-tags.ts'
import { QueueCheck, type QueueChecks } from './queue-check.ts'
import { SegmentReader } from './segment-reader.ts'

const QUEUE_ID_MAX = 65_535

/** All consume queues, those without a file too. */
export class QueuesCheck {
  readonly #files: Files
  readonly #root: string
  readonly #all: QueueChecks
  readonly #queues = new Map<string, QueueCheck[]>()

  constructor(files: Files, root: string, all: QueueChecks) {
    this.#files = files
    this.#root = root
    this.#all = all
  }

  /** Finds the folders that exist, and reports files of a wrong length. */
  async discover(isClean: boolean): Promise<void> {
    for (const topic of await this.#files.list(this.#root)) {
      for (const name of await this.#files.list(`${this.#root}/${topic}`)) {
        if (!/^\d{1,6}$/.test(name)) continue
        const queue = await this.#make(topic, Number(name))
        queue.checkLengths(isClean)
      }
    }
  }

  get count(): number {
    let count = 0
    for (const queues of this.#queues.values()) count += queues.filter(Boolean).length
    return count
  }

  *all(): Generator<QueueCheck> {
    for (const queues of this.#queues.values()) {
      for (const queue of queues) if (queue !== undefined) yield queue
    }
  }

  record(source: Buffer, position: number, commitLogOffset: number): Promise<void> | undefined {
    const queueId = recordQueueId(source, position)
    if (hasNoUnit(recordSysFlag(source, position))) return undefined
    if (queueId < 0 || queueId > QUEUE_ID_MAX) return undefined
    const topic = recordTopic(source, position)
    const queue = this.#queues.get(topic)?.[queueId]
    const facts = {
      commitLogOffset,
      sizeBytes: recordSize(source, position),
      queueOffset: recordQueueOffset(source, position),
      tagsCode: LevelDelays.isLevel(topic)
        ? 0
        : expectedTagsCode(source, position, { topic, queueId }),
      source,
      position,
    }
    if (queue !== undefined) return queue.record(facts)
    return this.#make(topic, queueId).then(made => made.record(facts))
  }

  async #make(topic: string, queueId: number): Promise<QueueCheck> {
    const directory = `${this.#root}/${topic}/${queueId}`
    const files = await SegmentReader.open(this.#files, directory, () => QUEUE_SEGMENT_BYTES)
    const queue = new QueueCheck({ topic, queueId, files }, this.#all)
    const queues = this.#queues.get(topic) ?? []
    queues[queueId] = queue
    this.#queues.set(topic, queues)
    return queue
  }
}

/** Apache's half and rolled back messages have no place in a queue, though they name one. */
function hasNoUnit(sysFlag: number): boolean {
  const kind = sysFlag & SYS_FLAG.TRANSACTION_MASK
  return kind === SYS_FLAG.TRANSACTION_PREPARED || kind === SYS_FLAG.TRANSACTION_ROLLBACK
}
