import type { Connection, Network } from '../../core/platform/index.ts'
import {
  decodeHeader,
  encodeFrame,
  FrameDecoder,
  FrameView,
  type Header,
  isOneway,
  isResponse,
  ONEWAY_FLAG,
  RESPONSE_FLAG,
} from '../../model/wire/index.ts'

/** A request as a scripted server got it. */
export interface ScriptedRequest {
  readonly code: number
  readonly fields: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly oneway: boolean
  readonly connection: Connection
  /** Answers it later; for scripts that return nothing. */
  readonly answer: (answer: ScriptedAnswer) => void
}

export interface ScriptedAnswer {
  readonly code?: number
  readonly remark?: string
  readonly extFields?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
}

export type Script = (request: ScriptedRequest) => ScriptedAnswer | undefined

/** A peer for tests of the client: answers each request as its script says, and keeps them all. */
export class ScriptedServer {
  readonly requests: ScriptedRequest[] = []
  /** Answers of the client to calls of this server. */
  readonly responses: Header[] = []
  readonly connections: Set<Connection> = new Set()
  #script: Script

  constructor(script: Script) {
    this.#script = script
  }

  async listen(network: Network, port: number): Promise<void> {
    await network.listen({ host: '127.0.0.1', port }, connection => {
      this.#accept(connection)
    })
  }

  setScript(script: Script): void {
    this.#script = script
  }

  /** Requests of one code, in order. */
  of(code: number): readonly ScriptedRequest[] {
    return this.requests.filter(request => request.code === code)
  }

  /** Calls every client that is connected. */
  call(code: number, extFields: Readonly<Record<string, string>>, oneway = true): void {
    const header = { code, opaque: 1, flag: oneway ? ONEWAY_FLAG : 0, extFields }
    for (const connection of this.connections) connection.write(encodeFrame(header))
  }

  #accept(connection: Connection): void {
    const decoder = new FrameDecoder()
    const frame = new FrameView()
    this.connections.add(connection)
    connection.start({
      onData: chunk => {
        decoder.push(chunk)
        while (decoder.next(frame)) this.#handle(frame, connection)
      },
      onDrain: () => undefined,
      onClose: () => {
        this.connections.delete(connection)
      },
    })
  }

  #handle(frame: FrameView, connection: Connection): void {
    const header = decodeHeader(frame)
    if (isResponse(header)) {
      this.responses.push(header)
      return
    }
    const answer = ({ code = 0, body, ...rest }: ScriptedAnswer): void => {
      const { opaque } = header
      connection.write(encodeFrame({ code, opaque, flag: RESPONSE_FLAG, ...rest }, body))
    }
    const request = {
      code: header.code,
      fields: header.extFields,
      body: frame.copyBody(),
      oneway: isOneway(header),
      connection,
      answer,
    }
    this.requests.push(request)
    const answered = this.#script(request)
    if (answered !== undefined && !request.oneway) answer(answered)
  }
}
