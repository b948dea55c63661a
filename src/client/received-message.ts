import { inflateSync } from 'node:zlib'
import { BrokerError } from '../core/base/index.ts'
import { type Message, PROPERTY, SYS_FLAG } from '../model/message/index.ts'

/** A message as a consumer gets it. */
export interface ReceivedMessage {
  /** What the sender knows it by; the id by place when it has no other. */
  readonly messageId: string
  readonly offsetMessageId: string
  /** Where it was sent to, also when it comes again after a failure. */
  readonly topic: string
  readonly tags: string | undefined
  readonly keys: readonly string[]
  readonly body: Buffer
  readonly properties: ReadonlyMap<string, string>
  readonly brokerName: string
  readonly queueId: number
  readonly queueOffset: number
  readonly commitLogOffset: number
  readonly bornTimeMs: number
  readonly storeTimeMs: number
  /** How often its group failed to consume it. */
  readonly reconsumeTimes: number
}

/** What a compressed body may grow to, so that a small one cannot fill the memory. */
const BODY_BYTES_MAX = 67_108_864

/** Errors: MESSAGE_INVALID when the body is compressed in a way that cannot be undone. */
export function receivedMessage(message: Message, brokerName: string): ReceivedMessage {
  const { properties } = message
  return {
    messageId: properties.get(PROPERTY.UNIQ_KEY) ?? message.offsetMessageId,
    offsetMessageId: message.offsetMessageId,
    topic: properties.get(PROPERTY.RETRY_TOPIC) ?? message.topic,
    tags: properties.get(PROPERTY.TAGS),
    keys: properties.get(PROPERTY.KEYS)?.split(' ') ?? [],
    body: plainBody(message),
    properties,
    brokerName,
    queueId: message.queueId,
    queueOffset: message.queueOffset,
    commitLogOffset: message.commitLogOffset,
    bornTimeMs: message.bornTimeMs,
    storeTimeMs: message.storeTimeMs,
    reconsumeTimes: message.reconsumeTimes,
  }
}

function plainBody(message: Message): Buffer {
  const { sysFlag, body, offsetMessageId } = message
  if ((sysFlag & SYS_FLAG.COMPRESSED) === 0) return body
  const compression = sysFlag & SYS_FLAG.COMPRESSION_MASK
  if (compression !== 0 && compression !== SYS_FLAG.COMPRESSION_ZLIB) {
    throw new BrokerError('MESSAGE_INVALID', { problem: 'unknown compression', offsetMessageId })
  }
  try {
    return inflateSync(body, { maxOutputLength: BODY_BYTES_MAX })
  } catch (error) {
    const problem = 'the body cannot be decompressed'
    throw new BrokerError('MESSAGE_INVALID', { problem, offsetMessageId }, error)
  }
}
