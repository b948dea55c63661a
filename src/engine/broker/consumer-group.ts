import type { ClientChannel } from './clients.ts'

/** What a group has asked of one topic. */
export interface Subscription {
  readonly topic: string
  /** `TAG` or another word of the client's. */
  readonly expressionType: string
  /** `*`, or tags with `||` between them. */
  readonly expression: string
  /** When the subscription was made, in milliseconds since 1970 by the client's clock. */
  readonly version: number
}

/** What one client says of one of its consumers. */
export interface ConsumerHeartbeat {
  readonly group: string
  /** RocketMQ's words, kept for tools: `CONSUME_PASSIVELY`, `CLUSTERING`, ... */
  readonly consumeType: string
  readonly messageModel: string
  readonly consumeFromWhere: string
  /** `undefined`: as in the heartbeat before. */
  readonly subscriptions: readonly Subscription[] | undefined
}

/** One client in a group, by its connection. */
export interface Member {
  readonly clientId: string
  readonly language: string | undefined
  /** RocketMQ's ordinal of the client's version. */
  readonly version: number
  readonly seenUptimeMs: number
}

/** The consumers of one group that are connected, and their common subscriptions. */
export class ConsumerGroup {
  readonly name: string
  readonly members: Map<ClientChannel, Member> = new Map()
  readonly #subscriptions = new Map<string, Subscription>()
  consumeType = ''
  messageModel = ''
  consumeFromWhere = ''

  constructor(name: string) {
    this.name = name
  }

  get isBroadcast(): boolean {
    return this.messageModel === 'BROADCASTING'
  }

  subscription(topic: string): Subscription | undefined {
    return this.#subscriptions.get(topic)
  }

  clientIds(): readonly string[] {
    return [...new Set(Array.from(this.members.values(), member => member.clientId))]
  }

  /** Returns whether the members must be told: a new one, or other topics. */
  update(channel: ClientChannel, member: Member, consumer: ConsumerHeartbeat): boolean {
    const isNew = this.members.get(channel)?.clientId !== member.clientId
    this.members.set(channel, member)
    this.consumeType = consumer.consumeType
    this.messageModel = consumer.messageModel
    this.consumeFromWhere = consumer.consumeFromWhere
    const topicsChanged =
      consumer.subscriptions !== undefined && this.#subscribe(consumer.subscriptions)
    return isNew || topicsChanged
  }

  /**
   * The table is common to all members, as RocketMQ has it: an entry is replaced by a greater
   * version only, and topics that the latest heartbeat does not name are dropped. Returns whether
   * a topic was added or dropped.
   */
  #subscribe(subscriptions: readonly Subscription[]): boolean {
    let changed = false
    const topics = new Set<string>()
    for (const subscription of subscriptions) {
      topics.add(subscription.topic)
      const known = this.#subscriptions.get(subscription.topic)
      if (known === undefined) changed = true
      if (known === undefined || subscription.version > known.version) {
        this.#subscriptions.set(subscription.topic, subscription)
      }
    }
    for (const topic of this.#subscriptions.keys()) {
      if (topics.has(topic)) continue
      this.#subscriptions.delete(topic)
      changed = true
    }
    return changed
  }
}
