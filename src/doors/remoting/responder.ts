import { BrokerError, errorSpecs, InvariantError } from '../../core/base/index.ts'
import type { Log } from '../../core/platform/index.ts'
import {
  encodeFrame,
  isOneway,
  RESPONSE_CODE,
  RESPONSE_FLAG,
  type Header,
} from '../../model/wire/index.ts'
import type { RemotingConnection } from './connection.ts'
import type { Reply } from './processor.ts'

/** What an answer needs to know of its request. */
export type RequestHeader = Pick<Header, 'code' | 'opaque' | 'flag' | 'serializeType'>

/** A body that is larger than this goes out as it is, behind its header; copying costs more. */
const COPIED_BODY_BYTES_MAX = 8192

/** Sends the reply unless the request was one-way, as a frame in the request's serialisation. */
export function sendReply(
  connection: RemotingConnection,
  request: RequestHeader,
  reply: Reply,
): void {
  if (isOneway(request) || connection.isClosed) return
  const { code, remark, extFields, body } = reply
  const header = { code, opaque: request.opaque, flag: RESPONSE_FLAG, remark, extFields }
  if (body === undefined || body.length <= COPIED_BODY_BYTES_MAX) {
    connection.send(encodeFrame(header, body, request.serializeType))
    return
  }
  const head = encodeFrame(header, undefined, request.serializeType)
  // The length, first in a frame, counts all that follows it: the body too.
  head.writeInt32BE(head.length - 4 + body.length, 0)
  connection.send(head)
  connection.send(body)
}

/**
 * Sends what `produce` returns or resolves to, or the reply for what it throws. `undefined`: the
 * request is answered elsewhere, or never.
 */
export function respond(
  connection: RemotingConnection,
  request: RequestHeader,
  produce: () => Reply | Promise<Reply> | undefined,
  log: Log,
): void {
  let reply: Reply | Promise<Reply> | undefined
  try {
    reply = produce()
  } catch (error) {
    reply = replyOfError(error, request, log)
  }
  if (reply instanceof Promise) void respondLater(connection, request, reply, log)
  else if (reply !== undefined) sendReply(connection, request, reply)
}

async function respondLater(
  connection: RemotingConnection,
  request: RequestHeader,
  pending: Promise<Reply>,
  log: Log,
): Promise<void> {
  connection.answerBegun()
  try {
    sendReply(connection, request, await pending)
  } catch (error) {
    sendReply(connection, request, replyOfError(error, request, log))
  } finally {
    connection.answerDone()
  }
}

/**
 * The reply for an error. One that is not foreseen is logged here; a broken invariant is thrown
 * on, since nothing can be answered for after it.
 */
export function replyOfError(error: unknown, request: RequestHeader, log: Log): Reply {
  if (error instanceof BrokerError) {
    return { code: errorSpecs[error.code].remotingCode, remark: `${error.code}: ${error.message}` }
  }
  if (error instanceof InvariantError) throw error
  log.error('a request failed in an unforeseen way', error, { requestCode: request.code })
  return {
    code: RESPONSE_CODE.SYSTEM_ERROR,
    remark: `SYSTEM_ERROR: ${errorSpecs.SYSTEM_ERROR.message}`,
  }
}
