import type { Log } from '../../core/platform/index.ts'
import { decodeHeader, isResponse, type FrameView } from '../../model/wire/index.ts'
import type { FrameHandler, RemotingConnection } from './connection.ts'
import type { Reply, Request } from './processor.ts'
import { respond } from './responder.ts'

/**
 * Serves requests by one function: for a door whose answers wait for nothing but themselves, as
 * the name server's.
 */
export class RequestFrames implements FrameHandler {
  readonly #handle: (request: Request) => Reply | Promise<Reply>
  readonly #log: Log

  constructor(handle: (request: Request) => Reply | Promise<Reply>, log: Log) {
    this.#handle = handle
    this.#log = log
  }

  onFrame(connection: RemotingConnection, frame: FrameView): void {
    const header = decodeHeader(frame)
    if (isResponse(header)) return
    const body = frame.copyBody()
    respond(connection, header, () => this.#handle({ header, body, connection }), this.#log)
  }

  onChunkEnd(): void {
    // Nothing is held back here.
  }

  onDrain(): void {
    // Answers are small: none waits for room.
  }

  onClose(): void {
    // Nothing is known of a connection beside its requests.
  }
}
