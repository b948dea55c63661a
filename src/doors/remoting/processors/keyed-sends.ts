import { BrokerError } from '../../../core/base/index.ts'
import type { Log } from '../../../core/platform/index.ts'
import { findProperty, offsetMessageId, PROPERTY } from '../../../model/message/index.ts'
import type { NewMessage, ReplaceResult, SchedulePort } from '../../../model/schedule/index.ts'
import { type FrameView, RESPONSE_CODE, type SendHeader } from '../../../model/wire/index.ts'
import type { RemotingConnection } from '../connection.ts'
import type { Reply } from '../processor.ts'
import { replyOfError, type RequestHeader, sendReply } from '../responder.ts'

/** Bodies of all messages that are on their way; a larger one goes alone. */
const BODY_BYTES_MAX = 32 * 1024 * 1024

export interface KeyedSendParts {
  readonly scheduled: SchedulePort
  readonly log: Log
  readonly regionId: string
  /** Upper-case hex of IP and port; see `storeHostHex`. */
  readonly storeHostHex: string
}

/**
 * Sends of messages with an own key (ORRERY_KEY): each takes the place of the waiting message with
 * this key, or with ORRERY_KEY_WHEN `absent` leaves that one there. Answered when it is durable.
 */
export class KeyedSends {
  readonly #parts: KeyedSendParts
  #bodyBytes = 0

  constructor(parts: KeyedSendParts) {
    this.#parts = parts
  }

  /** The answer comes later. Errors: STORE_BUSY. */
  handle(
    connection: RemotingConnection,
    frame: FrameView,
    header: SendHeader,
    nowMs: number,
  ): void {
    const { code, opaque, flag, serializeType } = header
    const bodyBytes = frame.bodyEnd - frame.bodyStart
    if (this.#bodyBytes > 0 && this.#bodyBytes + bodyBytes > BODY_BYTES_MAX) {
      throw new BrokerError('STORE_BUSY', { bodyBytes: this.#bodyBytes })
    }
    const message = messageOf(connection, frame, header, nowMs)
    void this.#replace(connection, { code, opaque, flag, serializeType }, message)
  }

  async #replace(
    connection: RemotingConnection,
    request: RequestHeader,
    message: NewMessage,
  ): Promise<void> {
    const { scheduled, log } = this.#parts
    connection.answerBegun()
    this.#bodyBytes += message.body.length
    try {
      const isAbsent = findProperty(message.properties, PROPERTY.ORRERY_KEY_WHEN) === 'absent'
      const result = await scheduled.replaceByKey(message, isAbsent ? 'absent' : 'always')
      sendReply(connection, request, this.#replyOf(result))
    } catch (error) {
      // With a failed disk nobody knows the outcome.
      if (error instanceof BrokerError && error.code === 'STORE_FAILED') connection.destroy()
      else sendReply(connection, request, replyOfError(error, request, log))
    } finally {
      this.#bodyBytes -= message.body.length
      connection.answerDone()
    }
  }

  #replyOf(result: ReplaceResult): Reply {
    const { regionId, storeHostHex } = this.#parts
    if (result.kind === 'exists') {
      const remark = `KEY_EXISTS: ${new BrokerError('KEY_EXISTS').message}`
      const extFields = { existingHandle: result.id }
      return { code: RESPONSE_CODE.ILLEGAL_OPERATION, remark, extFields }
    }
    const { id, queueId, commitLogOffset } = result
    const replaced = result.kind === 'replaced' ? { replacedHandle: result.replacedId } : {}
    const extFields = {
      MSG_REGION: regionId,
      TRACE_ON: 'true',
      msgId: offsetMessageId(storeHostHex, commitLogOffset),
      queueId: String(queueId),
      queueOffset: '0',
      recallHandle: id,
      ...replaced,
    }
    return { code: RESPONSE_CODE.SUCCESS, extFields }
  }
}

/** With a body of its own: the frame's is gone when this turn ends. */
function messageOf(
  connection: RemotingConnection,
  frame: FrameView,
  header: SendHeader,
  nowMs: number,
): NewMessage {
  return {
    topic: header.topic,
    queueId: header.queueId,
    wishedQueueCount: header.defaultTopicQueueNums,
    flag: header.userFlag,
    sysFlag: header.sysFlag,
    bornTimeMs: header.bornTimeMs,
    bornHost: connection.bornHost,
    properties: header.properties,
    body: frame.copyBody(),
    nowMs,
  }
}
