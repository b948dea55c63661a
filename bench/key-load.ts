import { createConnection, type Socket } from 'node:net'

const OPAQUE_NAME = '"opaque":'
const CODE_NAME = '"code":'
const LENGTH_BYTES = 4
const PREFIX_BYTES = 8

/** What came of a phase. */
export interface LoadReport {
  readonly answered: number
  readonly seconds: number
  /** Answers by code of the protocol; 0 is success. */
  readonly codes: Readonly<Record<number, number>>
}

/** One request: its code, the fields of its header as JSON, and its body. */
export interface LoadRequest {
  readonly code: number
  readonly extFields: string
  readonly body: Buffer
}

/**
 * Sends what `next` gives over several connections, each with up to `inflight` unanswered, until it
 * gives no more; resolves when all is answered. Nothing is kept for a request, so that the load
 * takes as little of the machine as can be.
 */
export async function load(
  address: string,
  settings: { readonly conns: number; readonly inflight: number },
  next: () => LoadRequest | undefined,
): Promise<LoadReport> {
  const codes: Record<number, number> = {}
  const startedMs = performance.now()
  const lanes = Array.from({ length: settings.conns }, () => {
    return new Lane(address, settings.inflight, next, code => {
      codes[code] = (codes[code] ?? 0) + 1
    })
  })
  await Promise.all(lanes.map(lane => lane.done))
  const seconds = (performance.now() - startedMs) / 1000
  const answered = Object.values(codes).reduce((sum, count) => sum + count, 0)
  return { answered, seconds, codes }
}

class Lane {
  readonly done: Promise<void>
  readonly #socket: Socket
  readonly #next: () => LoadRequest | undefined
  readonly #onAnswer: (code: number) => void
  readonly #inflight: number
  #rest: Buffer = Buffer.alloc(0)
  #opaque = 0
  #openCount = 0
  #isOver = false

  constructor(
    address: string,
    inflight: number,
    next: () => LoadRequest | undefined,
    onAnswer: (code: number) => void,
  ) {
    const [host = '', port = ''] = address.split(':')
    this.#next = next
    this.#onAnswer = onAnswer
    this.#inflight = inflight
    this.#socket = createConnection({ host, port: Number(port), noDelay: true })
    this.done = new Promise((resolve, reject) => {
      this.#socket.on('connect', () => this.#fill())
      this.#socket.on('data', chunk => this.#receive(chunk))
      this.#socket.on('error', reject)
      this.#socket.on('close', () => {
        if (this.#isOver && this.#openCount === 0) resolve()
        else reject(new Error('the broker closed a connection'))
      })
    })
  }

  #fill(): void {
    const frames: Buffer[] = []
    while (!this.#isOver && this.#openCount < this.#inflight) {
      const request = this.#next()
      if (request === undefined) this.#isOver = true
      else {
        frames.push(frameOf(request, ++this.#opaque))
        this.#openCount++
      }
    }
    if (frames.length > 0) this.#socket.write(Buffer.concat(frames))
    if (this.#isOver && this.#openCount === 0) this.#socket.end()
  }

  #receive(chunk: Buffer): void {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    while (bytes.length >= PREFIX_BYTES) {
      const end = LENGTH_BYTES + bytes.readInt32BE(0)
      if (bytes.length < end) break
      // The code comes first in some answers and last in none.
      const header = bytes.toString('latin1', PREFIX_BYTES, end)
      const at = header.indexOf(CODE_NAME)
      if (header.includes(OPAQUE_NAME)) {
        this.#onAnswer(Number.parseInt(header.slice(at + CODE_NAME.length), 10))
        this.#openCount--
      }
      bytes = bytes.subarray(end)
    }
    this.#rest = Buffer.from(bytes)
    this.#fill()
  }
}

function frameOf({ code, extFields, body }: LoadRequest, opaque: number): Buffer {
  const header =
    `{"code":${code},"extFields":${extFields},"flag":0,"language":"OTHER",` +
    `"opaque":${opaque},"serializeTypeCurrentRPC":"JSON","version":479}`
  const headerBytes = Buffer.byteLength(header)
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + headerBytes + body.length)
  frame.writeInt32BE(LENGTH_BYTES + headerBytes + body.length, 0)
  frame.writeInt32BE(headerBytes, LENGTH_BYTES)
  frame.write(header, PREFIX_BYTES)
  body.copy(frame, PREFIX_BYTES + headerBytes)
  return frame
}
