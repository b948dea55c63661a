import { assert } from '../../base/index.ts'
import type { Connection, ConnectionHandler } from '../network.ts'
import type { Faults } from './faults.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { SimulatedProcess } from './simulated-process.ts'

interface Place {
  readonly host: string
  readonly port: number
}

interface ConnectionParts {
  readonly process: SimulatedProcess
  readonly random: SeededRandom
  readonly faults: Faults
  readonly local: Place
  readonly remote: Place
  readonly onGone: (gone: SimulatedConnection) => void
}

interface Unsent {
  readonly bytes: Uint8Array
  /** What the bytes were when they were written. */
  readonly copy: Buffer
}

/** What lies between the two ends and at the receiver at most; more waits at the sender. */
const ON_THE_WAY_BYTES_MAX = 256 * 1024
const LINGER_MS = 2_000

/** One end of a connection in memory: bytes are late, split and joined, never out of order. */
export class SimulatedConnection implements Connection {
  readonly remoteHost: string
  readonly remotePort: number
  readonly localHost: string
  readonly localPort: number
  readonly #parts: ConnectionParts
  #peer: SimulatedConnection | undefined
  #handler: ConnectionHandler | undefined
  #paused = false
  #unsent: Unsent[] = []
  #unsentBytes = 0
  #sending = false
  #drainOwed = false
  /** `end` was called, or the other side has ended: what was written is sent, then the end. */
  #ending = false
  #endSent = false
  /** The application wants no more data. */
  #deaf = false
  #closed = false
  #closeTold = false
  /** Bytes under way to this end or waiting at it. */
  #onTheWayBytes = 0
  #arrived: Buffer[] = []
  #endArrived = false
  /** The end was reached, after all the data before it. */
  #endHandled = false
  #lastArrivalMs = 0
  #delivering = false

  constructor(parts: ConnectionParts) {
    this.#parts = parts
    this.remoteHost = parts.remote.host
    this.remotePort = parts.remote.port
    this.localHost = parts.local.host
    this.localPort = parts.local.port
  }

  static join(one: SimulatedConnection, other: SimulatedConnection): void {
    one.#peer = other
    other.#peer = one
  }

  get process(): SimulatedProcess {
    return this.#parts.process
  }

  get unsentBytes(): number {
    return this.#unsentBytes
  }

  start(handler: ConnectionHandler): void {
    assert(this.#handler === undefined, 'a connection is started once')
    this.#handler = handler
    if (this.#closed) this.#tellClose()
    else this.#deliverSoon()
  }

  write(bytes: Uint8Array): void {
    if (this.#ending || this.#closed || !this.#parts.process.alive || bytes.length === 0) return
    this.#unsent.push({ bytes, copy: Buffer.from(bytes) })
    this.#unsentBytes += bytes.length
    // Sometimes the system takes everything at once, and no drain is owed.
    if (this.#parts.random.chance(0.3) && this.#unsentBytes === bytes.length) this.#send()
    if (this.#unsentBytes === 0) return
    this.#drainOwed = true
    this.#sendSoon()
  }

  pauseReading(): void {
    this.#paused = true
  }

  resumeReading(): void {
    this.#paused = false
    this.#deliverSoon()
  }

  end(): void {
    if (this.#closed || !this.#parts.process.alive) return
    this.#deaf = true
    this.#ending = true
    this.#paused = false
    this.#sendSoon()
    this.#deliverSoon()
  }

  destroy(): void {
    if (this.#closed || !this.#parts.process.alive) return
    this.#close()
    this.#peer?.farSideGone(false)
  }

  /** The wire is cut: both ends close, and what was under way is lost. */
  cut(): void {
    if (this.#closed) return
    this.#parts.faults.count('connectionCut')
    this.#peer?.farSideGone(true)
    this.farSideGone(true)
  }

  /** Called by the other end, or by a cut: this end closes, after the data unless it is lost. */
  farSideGone(dataLost: boolean): void {
    if (dataLost) this.#close()
    else {
      this.#at(this.#arrivalMs(), () => {
        this.#close()
      })
    }
  }

  /** Called by the other end: it has read. */
  roomMade(): void {
    if (this.#unsentBytes > 0) this.#sendSoon()
  }

  /** The process of this end has died. */
  vanish(): void {
    if (this.#closed) return
    this.#closed = true
    this.#parts.onGone(this)
    this.#peer?.farSideGone(false)
  }

  #close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#unsent = []
    this.#unsentBytes = 0
    this.#arrived = []
    this.#parts.onGone(this)
    this.#tellClose()
  }

  /** Later, as a handler must not be called while it calls. */
  #tellClose(): void {
    this.#later(() => {
      const handler = this.#handler
      if (handler === undefined || this.#closeTold) return
      this.#closeTold = true
      handler.onClose()
    })
  }

  #sendSoon(): void {
    if (this.#sending || this.#closed) return
    this.#sending = true
    this.#parts.process.schedule(this.#delayMs(), () => {
      this.#sending = false
      this.#send()
    })
  }

  /** Hands bytes to the wire, as many as the other side has room for. */
  #send(): void {
    const peer = this.#peer
    if (this.#closed || peer === undefined) return
    if (this.#parts.random.chance(this.#parts.faults.rates.connectionCut)) {
      this.cut()
      return
    }
    const chunks = this.#takeUnsent(ON_THE_WAY_BYTES_MAX - peer.#onTheWayBytes)
    if (chunks.length > 0) peer.#receive(Buffer.concat(chunks))
    if (this.#unsentBytes > 0) return // goes on when the other side has read
    if (this.#ending && !this.#endSent) {
      this.#endSent = true
      peer.#receiveEnd()
      if (this.#endHandled) this.#close()
      else if (this.#deaf) this.#linger()
    }
    if (this.#drainOwed) {
      this.#drainOwed = false
      this.#handler?.onDrain()
    }
  }

  #takeUnsent(room: number): readonly Buffer[] {
    const chunks: Buffer[] = []
    let left = room
    while (left > 0) {
      const first = this.#unsent[0]
      if (first === undefined) break
      assert(first.copy.equals(first.bytes), 'bytes must not change until they are sent')
      const chunk = first.copy.subarray(0, left)
      const rest = { bytes: first.bytes.subarray(left), copy: first.copy.subarray(left) }
      if (rest.copy.length > 0) this.#unsent[0] = rest
      else this.#unsent.shift()
      chunks.push(chunk)
      this.#unsentBytes -= chunk.length
      left -= chunk.length
    }
    return chunks
  }

  #receive(bytes: Buffer): void {
    this.#onTheWayBytes += bytes.length
    this.#at(this.#arrivalMs(), () => {
      if (this.#closed) return
      this.#arrived.push(bytes)
      this.#deliver()
    })
  }

  #receiveEnd(): void {
    this.#at(this.#arrivalMs(), () => {
      this.#endArrived = true
      this.#deliver()
    })
  }

  /** What arrives at an end arrives in the order in which it was sent. */
  #arrivalMs(): number {
    const { process } = this.#parts
    this.#lastArrivalMs = Math.max(process.nowMs + this.#delayMs(), this.#lastArrivalMs)
    return this.#lastArrivalMs
  }

  #deliverSoon(): void {
    if (this.#delivering) return
    this.#delivering = true
    this.#later(() => {
      this.#delivering = false
      this.#deliver()
    })
  }

  #deliver(): void {
    if (this.#closed || this.#paused || (this.#handler === undefined && !this.#deaf)) return
    if (this.#arrived.length > 0) {
      const chunk = this.#nextChunk()
      this.#onTheWayBytes -= chunk.length
      this.#peer?.roomMade()
      if (!this.#deaf) this.#handler?.onData(chunk)
      // The next read goes to the same place, as with real sockets.
      chunk.fill(0xee)
      if (this.#arrived.length > 0 || this.#endArrived) this.#deliverSoon()
      return
    }
    if (!this.#endArrived) return
    // As Node does it: the other side's end ends this side too, once all was written.
    this.#endHandled = true
    this.#ending = true
    if (this.#endSent) this.#close()
    else this.#sendSoon()
  }

  /** The other side may never end. */
  #linger(): void {
    this.#parts.process.schedule(LINGER_MS, () => {
      this.destroy()
    })
  }

  /** Often all that is there, sometimes a part of it. */
  #nextChunk(): Buffer {
    const all = Buffer.concat(this.#arrived)
    const { random, faults } = this.#parts
    const split = all.length > 1 && random.chance(0.2)
    if (split) faults.count('splitChunk')
    const length = split ? 1 + random.below(all.length - 1) : all.length
    this.#arrived = length < all.length ? [all.subarray(length)] : []
    // A copy: it is spoilt once it has been handed over.
    return Buffer.from(all.subarray(0, length))
  }

  #later(action: () => void): void {
    this.#parts.process.schedule(this.#delayMs() / 10, action)
  }

  #at(uptimeMs: number, action: () => void): void {
    const { process } = this.#parts
    process.schedule(Math.max(0, uptimeMs - process.nowMs), action)
  }

  #delayMs(): number {
    return 0.02 + 0.4 * this.#parts.random.fraction() ** 2
  }
}
