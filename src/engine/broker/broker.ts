import type { ClientRegistry } from './clients.ts'
import type { ClockWatch } from './clock-watch.ts'
import type { ConsumerOffsets } from './consumer-offsets.ts'
import type { GroupTable } from './groups.ts'
import type { PullService } from './pull.ts'
import type { MessagePut } from './put.ts'
import type { QueueLocks } from './queue-locks.ts'
import type { Statistics } from './statistics.ts'
import type { TopicTable } from './topics.ts'

export interface BrokerParts {
  readonly topics: TopicTable
  readonly groups: GroupTable
  readonly offsets: ConsumerOffsets
  readonly clients: ClientRegistry
  readonly clockWatch: ClockWatch
  readonly locks: QueueLocks
  readonly statistics: Statistics
  readonly put: MessagePut
  readonly pulls: PullService
}

/** The parts of a broker that run beside the store, started and stopped together. */
export class Broker {
  readonly topics: TopicTable
  readonly groups: GroupTable
  readonly offsets: ConsumerOffsets
  readonly clients: ClientRegistry
  readonly locks: QueueLocks
  readonly statistics: Statistics
  readonly put: MessagePut
  readonly pulls: PullService
  readonly clockWatch: ClockWatch

  constructor(parts: BrokerParts) {
    this.topics = parts.topics
    this.groups = parts.groups
    this.offsets = parts.offsets
    this.clients = parts.clients
    this.locks = parts.locks
    this.statistics = parts.statistics
    this.put = parts.put
    this.pulls = parts.pulls
    this.clockWatch = parts.clockWatch
  }

  /** Begins what happens by itself: writing offsets, forgetting silent clients, sampling, watching the clock. */
  start(): void {
    this.offsets.start()
    this.clients.start()
    this.statistics.start()
    this.clockWatch.start()
  }

  /**
   * Answers what is parked and writes the consumer offsets. To be called when the doors take in
   * nothing any more and before the store stops. Errors: STORE_FAILED, STORE_FULL.
   */
  async stop(): Promise<void> {
    this.pulls.close()
    this.clients.stop()
    this.statistics.stop()
    this.clockWatch.stop()
    await this.offsets.stop()
  }
}
