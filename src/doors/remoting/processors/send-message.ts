import { BrokerError } from '../../../core/base/index.ts'
import type { Log } from '../../../core/platform/index.ts'
import { PutOutcome, PutRequest, type MessagePut } from '../../../engine/broker/index.ts'
import type { Access } from '../../../model/access/index.ts'
import type { SchedulePort } from '../../../model/schedule/index.ts'
import { encodeRecallHandle, offsetMessageId } from '../../../model/message/index.ts'
import {
  encodeSendResponseFrame,
  isOneway,
  SEND_ANSWER_BYTES_MAX,
  SendAnswerWriter,
  type FrameView,
  type SendAnswer,
  type SendHeader,
} from '../../../model/wire/index.ts'
import type { AnswerArena } from '../answer-arena.ts'
import type { RemotingConnection } from '../connection.ts'
import { replyOfError, sendReply } from '../responder.ts'
import { cancelByMark, isDeletionMark } from './deletion-mark.ts'
import { KeyedSends } from './keyed-sends.ts'

export interface SendParts {
  readonly put: MessagePut
  readonly store: { whenApplied(commitLogOffset: number): Promise<void> }
  readonly access: Access
  readonly scheduled: SchedulePort
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
 * A message with TIMER_DEL_UNIQKEY is not stored; see `cancelByMark`. One with ORRERY_KEY may take
 * the place of another, see `KeyedSends`: replacedHandle?: string, its recall handle. With
 * ORRERY_KEY_WHEN `absent` and one there KEY_EXISTS, with existingHandle: string.
 *
 * The way that must be fast: everything here is reused, and nothing is made per message but
 * strings. The answer is encoded at once and held until the log is flushed.
 */
export class SendMessage {
  readonly #parts: SendParts
  readonly #request = new PutRequest()
  readonly #outcome = new PutOutcome()
  readonly #writer: SendAnswerWriter
  readonly #keyed: KeyedSends
  readonly #handle
  readonly #answer: SendAnswer = {
    opaque: 0,
    queueId: 0,
    queueOffset: 0,
    commitLogOffset: 0,
    handle: undefined,
  }
  readonly #accessRequest = { door: 'remoting' as const, action: 'send' as const, topic: '' }

  constructor(parts: SendParts) {
    this.#parts = parts
    this.#writer = new SendAnswerWriter(parts)
    this.#keyed = new KeyedSends(parts)
    const { brokerName } = parts
    this.#handle = { topic: '', brokerName, deliverTimeMs: 0, uniqueKey: '', timerId: 0 }
  }

  handle(
    connection: RemotingConnection,
    frame: FrameView,
    header: SendHeader,
    nowMs: number,
  ): void {
    if (isDeletionMark(header.properties)) {
      void this.#cancel(connection, header)
      return
    }
    try {
      if (this.#put(connection, frame, header, nowMs) === 'keyed') {
        this.#keyed.handle(connection, frame, header, nowMs)
        return
      }
    } catch (error) {
      sendReply(connection, header, replyOfError(error, header, this.#parts.log))
      return
    }
    if (isOneway(header)) return
    this.#fillAnswer(header)
    const { topicDurable } = this.#outcome
    if (topicDurable === undefined) this.#hold(connection, header)
    else void this.#answerLater(connection, header, topicDurable)
  }

  /** A send that asks to cancel another: answered as a send is, when that is durable. */
  async #cancel(connection: RemotingConnection, header: SendHeader): Promise<void> {
    const { brokerName, scheduled, log, regionId, storeHostHex } = this.#parts
    const { code, opaque, flag, serializeType, topic, properties } = header
    const request = { code, opaque, flag, serializeType }
    const queueId = Math.max(0, header.queueId)
    connection.requestOpened()
    try {
      this.#checkAccess(topic)
      await cancelByMark({ topic, properties }, brokerName, scheduled)
      const msgId = offsetMessageId(storeHostHex, 0)
      const answer = { opaque, msgId, queueId, queueOffset: 0, recallHandle: undefined, regionId }
      if (!isOneway(request)) connection.send(encodeSendResponseFrame(answer, serializeType))
    } catch (error) {
      sendReply(connection, request, replyOfError(error, request, log))
    } finally {
      connection.requestDone()
    }
  }

  #put(
    connection: RemotingConnection,
    frame: FrameView,
    header: SendHeader,
    nowMs: number,
  ): 'put' | 'keyed' {
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
    if (!header.batch) return this.#parts.put.put(request, this.#outcome)
    this.#parts.put.putBatch(request, this.#outcome)
    return 'put'
  }

  #checkAccess(topic: string): void {
    this.#accessRequest.topic = topic
    const decision = this.#parts.access.decide(this.#accessRequest)
    if (decision.kind === 'allowed') return
    throw new BrokerError('NO_PERMISSION', { topic, reason: decision.reason })
  }

  #fillAnswer(header: SendHeader): void {
    const outcome = this.#outcome
    const answer = this.#answer
    const handle = this.#handle
    answer.opaque = header.opaque
    answer.queueId = outcome.queueId
    answer.queueOffset = outcome.queueOffset
    answer.commitLogOffset = outcome.commitLogOffset
    handle.topic = outcome.topic
    handle.deliverTimeMs = outcome.deliverTimeMs
    handle.uniqueKey = outcome.uniqueKey
    handle.timerId = outcome.commitLogOffset
    answer.handle = isHandleOf(outcome) ? handle : undefined
  }

  #hold(connection: RemotingConnection, header: SendHeader): void {
    const { arena } = this.#parts
    const { commitLogOffset, batchOffsets } = this.#outcome
    if (header.serializeType === 0 && batchOffsets.length === 0) {
      arena.reserve(SEND_ANSWER_BYTES_MAX)
      const start = arena.position
      const end = this.#writer.write(arena.block, start, this.#answer)
      if (end > start) {
        arena.position = end
        connection.held.add(arena.block, start, end, commitLogOffset)
        return
      }
    }
    const frame = this.#answerFrame(header)
    connection.held.add(frame, 0, frame.length, commitLogOffset)
  }

  /** The same answer, for what the writer does not do: batches, binary headers, odd keys. */
  #answerFrame(header: SendHeader): Buffer {
    const { storeHostHex, regionId } = this.#parts
    const { batchOffsets } = this.#outcome
    const { opaque, queueId, queueOffset, commitLogOffset, handle } = this.#answer
    const offsets = batchOffsets.length === 0 ? [commitLogOffset] : batchOffsets
    const msgId = offsets.map(offset => offsetMessageId(storeHostHex, offset)).join(',')
    const recallHandle = handle === undefined ? undefined : encodeRecallHandle(handle)
    return encodeSendResponseFrame(
      { opaque, msgId, queueId, queueOffset, recallHandle, regionId },
      header.serializeType,
    )
  }

  /** The topic was made for this message: its own file must be durable too. */
  async #answerLater(
    connection: RemotingConnection,
    header: SendHeader,
    topicDurable: Promise<void>,
  ): Promise<void> {
    const { store, log } = this.#parts
    const { commitLogOffset } = this.#outcome
    const { code, opaque, flag, serializeType } = header
    const request = { code, opaque, flag, serializeType }
    const answer = this.#answerFrame(header)
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
