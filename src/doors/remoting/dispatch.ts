import { BrokerError } from '../../core/base/index.ts'
import type { Log } from '../../core/platform/index.ts'
import type { ClientRegistry, PullService } from '../../engine/broker/index.ts'
import type { Access } from '../../model/access/index.ts'
import {
  decodeHeader,
  isResponse,
  REQUEST_CODE,
  scanSendHeader,
  SendHeader,
  sendHeaderFrom,
  type FrameView,
  type Header,
} from '../../model/wire/index.ts'
import type { FrameHandler, RemotingConnection } from './connection.ts'
import type { DurableAnswers } from './durable-answers.ts'
import type { DoorContext, Processor, Reply, Request } from './processor.ts'
import type { SendMessage } from './processors/send-message.ts'
import { answerUnsupported } from './processors/unsupported.ts'
import { replyOfError, respond, sendReply } from './responder.ts'

/** Requests of one connection that may be under way; further ones are refused. */
const OPEN_COUNT_MAX = 10_000

const SEND_CODES: ReadonlySet<number> = new Set([
  REQUEST_CODE.SEND_MESSAGE,
  REQUEST_CODE.SEND_MESSAGE_V2,
  REQUEST_CODE.SEND_BATCH_MESSAGE,
])

export interface DispatchParts {
  readonly processors: readonly Processor[]
  readonly sends: SendMessage
  readonly answers: DurableAnswers
  readonly context: DoorContext
  readonly access: Access
  readonly clients: ClientRegistry
  readonly pulls: PullService
  readonly log: Log
}

interface ConnectionRequest extends Request {
  readonly connection: RemotingConnection
}

/** Brings every request to the processor of its code, and its reply back to the client. */
export class Dispatch implements FrameHandler {
  readonly #parts: DispatchParts
  readonly #processors: ReadonlyMap<number, Processor>
  readonly #sendHeader = new SendHeader()

  constructor(parts: DispatchParts) {
    this.#parts = parts
    this.#processors = new Map(parts.processors.map(processor => [processor.code, processor]))
  }

  onFrame(connection: RemotingConnection, frame: FrameView, nowMs: number): void {
    if (scanSendHeader(frame, this.#sendHeader)) {
      this.#parts.sends.handle(connection, frame, this.#sendHeader, nowMs)
      return
    }
    const header = decodeHeader(frame)
    // This broker asks its clients nothing that they answer.
    if (isResponse(header)) return
    if (SEND_CODES.has(header.code)) this.#send(connection, frame, header, nowMs)
    else this.#dispatch(connection, frame, header)
  }

  onChunkEnd(connection: RemotingConnection): void {
    this.#parts.answers.chunkEnded(connection)
  }

  onDrain(): void {
    this.#parts.pulls.resume()
  }

  onClose(connection: RemotingConnection): void {
    this.#parts.answers.forget(connection)
    this.#parts.pulls.drop(connection)
    this.#parts.clients.close(connection)
    this.#parts.pulls.resume()
  }

  /** A send that the scanner left alone: binary, or written in an unusual way. */
  #send(connection: RemotingConnection, frame: FrameView, header: Header, nowMs: number): void {
    try {
      sendHeaderFrom(header, this.#sendHeader)
    } catch (error) {
      sendReply(connection, header, replyOfError(error, header, this.#parts.log))
      return
    }
    this.#parts.sends.handle(connection, frame, this.#sendHeader, nowMs)
  }

  #dispatch(connection: RemotingConnection, frame: FrameView, header: Header): void {
    const body = frame.copyBody()
    respond(connection, header, () => this.#handle({ header, body, connection }), this.#parts.log)
  }

  #handle(request: ConnectionRequest): Reply | Promise<Reply> | undefined {
    const { header, connection } = request
    if (connection.openCount >= OPEN_COUNT_MAX) {
      throw new BrokerError('TOO_MANY_REQUESTS', { openRequests: connection.openCount })
    }
    const processor = this.#processors.get(header.code)
    if (processor === undefined) return answerUnsupported(request, this.#parts.context)
    this.#checkAccess(processor, request)
    return processor.handle(request, this.#parts.context)
  }

  #checkAccess(processor: Processor, request: Request): void {
    const { action } = processor
    const touched = processor.resources(request)
    for (const resources of touched.length === 0 ? [{}] : touched) {
      const decision = this.#parts.access.decide({ door: 'remoting', action, ...resources })
      if (decision.kind === 'allowed') continue
      const { reason } = decision
      throw new BrokerError('NO_PERMISSION', { request: processor.name, ...resources, reason })
    }
  }
}
