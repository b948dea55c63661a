import type { Timer } from '../core/platform/index.ts'
import { checkGroupName, checkTopicName, javaHash, retryTopic } from '../model/message/index.ts'
import { parseTagExpression } from '../model/filter/index.ts'
import {
  decodeConsumerList,
  REQUEST_CODE,
  RESPONSE_CODE,
  type SubscriptionData,
} from '../model/wire/index.ts'
import { allocateQueues } from './allocate-queues.ts'
import type { BrokerClient } from './broker-client.ts'
import { PullConsumer } from './pull-consumer.ts'
import { type MessageHandler, QueueWorker } from './queue-worker.ts'
import { requestFailed } from './remoting-connection.ts'
import type { QueueAddress } from './topic-queues.ts'

export interface ConsumerOptions {
  readonly group: string
  /** Tag expression by topic: `*`, or tags with `||` between them. */
  readonly subscriptions: Readonly<Record<string, string>>
  readonly handler: MessageHandler
  /** Where a group that has no offset yet starts in a queue. Default `'first'`. */
  readonly startAt?: 'first' | 'last' | undefined
  /** After so many retries a message becomes a dead letter. Default 16. */
  readonly retryTimesMax?: number | undefined
  /** Takes so many messages and no more; those not taken stay for others. Default: no limit. */
  readonly messagesMax?: number | undefined
}

const REBALANCE_INTERVAL_MS = 20_000
/** While a topic or the list of members is missing. */
const UNBALANCED_INTERVAL_MS = 1_000
const COMMIT_INTERVAL_MS = 5_000
const RETRY_TIMES_MAX = 16

/**
 * Consumes topics together with the other members of a group: queues are divided among them, and
 * again when one comes or goes. Messages of one queue are handled one after the other, those of
 * different queues at the same time. Each is handled at least once.
 */
export class Consumer {
  readonly #client: BrokerClient
  readonly #options: ConsumerOptions
  readonly #puller: PullConsumer
  readonly #subscriptions: ReadonlyMap<string, string>
  readonly #workers = new Map<string, QueueWorker>()
  #rebalanceTimer: Timer | undefined
  #commitTimer: Timer | undefined
  #rebalancing: Promise<void> | undefined
  #rebalanceAgain = false
  #stopped = false
  #takenCount = 0

  /** Errors: GROUP_NAME_INVALID, TOPIC_NAME_INVALID, SUBSCRIPTION_INVALID. */
  constructor(client: BrokerClient, options: ConsumerOptions) {
    this.#client = client
    this.#options = options
    this.#puller = new PullConsumer(client, options.group)
    const subscriptions = new Map(Object.entries(options.subscriptions))
    checkGroupName(options.group)
    for (const [topic, tags] of subscriptions) {
      checkTopicName(topic)
      parseTagExpression(tags)
    }
    this.#subscriptions = subscriptions.set(retryTopic(options.group), '*')
  }

  /** Joins the group and starts consuming. Resolves after the first division of queues. */
  async start(): Promise<void> {
    const subVersion = this.#client.platform.clock.timeMs()
    const member = {
      group: this.#options.group,
      consumeType: 'CONSUME_PASSIVELY',
      messageModel: 'CLUSTERING',
      consumeFromWhere: 'CONSUME_FROM_FIRST_OFFSET',
      subscriptions: Array.from(this.#subscriptions, ([topic, tags]) =>
        subscriptionOf(topic, tags, subVersion),
      ),
      unitMode: false,
    } as const
    await this.#client.join(member, () => {
      void this.#rebalance()
    })
    this.#scheduleCommit()
    await this.#rebalance()
  }

  /** Queues that this member consumes now. */
  get queues(): readonly QueueAddress[] {
    return Array.from(this.#workers.values(), worker => worker.target)
  }

  /**
   * Lets the messages under way end, commits the offsets and leaves the group. A handler must not
   * wait for it: it waits for the handler.
   */
  async stop(): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    this.#rebalanceTimer?.cancel()
    this.#commitTimer?.cancel()
    await this.#rebalancing
    await Promise.all(Array.from(this.#workers.values(), worker => worker.stop()))
    this.#workers.clear()
    await this.#client.leave(this.#options.group)
  }

  /** One at a time; a call while one is under way makes it run once more. Never rejects. */
  #rebalance(): Promise<void> {
    if (this.#rebalancing !== undefined) {
      this.#rebalanceAgain = true
      return this.#rebalancing
    }
    this.#rebalancing = this.#rebalanceUntilSettled().finally(() => {
      this.#rebalancing = undefined
    })
    return this.#rebalancing
  }

  async #rebalanceUntilSettled(): Promise<void> {
    let balanced = true
    do {
      this.#rebalanceAgain = false
      this.#rebalanceTimer?.cancel()
      const outcomes = await Promise.all(
        Array.from(this.#subscriptions, ([topic, tags]) => this.#divide(topic, tags)),
      )
      balanced = outcomes.every(Boolean)
    } while (this.#rebalanceAgain && !this.#stopped)
    if (this.#stopped) return
    const delayMs = balanced ? REBALANCE_INTERVAL_MS : UNBALANCED_INTERVAL_MS
    this.#rebalanceTimer = this.#client.platform.timers.after(delayMs, () => {
      void this.#rebalance()
    })
  }

  /** Takes and gives up queues of one topic; false when it must be tried again soon. */
  async #divide(topic: string, tags: string): Promise<boolean> {
    try {
      const queues = await this.#client.readableQueues(topic)
      const [first] = queues
      if (first === undefined) return false
      const members = await this.#members(first.address)
      await this.#takeExactly(topic, tags, allocateQueues(this.#client.clientId, members, queues))
      if (members.includes(this.#client.clientId)) return true
      // The connection was greeted before this consumer joined, or the broker has forgotten it.
      await this.#client.announce()
      return false
    } catch (error) {
      const fields = { group: this.#options.group, topic, why: String(error) }
      this.#client.platform.log.warn('queues could not be divided', fields)
      return false
    }
  }

  /** Sorted; empty when the broker knows of none. */
  async #members(address: string): Promise<readonly string[]> {
    const extFields = { consumerGroup: this.#options.group }
    const code = REQUEST_CODE.GET_CONSUMER_LIST_BY_GROUP
    const response = await this.#client.ask(address, { code, extFields })
    if (response.code === RESPONSE_CODE.SYSTEM_ERROR) return []
    if (response.code !== RESPONSE_CODE.SUCCESS) throw requestFailed(response)
    return decodeConsumerList(response.body).toSorted(byCodeUnit)
  }

  async #takeExactly(topic: string, tags: string, mine: readonly QueueAddress[]): Promise<void> {
    const wanted = new Map(mine.map(target => [keyOf(target), target]))
    const surplus = Array.from(this.#workers).filter(
      ([key, worker]) => worker.target.queue.topic === topic && !wanted.has(key),
    )
    for (const [key] of surplus) this.#workers.delete(key)
    await Promise.all(surplus.map(([, worker]) => worker.stop()))
    if (this.#stopped) return
    for (const [key, target] of wanted) {
      if (this.#workers.has(key)) continue
      const worker = this.#workerOf(target, tags)
      this.#workers.set(key, worker)
      worker.start()
    }
  }

  #workerOf(target: QueueAddress, tags: string): QueueWorker {
    const { handler, startAt, retryTimesMax, group } = this.#options
    const isRetry = target.queue.topic === retryTopic(group)
    return new QueueWorker({
      client: this.#client,
      puller: this.#puller,
      target,
      tags,
      // Whatever waits for a retry has been accepted by this group already.
      startAt: isRetry ? 'first' : (startAt ?? 'first'),
      retryTimesMax: retryTimesMax ?? RETRY_TIMES_MAX,
      mayTake: () => this.#take(),
      handler,
    })
  }

  #take(): boolean {
    if (this.#takenCount >= (this.#options.messagesMax ?? Number.POSITIVE_INFINITY)) return false
    this.#takenCount += 1
    return true
  }

  #scheduleCommit(): void {
    this.#commitTimer = this.#client.platform.timers.after(COMMIT_INTERVAL_MS, () => {
      this.#scheduleCommit()
      for (const worker of this.#workers.values()) void worker.commit()
    })
  }
}

function subscriptionOf(topic: string, tags: string, subVersion: number): SubscriptionData {
  const filter = parseTagExpression(tags)
  const tagsSet = filter.kind === 'all' ? [] : filter.tags
  return {
    topic,
    expressionType: 'TAG',
    subString: filter.kind === 'all' ? '*' : tags,
    tagsSet,
    codeSet: tagsSet.map(javaHash),
    subVersion,
  }
}

/** A queue on another broker address is another queue to consume. */
function keyOf(target: QueueAddress): string {
  const { topic, brokerName, queueId } = target.queue
  return `${topic} ${brokerName} ${queueId} ${target.address}`
}

/** Java's order of strings, in which all members must sort. */
function byCodeUnit(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
