import { BrokerError } from '../core/base/index.ts'
import type { Timer } from '../core/platform/index.ts'
import {
  AUTO_CREATE_TOPIC,
  decodeRecallHandle,
  encodeBatch,
  UniqueKeys,
} from '../model/message/index.ts'
import type { CancelResult, MessageRef, MoveResult } from '../model/schedule/index.ts'
import { type ConsumerData, REQUEST_CODE, RESPONSE_CODE } from '../model/wire/index.ts'
import { ConnectionPool } from './connection-pool.ts'
import { cancelByKey, holderOf, moveMessage, type When } from './message-changes.ts'
import { findMessages, type FoundMessage, type KeyQuery, viewMessage } from './message-lookup.ts'
import {
  bodyBytes,
  delayProperty,
  encodeProperties,
  type OutgoingMessage,
} from './outgoing-message.ts'
import { Presence } from './presence.ts'
import {
  type ClientPlatform,
  type RemotingRequest,
  type RemotingResponse,
  requestFailed,
  succeeded,
  type WaitOptions,
} from './remoting-connection.ts'
import { CREATED_QUEUE_COUNT, type Source, TopicDirectory } from './topic-directory.ts'
import type { QueueAddress, TopicQueues } from './topic-queues.ts'

export interface ConnectOptions {
  readonly platform: ClientPlatform
  /** `host:port` of a name server. Give this or `broker`. */
  readonly nameserver?: string | undefined
  /** `host:port` of the only broker, to work without a name server. */
  readonly broker?: string | undefined
  /** Unique among all clients; made up when left out. */
  readonly clientId?: string | undefined
  /** Name under which the broker lists this producer. */
  readonly producerGroup?: string | undefined
  /** How long to wait for an answer; the outcome is unknown after that. Default 3,000. */
  readonly requestTimeoutMs?: number | undefined
}

export interface SendReceipt {
  /** What the message is known by: its UNIQ_KEY. */
  readonly messageId: string
  /** Where it was stored, as the broker's id of it. */
  readonly offsetMessageId: string
  readonly brokerName: string
  readonly queueId: number
  readonly queueOffset: number
  /** With which a waiting message can be cancelled; absent when it is none. */
  readonly recallHandle?: string | undefined
  /** The handle of the waiting message whose place this one took, by its own key. */
  readonly replacedHandle?: string | undefined
}

export interface BatchReceipt {
  readonly messageIds: readonly string[]
  readonly brokerName: string
  readonly queueId: number
  /** Of the first message; the others follow it. */
  readonly queueOffset: number
}

const REQUEST_TIMEOUT_MS = 3_000
const HEARTBEAT_INTERVAL_MS = 30_000
const FAREWELL_TIMEOUT_MS = 1_000
const PRODUCER_GROUP = 'ORRERY_CLIENT'

/** Connects to a cluster. Errors: CONNECT_FAILED, PARAMETER_INVALID. */
export async function connectRemoting(options: ConnectOptions): Promise<BrokerClient> {
  const client = new BrokerClient(options)
  try {
    await client.start()
  } catch (error) {
    await client.close()
    throw error
  }
  return client
}

/**
 * A client of the remoting protocol: sends, and carries the requests of `PullConsumer` and
 * `Consumer`. Lost connections are made again when they are needed; a request that was under way
 * rejects with `CONNECTION_LOST` and is not repeated, because it may have been done.
 *
 * An answer other than success rejects with the error that its remark names, as those of our broker
 * do, or else with `REQUEST_FAILED`, `code` and `remark` in its details.
 */
export class BrokerClient {
  readonly platform: ClientPlatform
  readonly #source: Source
  readonly #requestTimeoutMs: number
  readonly #producerGroup: string
  readonly #presence: Presence
  readonly #uniqueKeys: UniqueKeys
  readonly #directory: TopicDirectory
  readonly #nameservers: ConnectionPool
  readonly #brokers: ConnectionPool
  readonly #memberListeners = new Map<string, () => void>()
  #heartbeatTimer: Timer | undefined
  #turn = 0
  #closed = false

  constructor(options: ConnectOptions) {
    const { platform } = options
    this.platform = platform
    this.#source = sourceOf(options)
    this.#requestTimeoutMs = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS
    this.#producerGroup = options.producerGroup ?? PRODUCER_GROUP
    const clientId = options.clientId ?? `orrery@${platform.random.bytes(8).toString('hex')}`
    this.#presence = new Presence(clientId, this.#producerGroup)
    this.#uniqueKeys = new UniqueKeys(platform.random, platform.clock)
    this.#turn = platform.random.below(0x1_0000)
    this.#nameservers = new ConnectionPool({
      platform,
      onNotice: () => undefined,
      greet: () => Promise.resolve(),
    })
    this.#brokers = new ConnectionPool({
      platform,
      onNotice: (code, extFields) => {
        this.#notice(code, extFields['consumerGroup'])
      },
      greet: connection => this.#presence.announce(connection),
    })
    this.#directory = new TopicDirectory({
      source: this.#source,
      clock: platform.clock,
      ask: request => this.#askSource(request),
    })
  }

  get clientId(): string {
    return this.#presence.clientId
  }

  /** Makes the first connection and starts the heartbeats. Called by `connectRemoting`. */
  async start(): Promise<void> {
    await this.#sourcePool().get(this.#source.address)
    this.#scheduleHeartbeat()
  }

  /**
   * Resolves when the broker has stored the message as durably as it is set up to. Errors:
   * KEY_EXISTS, and those of any refused request.
   */
  async send(message: OutgoingMessage): Promise<SendReceipt> {
    const messageId = this.#uniqueKeys.next()
    const { target, request } = await this.#sendRequest(message, messageId)
    const response = await this.#deliver(target, request)
    return {
      messageId,
      offsetMessageId: response.extFields['msgId'] ?? '',
      recallHandle: response.extFields['recallHandle'],
      replacedHandle: response.extFields['replacedHandle'],
      ...placeOf(target, response),
    }
  }

  /** Resolves when the message was handed to the network; nothing tells whether it was stored. */
  async sendOneway(message: OutgoingMessage): Promise<{ readonly messageId: string }> {
    const messageId = this.#uniqueKeys.next()
    const { target, request } = await this.#sendRequest(message, messageId)
    const connection = await this.#brokers.get(target.address)
    connection.sendOneway(request)
    return { messageId }
  }

  /**
   * Sends messages of one topic together; all are stored, one after the other in one queue, or
   * none is. They cannot be delayed.
   */
  async sendBatch(messages: readonly OutgoingMessage[]): Promise<BatchReceipt> {
    const [first] = messages
    if (first === undefined) {
      throw new BrokerError('PARAMETER_INVALID', { problem: 'a batch needs a message' })
    }
    if (messages.some(message => message.topic !== first.topic)) {
      throw new BrokerError('PARAMETER_INVALID', { problem: 'a batch has one topic' })
    }
    if (messages.some(message => delayProperty(message) !== undefined)) {
      throw new BrokerError('PARAMETER_INVALID', { problem: 'a batch cannot be delayed' })
    }
    const messageIds = messages.map(() => this.#uniqueKeys.next())
    const items = messages.map((message, index) => ({
      flag: 0,
      body: bodyBytes(message),
      properties: encodeProperties(message, messageIds[index] ?? ''),
    }))
    const target = await this.#target(first.topic)
    const response = await this.#deliver(target, {
      code: REQUEST_CODE.SEND_BATCH_MESSAGE,
      extFields: { ...this.#sendFields(target), m: 'true' },
      body: encodeBatch(items),
    })
    return { messageIds, ...placeOf(target, response) }
  }

  /**
   * Cancels a message that waits for its deliver time, at the broker that holds it; durable when it
   * resolves. Errors: MESSAGE_ID_INVALID, TOPIC_NOT_FOUND, and those of any refused request.
   */
  async recall(message: {
    readonly topic: string
    /** Of the receipt of its send. */
    readonly recallHandle: string
  }): Promise<CancelResult> {
    const { topic, recallHandle } = message
    const address = await holderOf(this, recallHandle)
    const extFields = { producerGroup: this.#producerGroup, topic, recallHandle }
    const response = await this.ask(address, { code: REQUEST_CODE.RECALL_MESSAGE, extFields })
    const result = response.extFields['recallResult']
    if (result === 'too-late' || result === 'unknown') return result
    succeeded(response)
    return 'cancelled'
  }

  /** As `recall`, also by own key, which only a broker of ours knows. */
  cancel(ref: MessageRef): Promise<CancelResult> {
    if ('key' in ref) return cancelByKey(this, ref)
    const topic = decodeRecallHandle(ref.id)?.topic ?? ''
    return this.recall({ topic, recallHandle: ref.id })
  }

  /**
   * Gives a message that waits another deliver time, at the broker that holds it; durable when it
   * resolves. A time that has come delivers it now. Errors: MESSAGE_ID_INVALID, TOPIC_NOT_FOUND,
   * REQUEST_FAILED, those of a deliver time.
   */
  move(ref: MessageRef, when: When): Promise<MoveResult> {
    return moveMessage(this, ref, when)
  }

  /**
   * The newest messages with this word among their keys, or with this unique key, as long as the
   * log holds them. Errors: TOPIC_NOT_FOUND, REQUEST_FAILED.
   */
  findByKey(query: KeyQuery): Promise<readonly FoundMessage[]> {
    return findMessages(this, query, false)
  }

  /** Messages with this unique key: `messageId` of the receipt. Errors: as `findByKey`. */
  findByUniqueKey(message: {
    readonly topic: string
    readonly messageId: string
  }): Promise<readonly FoundMessage[]> {
    const { topic, messageId } = message
    return findMessages(this, { topic, key: messageId }, true)
  }

  /**
   * The message at the place that the receipt's `offsetMessageId` names, from the broker that the id
   * names; `undefined` when none lies there. Errors: MESSAGE_ID_INVALID, CONNECT_FAILED,
   * REQUEST_FAILED.
   */
  viewMessage(message: {
    readonly topic: string
    readonly offsetMessageId: string
  }): Promise<FoundMessage | undefined> {
    return viewMessage(this, message)
  }

  /** Queues of a topic that may be read; empty when it does not exist. */
  async readableQueues(topic: string): Promise<readonly QueueAddress[]> {
    const queues = await this.#directory.existing(topic)
    return queues?.readable ?? []
  }

  /** Asks the broker that listens at `address`; resolves to any answer. */
  async ask(
    address: string,
    request: RemotingRequest,
    wait: Partial<WaitOptions> = {},
  ): Promise<RemotingResponse> {
    const connection = await this.#brokers.get(address)
    return connection.request(request, { timeoutMs: this.#requestTimeoutMs, ...wait })
  }

  /** Makes this client a member of a group; `onChange` when others come or go. */
  async join(consumer: ConsumerData, onChange: () => void): Promise<void> {
    this.#presence.join(consumer)
    this.#memberListeners.set(consumer.group, onChange)
    await this.announce()
  }

  async leave(group: string): Promise<void> {
    this.#presence.leave(group)
    this.#memberListeners.delete(group)
    await this.#farewell(group)
  }

  /** Sends a heartbeat to every broker. One that fails is only logged. */
  async announce(): Promise<void> {
    const { log } = this.platform
    const outcomes = await Promise.allSettled(
      this.#brokers.all().map(connection => this.#presence.announce(connection)),
    )
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected')
        log.warn('a heartbeat failed', { why: String(outcome.reason) })
    }
  }

  /** Takes leave of the brokers and closes all connections. Requests under way are lost. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#heartbeatTimer?.cancel()
    await this.#farewell(undefined)
    this.#brokers.close()
    this.#nameservers.close()
  }

  async #sendRequest(
    message: OutgoingMessage,
    messageId: string,
  ): Promise<{ readonly target: QueueAddress; readonly request: RemotingRequest }> {
    const properties = encodeProperties(message, messageId)
    const target = await this.#target(message.topic)
    const extFields = { ...this.#sendFields(target), i: properties, m: 'false' }
    const code = REQUEST_CODE.SEND_MESSAGE_V2
    return { target, request: { code, extFields, body: bodyBytes(message) } }
  }

  #sendFields(target: QueueAddress): Record<string, string> {
    return {
      a: this.#producerGroup,
      b: target.queue.topic,
      c: AUTO_CREATE_TOPIC,
      d: String(CREATED_QUEUE_COUNT),
      e: String(target.queue.queueId),
      f: '0',
      g: String(this.platform.clock.timeMs()),
      h: '0',
      j: '0',
      k: 'false',
      n: target.queue.brokerName,
    }
  }

  async #deliver(target: QueueAddress, request: RemotingRequest): Promise<RemotingResponse> {
    const response = await this.ask(target.address, request)
    // The next send asks for the route again: the topic may have moved or shrunk.
    if (response.code !== RESPONSE_CODE.SUCCESS) this.#directory.forget(target.queue.topic)
    return succeeded(response)
  }

  /** The next queue in turn. */
  async #target(topic: string): Promise<QueueAddress> {
    const queues = await this.#directory.forSending(topic)
    const writable = queues?.writable ?? []
    const target = writable[this.#turn++ % Math.max(1, writable.length)]
    if (target !== undefined) return target
    this.#directory.forget(topic)
    throw new BrokerError(isUnknown(queues) ? 'TOPIC_NOT_FOUND' : 'TOPIC_NOT_WRITABLE', { topic })
  }

  #sourcePool(): ConnectionPool {
    return this.#source.kind === 'broker' ? this.#brokers : this.#nameservers
  }

  async #askSource(request: RemotingRequest): Promise<RemotingResponse> {
    const connection = await this.#sourcePool().get(this.#source.address)
    return connection.request(request, { timeoutMs: this.#requestTimeoutMs })
  }

  #notice(code: number, consumerGroup: string | undefined): void {
    if (code !== REQUEST_CODE.NOTIFY_CONSUMER_IDS_CHANGED || consumerGroup === undefined) return
    this.#memberListeners.get(consumerGroup)?.()
  }

  #scheduleHeartbeat(): void {
    this.#heartbeatTimer = this.platform.timers.after(HEARTBEAT_INTERVAL_MS, () => {
      this.#scheduleHeartbeat()
      void this.announce()
    })
  }

  async #farewell(consumerGroup: string | undefined): Promise<void> {
    const request = this.#presence.farewell(consumerGroup)
    const wait = { timeoutMs: FAREWELL_TIMEOUT_MS }
    // Brokers that do not answer forget this client by themselves.
    await Promise.allSettled(this.#brokers.all().map(each => each.request(request, wait)))
  }
}

function sourceOf(options: ConnectOptions): Source {
  const { nameserver, broker } = options
  if (nameserver !== undefined && broker === undefined) {
    return { kind: 'nameserver', address: nameserver }
  }
  if (broker !== undefined && nameserver === undefined) return { kind: 'broker', address: broker }
  throw new BrokerError('PARAMETER_INVALID', { problem: 'give one of nameserver and broker' })
}

function isUnknown(queues: TopicQueues | undefined): boolean {
  return queues === undefined || queues.readable.length + queues.writable.length === 0
}

function placeOf(
  target: QueueAddress,
  response: RemotingResponse,
): { readonly brokerName: string; readonly queueId: number; readonly queueOffset: number } {
  const queueId = Number(response.extFields['queueId'])
  const queueOffset = Number(response.extFields['queueOffset'])
  if (!Number.isSafeInteger(queueId) || !Number.isSafeInteger(queueOffset)) {
    throw requestFailed({ ...response, remark: 'the answer lacks queueId or queueOffset' })
  }
  return { brokerName: target.queue.brokerName, queueId, queueOffset }
}
