import { BrokerError } from '../core/base/index.ts'
import {
  decodeRecords,
  type Message,
  parseOffsetMessageId,
  PROPERTY,
  TIMER_TOPIC,
} from '../model/message/index.ts'
import { REQUEST_CODE, RESPONSE_CODE } from '../model/wire/index.ts'
import { type ReceivedMessage, receivedMessage } from './received-message.ts'
import { type RemotingRequest, type RemotingResponse, succeeded } from './remoting-connection.ts'
import type { QueueAddress } from './topic-queues.ts'

export interface KeyQuery {
  readonly topic: string
  /** The unique key, or a word of the message's keys. */
  readonly key: string
  /** Stored at this time or later, in milliseconds since 1970. Default: whenever. */
  readonly fromMs?: number | undefined
  /** Stored at this time or earlier. Default: whenever. */
  readonly toMs?: number | undefined
  /** Most messages of each broker, its newest; up to 64. Default 32. */
  readonly countMax?: number | undefined
}

export interface FoundMessage extends ReceivedMessage {
  /**
   * Set when the message is found as it was accepted for this time, in milliseconds since 1970: it
   * is not delivered yet, or was cancelled.
   */
  readonly deliverTimeMs: number | undefined
}

/** What is asked of a client. */
export interface LookupClient {
  readableQueues(topic: string): Promise<readonly QueueAddress[]>
  ask(address: string, request: RemotingRequest): Promise<RemotingResponse>
}

const COUNT_MAX = 32

/** Messages that all brokers of the topic find, each broker's in the order of its log. */
export async function findMessages(
  client: LookupClient,
  query: KeyQuery,
  isUniqueKey: boolean,
): Promise<readonly FoundMessage[]> {
  const { topic, key, fromMs = 0, toMs = Number.MAX_SAFE_INTEGER, countMax = COUNT_MAX } = query
  const queues = await client.readableQueues(topic)
  if (queues.length === 0) throw new BrokerError('TOPIC_NOT_FOUND', { topic })
  const brokers = new Map(queues.map(({ queue, address }) => [queue.brokerName, address]))
  const extFields = {
    topic,
    key,
    maxNum: String(countMax),
    beginTimestamp: String(fromMs),
    endTimestamp: String(toMs),
    _UNIQUE_KEY_QUERY: String(isUniqueKey),
  }
  const found: FoundMessage[] = []
  for (const [brokerName, address] of brokers) {
    const response = await client.ask(address, { code: REQUEST_CODE.QUERY_MESSAGE, extFields })
    if (response.code === RESPONSE_CODE.QUERY_NOT_FOUND) continue
    const messages = decodeRecords(succeeded(response).body)
    found.push(...messages.map(message => foundMessage(message, brokerName)))
  }
  return found
}

/**
 * The message at the place that an id names, at the broker of that address; `undefined` when there
 * is none. Errors: MESSAGE_ID_INVALID.
 */
export async function viewMessage(
  client: LookupClient,
  message: { readonly topic: string; readonly offsetMessageId: string },
): Promise<FoundMessage | undefined> {
  const { topic, offsetMessageId } = message
  const id = parseOffsetMessageId(offsetMessageId)
  if (id === undefined) throw new BrokerError('MESSAGE_ID_INVALID')
  const { host, port } = id.storeHost
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
  const extFields = { topic, offset: String(id.commitLogOffset) }
  const response = await client.ask(address, { code: REQUEST_CODE.VIEW_MESSAGE_BY_ID, extFields })
  // What Apache's brokers answer too when nothing lies there.
  if (response.code === RESPONSE_CODE.SYSTEM_ERROR) return undefined
  const [found] = decodeRecords(succeeded(response).body)
  return found === undefined ? undefined : foundMessage(found, '')
}

function foundMessage(message: Message, brokerName: string): FoundMessage {
  const received = receivedMessage(message, brokerName)
  if (message.topic !== TIMER_TOPIC) return { ...received, deliverTimeMs: undefined }
  const topic = message.properties.get(PROPERTY.REAL_TOPIC) ?? received.topic
  const deliverTimeMs = Number(message.properties.get(PROPERTY.TIMER_OUT_MS))
  return { ...received, topic, deliverTimeMs }
}
