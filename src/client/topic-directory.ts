import { BrokerError } from '../core/base/index.ts'
import type { Clock } from '../core/platform/index.ts'
import { AUTO_CREATE_TOPIC } from '../model/message/index.ts'
import {
  decodeTopicConfig,
  decodeTopicRoute,
  PERM_READ,
  PERM_WRITE,
  REQUEST_CODE,
  RESPONSE_CODE,
  type TopicRoute,
} from '../model/wire/index.ts'
import {
  requestFailed,
  type RemotingRequest,
  type RemotingResponse,
} from './remoting-connection.ts'
import { type TopicQueues, topicQueuesOf } from './topic-queues.ts'

/** Where a client learns of topics. */
export type Source =
  | { readonly kind: 'nameserver'; readonly address: string }
  /** One broker without a name server: it is asked for the topic's settings instead. */
  | { readonly kind: 'broker'; readonly address: string }

export interface TopicDirectoryOptions {
  readonly source: Source
  readonly clock: Clock
  readonly ask: (request: RemotingRequest) => Promise<RemotingResponse>
}

/** Queues that a client wishes for when its first message creates a topic. */
export const CREATED_QUEUE_COUNT = 4
const REFRESH_MS = 30_000
/** Topics remembered; the oldest is forgotten. */
const TOPIC_COUNT_MAX = 10_000
const DIRECT_BROKER_NAME = 'broker'

interface Known {
  readonly queues: TopicQueues
  readonly atMs: number
}

/** Remembers for 30 s where the queues of topics are. */
export class TopicDirectory {
  readonly #options: TopicDirectoryOptions
  readonly #known = new Map<string, Known>()

  constructor(options: TopicDirectoryOptions) {
    this.#options = options
  }

  /**
   * Queues of a topic that exists; `undefined` when it does not. Errors: NOT_A_NAME_SERVER, and
   * those of a refused request.
   */
  async existing(topic: string): Promise<TopicQueues | undefined> {
    const remembered = this.#remembered(topic)
    if (remembered !== undefined) return remembered
    const route = await this.#route(topic)
    return route === undefined ? undefined : this.#remember(topic, topicQueuesOf(topic, route))
  }

  /**
   * Queues for sending; for a topic that does not exist yet, those that it will have when the
   * broker creates it. `undefined` when brokers do not create topics.
   */
  async forSending(topic: string): Promise<TopicQueues | undefined> {
    const existing = await this.existing(topic)
    if (existing !== undefined) return existing
    const template = await this.#route(AUTO_CREATE_TOPIC)
    if (template === undefined) return undefined
    const queueDatas = template.queueDatas.map(queue => {
      const count = Math.min(CREATED_QUEUE_COUNT, queue.readQueueNums)
      return { ...queue, readQueueNums: count, writeQueueNums: count }
    })
    return this.#remember(topic, topicQueuesOf(topic, { ...template, queueDatas }))
  }

  forget(topic: string): void {
    this.#known.delete(topic)
  }

  #remembered(topic: string): TopicQueues | undefined {
    const known = this.#known.get(topic)
    const isFresh = known !== undefined && this.#options.clock.uptimeMs() - known.atMs < REFRESH_MS
    return isFresh ? known.queues : undefined
  }

  #remember(topic: string, queues: TopicQueues): TopicQueues {
    this.#known.delete(topic)
    if (this.#known.size >= TOPIC_COUNT_MAX) {
      for (const oldest of this.#known.keys()) {
        this.#known.delete(oldest)
        break
      }
    }
    this.#known.set(topic, { queues, atMs: this.#options.clock.uptimeMs() })
    return queues
  }

  async #route(topic: string): Promise<TopicRoute | undefined> {
    const direct = this.#options.source.kind === 'broker'
    const code = direct ? REQUEST_CODE.GET_TOPIC_CONFIG : REQUEST_CODE.GET_ROUTEINFO_BY_TOPIC
    const response = await this.#options.ask({ code, extFields: { topic } })
    if (response.code === RESPONSE_CODE.TOPIC_NOT_EXIST) return undefined
    if (!direct && response.code === RESPONSE_CODE.REQUEST_CODE_NOT_SUPPORTED) {
      // Every name server has routes, and no broker has.
      throw new BrokerError('NOT_A_NAME_SERVER', { address: this.#options.source.address })
    }
    if (response.code !== RESPONSE_CODE.SUCCESS) throw requestFailed(response)
    return direct ? this.#directRoute(response.body) : decodeTopicRoute(response.body)
  }

  #directRoute(body: Buffer): TopicRoute {
    const config = decodeTopicConfig(body)
    const brokerName = DIRECT_BROKER_NAME
    return {
      brokerDatas: [{ brokerName, cluster: '', brokerAddrs: { 0: this.#options.source.address } }],
      queueDatas: [
        {
          brokerName,
          perm: config.perm & (PERM_READ | PERM_WRITE),
          readQueueNums: config.readQueueNums,
          writeQueueNums: config.writeQueueNums,
          topicSysFlag: config.topicSysFlag,
        },
      ],
    }
  }
}
