import { assert, BrokerError } from '../../../core/base/index.ts'
import type { Log } from '../../../core/platform/index.ts'
import { PutOutcome, PutRequest, type MessagePut } from '../../../engine/broker/index.ts'
import type { Access } from '../../../model/access/index.ts'
import { encodeRecallHandle, offsetMessageId } from '../../../model/message/index.ts'
import {
  encodeSendResponse,
  encodeSendResponseFrame,
  isOneway,
  SEND_RESPONSE_BYTES_MAX,
  type FrameView,
  type SendHeader,
} from '../../../model/wire/index.ts'
import type { AnswerArena } from '../answer-arena.ts'
import type { RemotingConnection } from '../connection.ts'
import { replyOfError, sendReply, type RequestHeader } from '../responder.ts'

export interface SendParts {
  readonly put: MessagePut
  readonly store: { whenApplied(commitLogOffset: number): Promise<void> }
  readonly access: Access
  readonly log: Log
  readonly arena: AnswerArena
  readonly brokerName: string
  readonly regionId: string
  /** Upper-case hex of IP and port; see `storeHostHex`. */
  readonly storeHostHex: string
}

/**
 * SEND_MESSAGE (10), SEND_MESSAGE_V2 (310), SEND_BATCH_MESSAGE (320): stores messages.
 *
 * Request   see `SendHeader`; the body is the message's, or a batch
 * Response  msgId: string, one for each message, separated by commas; queueId: int32;
 *           queueOffset: int64, of the first; recallHandle?: string, for a timer message;
 *           MSG_REGION, TRACE_ON
 * Errors    those of `MessagePut`; access
 *
 * The way that must be fast: everything here is reused, and nothing is made per message but
 * strings. The answer is encoded at once and held until the log is flushed.
 */
export class SendMessage {
  readonly #parts: SendParts
  readonly #request = new PutRequest()
  readonly #outcome = new PutOutcome()
  readonly #response = {
    opaque: 0,
    msgId: '',
    queueId: 0,
    queueOffset: 0,
    recallHandle: undefined as string | undefined,
    regionId: '',
  }
  readonly #accessRequest = { door: 'remoting' as const, action: 'send' as const, topic: '' }

  constructor(parts: SendParts) {
    this.#parts = parts
    this.#response.regionId = parts.regionId
  }

  handle(
    connection: RemotingConnection,
    frame: FrameView,
    header: SendHeader,
    nowMs: number,
  ): void {
    try {
      this.#put(connection, frame, header, nowMs)
    } catch (error) {
      sendReply(connection, header, replyOfError(error, header, this.#parts.log))
      return
    }
    if (isOneway(header)) return
    this.#fillResponse(header)
    const { topicDurable, commitLogOffset } = this.#outcome
    if (topicDurable === undefined) {
      this.#hold(connection, header, commitLogOffset)
    } else {
      void this.#answerLater(connection, requestOf(header), commitLogOffset)
    }
  }

  #put(connection: RemotingConnection, frame: FrameView, header: SendHeader, nowMs: number): void {
    this.#checkAccess(header.topic)
    const request = this.#request
    request.topic = header.topic
    request.queueId = header.queueId
    request.wishedQueueCount = header.defaultTopicQueueNums
    request.flag = header.userFlag
    request.sysFlag = header.sysFlag
    request.bornTimeMs = header.bornTimeMs
    request.bornHost = connection.bornHost
    request.reconsumeTimes = header.reconsumeTimes
    request.maxReconsumeTimes = header.maxReconsumeTimes
    request.clientVersion = header.version
    request.properties = header.properties
    request.body = frame.buffer
    request.bodyStart = frame.bodyStart
    request.bodyEnd = frame.bodyEnd
    request.nowMs = nowMs
    if (header.batch) this.#parts.put.putBatch(request, this.#outcome)
    else this.#parts.put.put(request, this.#outcome)
  }

  #checkAccess(topic: string): void {
    this.#accessRequest.topic = topic
    const decision = this.#parts.access.decide(this.#accessRequest)
    if (decision.kind === 'allowed') return
    throw new BrokerError('NO_PERMISSION', { topic, reason: decision.reason })
  }

  #fillResponse(header: SendHeader): void {
    const { storeHostHex, brokerName } = this.#parts
    const outcome = this.#outcome
    const response = this.#response
    response.opaque = header.opaque
    response.queueId = outcome.queueId
    response.queueOffset = outcome.queueOffset
    response.msgId =
      outcome.batchOffsets.length === 0
        ? offsetMessageId(storeHostHex, outcome.commitLogOffset)
        : outcome.batchOffsets.map(offset => offsetMessageId(storeHostHex, offset)).join(',')
    response.recallHandle = isHandleOf(outcome)
      ? encodeRecallHandle({
          topic: outcome.topic,
          brokerName,
          deliverTimeMs: outcome.deliverTimeMs,
          uniqueKey: outcome.uniqueKey,
          timerId: outcome.commitLogOffset,
        })
      : undefined
  }

  #hold(connection: RemotingConnection, header: SendHeader, commitLogOffset: number): void {
    const { arena } = this.#parts
    if (header.serializeType === 0) {
      arena.reserve(SEND_RESPONSE_BYTES_MAX)
      const start = arena.position
      const end = encodeSendResponse(arena.block, start, this.#response)
      if (end > start) {
        arena.position = end
        connection.held.add(arena.block, start, end, commitLogOffset)
        return
      }
    }
    const answer = encodeSendResponseFrame(this.#response, header.serializeType)
    connection.held.add(answer, 0, answer.length, commitLogOffset)
  }

  /** The topic was made for this message: its own file must be durable too. */
  async #answerLater(
    connection: RemotingConnection,
    request: RequestHeader,
    commitLogOffset: number,
  ): Promise<void> {
    const { store, log } = this.#parts
    const { topicDurable } = this.#outcome
    const answer = encodeSendResponseFrame(this.#response, request.serializeType)
    assert(topicDurable !== undefined, 'an answer without a new topic is held, not awaited')
    connection.requestOpened()
    try {
      await topicDurable
      await store.whenApplied(commitLogOffset)
      connection.send(answer)
    } catch (error) {
      // With a failed disk nobody knows the outcome; the topic alone may be tried again.
      if (error instanceof BrokerError && error.code === 'STORE_FAILED') connection.destroy()
      else sendReply(connection, request, replyOfError(error, request, log))
    } finally {
      connection.requestDone()
    }
  }
}

/** A unique key that the sender chose with a blank in it could not be read back. */
function isHandleOf(outcome: PutOutcome): boolean {
  return outcome.deliverTimeMs >= 0 && !outcome.uniqueKey.includes(' ')
}

function requestOf(header: SendHeader): RequestHeader {
  const { code, opaque, flag, serializeType } = header
  return { code, opaque, flag, serializeType }
}
