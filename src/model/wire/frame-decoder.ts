import { BrokerError, readInt32 } from '../../core/base/index.ts'

/** Longest frame that RocketMQ's own readers accept, in bytes, the length field included. */
const FRAME_BYTES_MAX = 16_777_216

/** Header serialisations: 0 is JSON, 1 is ROCKETMQ (binary). */
export type SerializeType = 0 | 1

const NOTHING = Buffer.alloc(0)

/** Where the parts of one frame lie in `buffer`. Made once and filled again for every frame. */
export class FrameView {
  buffer: Buffer = NOTHING
  headerStart = 0
  headerEnd = 0
  bodyStart = 0
  bodyEnd = 0
  serializeType: SerializeType = 0

  /** A copy, to keep. */
  copyBody(): Buffer {
    return Buffer.from(this.buffer.subarray(this.bodyStart, this.bodyEnd))
  }
}

const LENGTH_BYTES = 4
const PREFIX_BYTES = 8

/**
 * Cuts the bytes of one connection into frames: `push` a chunk, then call `next` until it says
 * false, then push the next chunk. Who stops earlier calls `keepRest` and `next` again later.
 *
 * A frame that lies inside one chunk is a view on that chunk, without a copy, and valid as long as
 * that is. One that spans chunks is put together in a buffer of its own, which grows with the bytes
 * that have arrived and never with what the length field claims, and which is not written to again.
 *
 * A length, header length or serialisation type that cannot be right throws `FRAME_INVALID`, as
 * soon as its bytes are there and on every call after that: close the connection.
 */
export class FrameDecoder {
  readonly #frameBytesMax: number
  #chunk: Buffer = NOTHING
  #position = 0
  /** The frame that began in an earlier chunk, or `undefined`. */
  #carry: Buffer | undefined
  #carriedBytes = 0
  /** Of a chunk that is a copy of ours: its bytes. */
  #keptBytes = 0

  constructor(limits: { readonly frameBytesMax?: number } = {}) {
    this.#frameBytesMax = limits.frameBytesMax ?? FRAME_BYTES_MAX
  }

  /** Bytes of an unfinished frame, and what `keepRest` has kept. */
  get carriedBytes(): number {
    return this.#carriedBytes + this.#keptBytes
  }

  /** Something that was pushed has not been looked at yet. */
  get hasRest(): boolean {
    return this.#position < this.#chunk.length
  }

  /** Takes the next chunk, which must not change until `next` has said false. */
  push(chunk: Buffer): void {
    const rest = this.#chunk.subarray(this.#position)
    this.#chunk = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    this.#position = 0
    this.#keptBytes = 0
  }

  /** Copies what has not been looked at: the chunk may change from here on. */
  keepRest(): void {
    if (this.#keptBytes === 0) this.#chunk = Buffer.from(this.#chunk.subarray(this.#position))
    else this.#chunk = this.#chunk.subarray(this.#position)
    this.#position = 0
    this.#keptBytes = this.#chunk.length
  }

  /** Fills `frame` with the next whole frame; false when there is none in what was pushed. */
  next(frame: FrameView): boolean {
    if (this.#carry !== undefined) return this.#nextCarried(frame)
    const start = this.#position
    const available = this.#chunk.length - start
    if (available === 0) return this.#chunkDone()
    const frameBytes = this.#frameBytes(this.#chunk, start, available)
    if (available < frameBytes) {
      this.#append(NOTHING, frameBytes)
      return this.#chunkDone()
    }
    fill(frame, this.#chunk, start, frameBytes)
    this.#position = start + frameBytes
    return true
  }

  #chunkDone(): false {
    this.#chunk = NOTHING
    this.#position = 0
    this.#keptBytes = 0
    return false
  }

  #nextCarried(frame: FrameView): boolean {
    // At most three rounds: the first eight bytes, which tell the size; the rest; the frame.
    for (;;) {
      const carry = this.#carry ?? NOTHING
      const frameBytes = this.#frameBytes(carry, 0, this.#carriedBytes)
      if (this.#carriedBytes === frameBytes) {
        fill(frame, carry, 0, frameBytes)
        this.#carry = undefined
        this.#carriedBytes = 0
        return true
      }
      if (this.#position === this.#chunk.length) return this.#chunkDone()
      this.#append(carry, frameBytes)
    }
  }

  /** Moves bytes of the chunk to the carried frame until that has `wantedBytes`. */
  #append(carry: Buffer, wantedBytes: number): void {
    const missing = wantedBytes - this.#carriedBytes
    const end = Math.min(this.#position + missing, this.#chunk.length)
    const carriedBytes = this.#carriedBytes + end - this.#position
    let target = carry
    if (carriedBytes > carry.length) {
      const capacity = Math.min(wantedBytes, Math.max(carriedBytes, 2 * carry.length))
      target = Buffer.allocUnsafe(capacity)
      carry.copy(target, 0, 0, this.#carriedBytes)
    }
    this.#chunk.copy(target, this.#carriedBytes, this.#position, end)
    this.#carry = target
    this.#carriedBytes = carriedBytes
    this.#position = end
  }

  /** Size of the frame at `start`, checked as far as it has arrived; 8 while unknown. */
  #frameBytes(buffer: Buffer, start: number, available: number): number {
    if (available < LENGTH_BYTES) return PREFIX_BYTES
    const length = readInt32(buffer, start)
    if (length < 4) throw new BrokerError('FRAME_INVALID', { length })
    const frameBytes = LENGTH_BYTES + length
    if (frameBytes > this.#frameBytesMax) {
      throw new BrokerError('FRAME_INVALID', { length, frameBytesMax: this.#frameBytesMax })
    }
    if (available < PREFIX_BYTES) return frameBytes
    const serializeType = buffer[start + 4] ?? 0
    if (serializeType > 1) throw new BrokerError('FRAME_INVALID', { serializeType })
    const headerBytes = readInt32(buffer, start + 4) & 0xff_ffff
    if (headerBytes > length - 4) throw new BrokerError('FRAME_INVALID', { length, headerBytes })
    return frameBytes
  }
}

function fill(frame: FrameView, buffer: Buffer, start: number, frameBytes: number): void {
  const prefix = readInt32(buffer, start + 4)
  frame.buffer = buffer
  frame.serializeType = prefix >>> 24 === 1 ? 1 : 0
  frame.headerStart = start + PREFIX_BYTES
  frame.headerEnd = frame.headerStart + (prefix & 0xff_ffff)
  frame.bodyStart = frame.headerEnd
  frame.bodyEnd = start + frameBytes
}
