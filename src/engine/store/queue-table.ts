import { operatingError } from '../../core/base/index.ts'
import type { Files, Log } from '../../core/platform/index.ts'
import { ConsumeQueue } from './consume-queue.ts'
import type { TopicApplier } from './topic-applier.ts'

/** All consume queues, by topic and number. */
export class QueueTable {
  readonly #files: Files
  readonly directory: string
  readonly #topics = new Map<string, (ConsumeQueue | undefined)[]>()
  readonly #appliers: ReadonlyMap<string, TopicApplier>

  constructor(files: Files, directory: string, appliers: ReadonlyMap<string, TopicApplier>) {
    this.#files = files
    this.directory = directory
    this.#appliers = appliers
  }

  find(topic: string, queueId: number): ConsumeQueue | undefined {
    return this.#topics.get(topic)?.[queueId]
  }

  /** The queue, made in memory when it is new; its file comes with the first unit written. */
  get(topic: string, queueId: number): ConsumeQueue {
    let queues = this.#topics.get(topic)
    if (queues === undefined) {
      queues = []
      this.#topics.set(topic, queues)
    }
    let queue = queues[queueId]
    if (queue === undefined) {
      queue = new ConsumeQueue({
        files: this.#files,
        root: this.directory,
        topic,
        queueId,
        applier: this.#appliers.get(topic),
      })
      queues[queueId] = queue
    }
    return queue
  }

  queuesOf(topic: string): readonly ConsumeQueue[] {
    return (this.#topics.get(topic) ?? []).filter(queue => queue !== undefined)
  }

  *all(): Generator<ConsumeQueue> {
    for (const queues of this.#topics.values()) {
      for (const queue of queues) if (queue !== undefined) yield queue
    }
  }

  /** Writes out the units of queues that hold many in memory; what fails is tried again later. */
  async writeLongTails(log: Log): Promise<void> {
    try {
      for (const queue of this.all()) if (queue.isTailLong) await queue.writeTail()
    } catch (error) {
      const reason = operatingError(error).message
      log.warn('queue units could not be written yet', { reason })
    }
  }

  /** Makes a queue for every folder found. */
  async discover(): Promise<void> {
    for (const topic of await this.#files.list(this.directory)) {
      for (const name of await this.#files.list(`${this.directory}/${topic}`)) {
        if (/^\d{1,6}$/.test(name)) this.get(topic, Number(name))
      }
    }
  }
}
