import { BrokerError } from '../../core/base/index.ts'
import type { Clock, Log, Timer, Timers } from '../../core/platform/index.ts'
import { ConsumerGroup, type ConsumerHeartbeat, type Member } from './consumer-group.ts'

/** A client that has sent no heartbeat for so long is taken as gone, in milliseconds of uptime. */
export const CLIENT_EXPIRY_MS = 120_000
const SWEEP_INTERVAL_MS = 10_000

/** Bounds what one connection can make the broker remember. */
export const GROUPS_PER_CONNECTION_MAX = 1000
export const SUBSCRIPTIONS_PER_GROUP_MAX = 1000

/** The connection of a client: the identity under which its producers and consumers are known. */
export interface ClientChannel {
  readonly remoteHost: string
  readonly remotePort: number
  /** Sends a frame of the broker's own making; dropped when the connection is closed. */
  send(frame: Buffer): void
}

export interface ClientHeartbeat {
  readonly clientId: string
  readonly language: string | undefined
  readonly version: number
  readonly producerGroups: readonly string[]
  readonly consumers: readonly ConsumerHeartbeat[]
}

/** Where a client ends to be a member. */
export interface GroupsLeft {
  readonly producer: string | undefined
  readonly consumer: string | undefined
}

export type GroupListener = (group: string, members: readonly ClientChannel[]) => void

interface Groups {
  readonly consumers: Set<string>
  readonly producers: Set<string>
}

/**
 * Which producers and consumers are connected, from their heartbeats. In memory only: after a
 * restart the clients' next heartbeats fill it again.
 */
export class ClientRegistry {
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #log: Log
  readonly #consumers = new Map<string, ConsumerGroup>()
  readonly #producers = new Map<string, Map<ClientChannel, Member>>()
  readonly #channels = new Map<ClientChannel, Groups>()
  readonly #listeners = new Set<GroupListener>()
  #timer: Timer | undefined

  constructor(platform: { readonly clock: Clock; readonly timers: Timers; readonly log: Log }) {
    this.#clock = platform.clock
    this.#timers = platform.timers
    this.#log = platform.log
  }

  /** Looks for clients that have gone silent, every ten seconds from now on. */
  start(): void {
    this.#timer = this.#timers.after(SWEEP_INTERVAL_MS, () => {
      this.start()
      this.expire()
    })
  }

  stop(): void {
    this.#timer?.cancel()
  }

  /**
   * Called when the members of a group that consumes in turns must share its queues anew, with
   * all of them, a newcomer included. Returns a function that ends it.
   */
  onGroupChanged(listener: GroupListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Connections that are in a group. */
  get clientCount(): number {
    return this.#channels.size
  }

  consumerGroup(name: string): ConsumerGroup | undefined {
    return this.#consumers.get(name)
  }

  /** Errors: PARAMETER_INVALID when it names more groups or topics than a client may have. */
  heartbeat(channel: ClientChannel, heartbeat: ClientHeartbeat): void {
    const groups = this.#groupsOf(channel, heartbeat)
    const member: Member = {
      clientId: heartbeat.clientId,
      language: heartbeat.language,
      version: heartbeat.version,
      seenUptimeMs: this.#clock.uptimeMs(),
    }
    for (const group of heartbeat.producerGroups) {
      groups.producers.add(group)
      let producers = this.#producers.get(group)
      if (producers === undefined) this.#producers.set(group, (producers = new Map()))
      producers.set(channel, member)
    }
    for (const consumer of heartbeat.consumers) {
      groups.consumers.add(consumer.group)
      let group = this.#consumers.get(consumer.group)
      if (group === undefined) {
        this.#consumers.set(consumer.group, (group = new ConsumerGroup(consumer.group)))
      }
      if (group.update(channel, member, consumer)) this.#tell(group)
    }
    this.#forgetIfIdle(channel)
  }

  /** A client says that it stops producing or consuming in these groups. */
  unregister(channel: ClientChannel, from: GroupsLeft): void {
    if (from.producer !== undefined) this.#removeProducer(channel, from.producer)
    if (from.consumer !== undefined) this.#removeConsumer(channel, from.consumer)
  }

  /** The connection has closed. */
  close(channel: ClientChannel): void {
    const groups = this.#channels.get(channel)
    if (groups === undefined) return
    for (const group of [...groups.producers]) this.#removeProducer(channel, group)
    for (const group of [...groups.consumers]) this.#removeConsumer(channel, group)
    this.#channels.delete(channel)
  }

  /** Forgets who has sent no heartbeat for `CLIENT_EXPIRY_MS`. */
  expire(): void {
    const limitMs = this.#clock.uptimeMs() - CLIENT_EXPIRY_MS
    for (const [name, producers] of this.#producers) {
      for (const [channel, member] of producers) {
        if (member.seenUptimeMs <= limitMs) this.#removeProducer(channel, name)
      }
    }
    for (const group of this.#consumers.values()) {
      for (const [channel, member] of group.members) {
        if (member.seenUptimeMs > limitMs) continue
        const { clientId } = member
        this.#log.info('a consumer has sent no heartbeat, it is taken as gone', {
          group: group.name,
          clientId,
        })
        this.#removeConsumer(channel, group.name)
      }
    }
  }

  #groupsOf(channel: ClientChannel, heartbeat: ClientHeartbeat): Groups {
    const known = this.#channels.get(channel)
    const groups = known ?? { consumers: new Set(), producers: new Set() }
    checkRoom('producer groups', groups.producers, heartbeat.producerGroups)
    checkRoom(
      'consumer groups',
      groups.consumers,
      heartbeat.consumers.map(each => each.group),
    )
    for (const { group, subscriptions } of heartbeat.consumers) {
      if (subscriptions === undefined || subscriptions.length <= SUBSCRIPTIONS_PER_GROUP_MAX)
        continue
      throw new BrokerError('PARAMETER_INVALID', {
        group,
        subscriptions: subscriptions.length,
        subscriptionsMax: SUBSCRIPTIONS_PER_GROUP_MAX,
      })
    }
    if (known === undefined) this.#channels.set(channel, groups)
    return groups
  }

  #removeProducer(channel: ClientChannel, name: string): void {
    const producers = this.#producers.get(name)
    producers?.delete(channel)
    if (producers?.size === 0) this.#producers.delete(name)
    this.#channels.get(channel)?.producers.delete(name)
    this.#forgetIfIdle(channel)
  }

  #removeConsumer(channel: ClientChannel, name: string): void {
    const group = this.#consumers.get(name)
    this.#channels.get(channel)?.consumers.delete(name)
    this.#forgetIfIdle(channel)
    if (group === undefined || !group.members.delete(channel)) return
    if (group.members.size === 0) this.#consumers.delete(name)
    else this.#tell(group)
  }

  #forgetIfIdle(channel: ClientChannel): void {
    const groups = this.#channels.get(channel)
    if (groups?.consumers.size === 0 && groups.producers.size === 0) this.#channels.delete(channel)
  }

  #tell(group: ConsumerGroup): void {
    // Broadcast consumers read every queue each: there is nothing to share.
    if (group.isBroadcast) return
    const members = [...group.members.keys()]
    for (const listener of this.#listeners) listener(group.name, members)
  }
}

function checkRoom(what: string, known: ReadonlySet<string>, added: readonly string[]): void {
  const count = new Set([...known, ...added]).size
  if (count <= GROUPS_PER_CONNECTION_MAX) return
  throw new BrokerError('PARAMETER_INVALID', { [what]: count, max: GROUPS_PER_CONNECTION_MAX })
}
