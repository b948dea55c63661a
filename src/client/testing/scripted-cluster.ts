import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import {
  decodeHeartbeat,
  encodeConsumerList,
  encodeTopicRoute,
  REQUEST_CODE,
  RESPONSE_CODE,
} from '../../model/wire/index.ts'
import { encodeHost } from '../../model/message/index.ts'
import { sealedRecord } from '../../model/message/testing.ts'
import { type ScriptedAnswer, type ScriptedRequest, ScriptedServer } from './scripted-server.ts'

export const NAMESERVER = '127.0.0.1:9876'
export const BROKER = '127.0.0.1:10911'

/** Queues of a topic by topic name; TBW102 makes a cluster that creates topics. */
export type TopicTable = Record<string, number>

interface StoredMessage {
  readonly topic: string
  readonly tags: string
  readonly body: string
  readonly reconsumeTimes?: number
}

/**
 * A name server and a broker in a simulated world that know just enough to be consumed from.
 * Not a model of the broker: what they answer is written down here, request by request.
 */
export class ScriptedCluster {
  readonly world: SimulatedWorld
  readonly nameserver: ScriptedServer
  readonly broker: ScriptedServer
  readonly topics: TopicTable
  /** Offsets of the group by `topic/queueId`. */
  readonly offsets: Map<string, number> = new Map()
  /** Client ids of members, in the order of their coming. */
  readonly members: Set<string> = new Set()
  readonly #queues = new Map<string, Buffer[]>()
  /** Pulls that wait for a message, as long as the client does. */
  #waiting: ScriptedRequest[] = []

  constructor(seed: number, topics: TopicTable) {
    this.world = new SimulatedWorld({ seed })
    this.topics = topics
    this.nameserver = new ScriptedServer(request => this.#route(request))
    this.broker = new ScriptedServer(request => this.answer(request))
  }

  async start(): Promise<void> {
    const { world } = this
    await world.finish(this.nameserver.listen(world.outside.network, 9876))
    await world.finish(this.broker.listen(world.outside.network, 10_911))
  }

  put(queueId: number, message: StoredMessage): void {
    const queue = this.#queueOf(message.topic, String(queueId))
    const stamps = { queueOffset: queue.length, commitLogOffset: 1000, storeTimeMs: 5 }
    const body = Buffer.from(message.body)
    const record = sealedRecord(
      {
        topic: Buffer.from(message.topic),
        queueId,
        body,
        bodyEnd: body.length,
        storeHost: encodeHost('127.0.0.1', 10_911),
        reconsumeTimes: message.reconsumeTimes ?? 0,
        properties: `TAGS\u0001${message.tags}\u0002UNIQ_KEY\u0001${message.body}\u0002`,
      },
      stamps,
    )
    queue.push(record)
    const waiting = this.#waiting
    this.#waiting = []
    for (const request of waiting) {
      const answer = this.#pull(request)
      if (answer !== undefined) request.answer(answer)
    }
  }

  /** What the broker answers; scripts of tests call it for what they leave alone. */
  answer(request: ScriptedRequest): ScriptedAnswer | undefined {
    const { code, fields } = request
    const place = `${fields['topic']}/${fields['queueId']}`
    switch (code) {
      case REQUEST_CODE.HEART_BEAT:
        return this.#heartbeat(request)
      case REQUEST_CODE.UNREGISTER_CLIENT:
        this.members.delete(fields['clientID'] ?? '')
        return {}
      case REQUEST_CODE.GET_CONSUMER_LIST_BY_GROUP:
        return this.members.size === 0
          ? { code: RESPONSE_CODE.SYSTEM_ERROR }
          : { body: encodeConsumerList(Array.from(this.members)) }
      case REQUEST_CODE.QUERY_CONSUMER_OFFSET: {
        const offset = this.offsets.get(place)
        return offset === undefined
          ? { code: RESPONSE_CODE.QUERY_NOT_FOUND }
          : { extFields: { offset: String(offset) } }
      }
      case REQUEST_CODE.UPDATE_CONSUMER_OFFSET:
        this.offsets.set(place, Number(fields['commitOffset']))
        return {}
      case REQUEST_CODE.GET_MIN_OFFSET:
        return { extFields: { offset: '0' } }
      case REQUEST_CODE.GET_MAX_OFFSET: {
        const queue = this.#queueOf(fields['topic'] ?? '', fields['queueId'] ?? '')
        return { extFields: { offset: String(queue.length) } }
      }
      case REQUEST_CODE.PULL_MESSAGE:
        return this.#pull(request)
      case REQUEST_CODE.SEND_MESSAGE_V2:
      case REQUEST_CODE.SEND_BATCH_MESSAGE: {
        const queueId = fields['e'] ?? ''
        return { extFields: { msgId: 'ID', queueId, queueOffset: '12', recallHandle: 'handle' } }
      }
      default:
        return {}
    }
  }

  #route(request: ScriptedRequest): ScriptedAnswer {
    const topic = request.fields['topic'] ?? ''
    const count = this.topics[topic]
    if (count === undefined) return { code: RESPONSE_CODE.TOPIC_NOT_EXIST }
    const brokerName = 'broker-a'
    const queues = { readQueueNums: count, writeQueueNums: count, topicSysFlag: 0 }
    const body = encodeTopicRoute({
      brokerDatas: [{ brokerName, cluster: 'c', brokerAddrs: { 0: BROKER } }],
      queueDatas: [{ brokerName, perm: 6, ...queues }],
    })
    return { body }
  }

  #heartbeat(request: ScriptedRequest): ScriptedAnswer {
    const { clientId, consumers } = decodeHeartbeat(request.body)
    const [consumer] = consumers
    if (consumer !== undefined && !this.members.has(clientId)) {
      this.members.add(clientId)
      const extFields = { consumerGroup: consumer.group }
      this.broker.call(REQUEST_CODE.NOTIFY_CONSUMER_IDS_CHANGED, extFields)
    }
    return {}
  }

  #pull(request: ScriptedRequest): ScriptedAnswer | undefined {
    const { fields } = request
    const queue = this.#queueOf(fields['topic'] ?? '', fields['queueId'] ?? '')
    const offset = Number(fields['queueOffset'])
    const found = queue.slice(offset, offset + Number(fields['maxMsgNums']))
    if (found.length === 0) {
      this.#waiting.push(request)
      return undefined
    }
    const extFields = {
      suggestWhichBrokerId: '0',
      nextBeginOffset: String(offset + found.length),
      minOffset: '0',
      maxOffset: String(queue.length),
    }
    return { extFields, body: Buffer.concat(found) }
  }

  #queueOf(topic: string, queueId: string): Buffer[] {
    const key = `${topic}/${queueId}`
    const queue = this.#queues.get(key) ?? []
    this.#queues.set(key, queue)
    return queue
  }
}
