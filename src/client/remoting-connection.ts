import { BrokerError, errorOfRemark, operatingError } from '../core/base/index.ts'
import type { Connection, Platform, Timer } from '../core/platform/index.ts'
import {
  decodeHeader,
  encodeFrame,
  type ExtFields,
  FrameDecoder,
  FrameView,
  type Header,
  isOneway,
  isResponse,
  ONEWAY_FLAG,
  RESPONSE_CODE,
  RESPONSE_FLAG,
} from '../model/wire/index.ts'

/** What a client needs of the world. */
export type ClientPlatform = Pick<Platform, 'clock' | 'timers' | 'network' | 'random' | 'log'>

export interface RemotingRequest {
  readonly code: number
  readonly extFields?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
}

export interface RemotingResponse {
  readonly code: number
  readonly remark: string | undefined
  readonly extFields: ExtFields
  /** Empty when there is none. */
  readonly body: Buffer
}

export interface WaitOptions {
  readonly timeoutMs: number
  /** Gives up waiting; the request then rejects with `SHUTTING_DOWN`. */
  readonly signal?: AbortSignal | undefined
}

/** A call from the server, such as NOTIFY_CONSUMER_IDS_CHANGED (40). */
export type NoticeHandler = (code: number, extFields: ExtFields) => void

/** Requests without an answer yet; more are refused. */
const WAITING_COUNT_MAX = 65_536
const OPAQUE_MAX = 0x7fff_ffff

interface Waiting {
  readonly resolve: (response: RemotingResponse) => void
  readonly reject: (error: BrokerError) => void
  readonly timer: Timer
  readonly signal: AbortSignal | undefined
  readonly onAbort: () => void
}

/**
 * One connection to a broker or name server: many requests at once, answers in any order.
 *
 * When it closes, for whatever reason, all that wait reject with `CONNECTION_LOST`.
 */
export class RemotingConnection {
  readonly #connection: Connection
  readonly #platform: ClientPlatform
  readonly #onNotice: NoticeHandler
  readonly #decoder = new FrameDecoder()
  readonly #frame = new FrameView()
  readonly #waiting = new Map<number, Waiting>()
  #opaque = 0
  #closed = false

  /** Takes over a fresh connection. */
  constructor(connection: Connection, platform: ClientPlatform, onNotice: NoticeHandler) {
    this.#connection = connection
    this.#platform = platform
    this.#onNotice = onNotice
    connection.start({
      onData: chunk => {
        this.#receive(chunk)
      },
      onDrain: () => undefined,
      onClose: () => {
        this.#lose()
      },
    })
  }

  get closed(): boolean {
    return this.#closed
  }

  /**
   * Resolves to the answer, whatever its code. Errors: REQUEST_TIMEOUT, CONNECTION_LOST,
   * SHUTTING_DOWN (by the signal), TOO_MANY_REQUESTS.
   */
  request(request: RemotingRequest, wait: WaitOptions): Promise<RemotingResponse> {
    const { code } = request
    if (this.#closed) return Promise.reject(new BrokerError('CONNECTION_LOST', { request: code }))
    if (wait.signal?.aborted === true) return Promise.reject(new BrokerError('SHUTTING_DOWN'))
    if (this.#waiting.size >= WAITING_COUNT_MAX) {
      return Promise.reject(new BrokerError('TOO_MANY_REQUESTS', { waitingMax: WAITING_COUNT_MAX }))
    }
    const opaque = this.#nextOpaque()
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#take(opaque)?.reject(new BrokerError('SHUTTING_DOWN'))
      }
      const timer = this.#platform.timers.after(wait.timeoutMs, () => {
        const details = { request: code, timeoutMs: wait.timeoutMs }
        this.#take(opaque)?.reject(new BrokerError('REQUEST_TIMEOUT', details))
      })
      wait.signal?.addEventListener('abort', onAbort)
      this.#waiting.set(opaque, { resolve, reject, timer, signal: wait.signal, onAbort })
      this.#write(request, opaque, 0)
    })
  }

  /** Nothing tells whether it arrived. Does nothing when the connection is closed. */
  sendOneway(request: RemotingRequest): void {
    if (!this.#closed) this.#write(request, this.#nextOpaque(), ONEWAY_FLAG)
  }

  /** Sends what was written, then closes. */
  close(): void {
    if (!this.#closed) this.#connection.end()
    this.#lose()
  }

  #write(request: RemotingRequest, opaque: number, flag: number): void {
    const { code, extFields } = request
    const header = { code, opaque, flag, extFields: extFields ?? {}, language: 'JAVA' }
    this.#connection.write(encodeFrame(header, request.body))
  }

  #receive(chunk: Buffer): void {
    this.#decoder.push(chunk)
    try {
      while (!this.#closed && this.#decoder.next(this.#frame)) {
        this.#handle(decodeHeader(this.#frame), this.#frame.copyBody())
      }
    } catch (error) {
      const reason = operatingError(error)
      const { remoteHost: host, remotePort: port } = this.#connection
      this.#platform.log.warn('a server sent what is no frame', { host, port, why: reason.message })
      this.#connection.destroy()
      this.#lose(reason)
    }
  }

  #handle(header: Header, body: Buffer): void {
    if (isResponse(header)) {
      const { code, remark, extFields } = header
      this.#take(header.opaque)?.resolve({ code, remark, extFields, body })
      return
    }
    this.#onNotice(header.code, header.extFields)
    if (!isOneway(header) && !this.#closed) this.#refuse(header)
  }

  /** Calls that want an answer are of kinds that this client does not know. */
  #refuse(header: Header): void {
    const answer = {
      code: RESPONSE_CODE.REQUEST_CODE_NOT_SUPPORTED,
      opaque: header.opaque,
      flag: RESPONSE_FLAG,
      remark: `request type ${header.code} not supported`,
    }
    this.#connection.write(encodeFrame(answer))
  }

  #take(opaque: number): Waiting | undefined {
    const waiting = this.#waiting.get(opaque)
    if (waiting === undefined) return undefined
    this.#waiting.delete(opaque)
    waiting.timer.cancel()
    waiting.signal?.removeEventListener('abort', waiting.onAbort)
    return waiting
  }

  #nextOpaque(): number {
    do {
      this.#opaque = this.#opaque < OPAQUE_MAX ? this.#opaque + 1 : 1
    } while (this.#waiting.has(this.#opaque))
    return this.#opaque
  }

  #lose(cause?: BrokerError): void {
    if (this.#closed) return
    this.#closed = true
    for (const opaque of Array.from(this.#waiting.keys())) {
      this.#take(opaque)?.reject(new BrokerError('CONNECTION_LOST', {}, cause))
    }
  }
}

/** The answer of a request that succeeded. Errors: those of `requestFailed`. */
export function succeeded(response: RemotingResponse): RemotingResponse {
  if (response.code !== RESPONSE_CODE.SUCCESS) throw requestFailed(response)
  return response
}

/** The error that the broker names in its remark; else REQUEST_FAILED with `code` and `remark`. */
export function requestFailed(response: RemotingResponse): BrokerError {
  const { code } = response
  const remark = response.remark?.trim() ?? ''
  return errorOfRemark(remark) ?? new BrokerError('REQUEST_FAILED', { code, remark })
}
