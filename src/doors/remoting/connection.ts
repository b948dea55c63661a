import { BrokerError } from '../../core/base/index.ts'
import type { Clock, Connection, ConnectionHandler } from '../../core/platform/index.ts'
import { encodeHost } from '../../model/message/index.ts'
import { FrameDecoder, type FrameView } from '../../model/wire/index.ts'
import { HeldAnswers } from './held-answers.ts'
import type { MemoryBudget } from './memory-budget.ts'
import type { RemotingChannel } from './processor.ts'
import type { SparseLog } from './sparse-log.ts'

/** What a server does with the frames of its connections. */
export interface FrameHandler {
  /**
   * One whole frame; `frame` is filled again afterwards. `nowMs` is the time at which its chunk
   * came. A thrown `FRAME_INVALID` closes the connection.
   */
  onFrame(connection: RemotingConnection, frame: FrameView, nowMs: number): void
  /** All frames of a chunk have been handed over. */
  onChunkEnd(connection: RemotingConnection): void
  /** What was unsent has been sent. */
  onDrain(connection: RemotingConnection): void
  /** Nothing reaches the client any more. */
  onClose(connection: RemotingConnection): void
}

export interface ConnectionParts {
  readonly socket: Connection
  readonly clock: Clock
  /** One for all connections of a server. */
  readonly closings: SparseLog
  readonly budget: MemoryBudget
  readonly handler: FrameHandler
  /** One for all connections of a server. */
  readonly frame: FrameView
  readonly onClosed: (connection: RemotingConnection) => void
}

/** One client's connection: frames in, answers out, both bounded. */
export class RemotingConnection implements RemotingChannel, ConnectionHandler {
  readonly remoteHost: string
  readonly remotePort: number
  readonly localHost: string
  readonly localPort: number
  /** The client's address as a record holds it: 8 or 20 bytes. */
  readonly bornHost: Buffer
  readonly held: HeldAnswers = new HeldAnswers()
  readonly #parts: ConnectionParts
  readonly #decoder = new FrameDecoder()
  #openCount = 0
  #isClosed = false
  #isFinishing = false
  #isEnding = false
  /** Something was received or sent since the sweep last looked. */
  #isActive = true
  #idleSinceMs: number
  #isReading = true
  #isCongested = false
  #isBehind = false
  #countedUnsentBytes = 0
  #countedCarriedBytes = 0

  constructor(parts: ConnectionParts) {
    const { socket } = parts
    this.#parts = parts
    this.remoteHost = socket.remoteHost
    this.remotePort = socket.remotePort
    this.localHost = socket.localHost
    this.localPort = socket.localPort
    this.bornHost = encodeHost(socket.remoteHost, socket.remotePort)
    this.#idleSinceMs = parts.clock.uptimeMs()
  }

  start(): void {
    this.#parts.socket.start(this)
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Requests that are being worked on. */
  get openCount(): number {
    return this.#openCount
  }

  /** True while the client does not take what it is sent as fast as it asks for it. */
  get isBehind(): boolean {
    const { limits, unsentTotalBytes } = this.#parts.budget
    const unsentBytes = this.#countedUnsentBytes
    if (unsentBytes > limits.unsentBytesHigh) return true
    return unsentBytes > 0 && unsentTotalBytes > limits.unsentTotalBytesHigh
  }

  onData(chunk: Buffer): void {
    if (this.#isClosed || this.#isFinishing) return
    this.#isActive = true
    const { clock, frame, handler } = this.#parts
    const nowMs = clock.timeMs()
    try {
      this.#decoder.push(chunk)
      while (!this.#isClosed && this.#decoder.next(frame)) handler.onFrame(this, frame, nowMs)
    } catch (error) {
      if (!(error instanceof BrokerError) || error.code !== 'FRAME_INVALID') throw error
      this.#closeFor('a bad frame', error.message)
    }
    this.held.seal()
    this.#countCarried()
    handler.onChunkEnd(this)
  }

  onDrain(): void {
    if (this.#isClosed) return
    this.#isActive = true
    this.#countUnsent(0)
    this.#setBehind(false)
    this.#parts.handler.onDrain(this)
  }

  onClose(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.held.clear()
    this.#countUnsent(0)
    this.#parts.budget.carriedTotalBytes -= this.#countedCarriedBytes
    this.#countedCarriedBytes = 0
    this.#parts.handler.onClose(this)
    this.#parts.onClosed(this)
  }

  /** Sends a frame, or a part of one. The bytes must not change. Dropped when it is closed. */
  send(bytes: Buffer): void {
    if (this.#isClosed || this.#isEnding) return
    const { socket, budget } = this.#parts
    if (this.#countedUnsentBytes === 0) this.#isActive = true
    socket.write(bytes)
    this.#countUnsent(socket.unsentBytes)
    if (this.#countedUnsentBytes > budget.limits.unsentBytesMax) {
      this.#closeFor('the client does not read what it is sent')
    } else if (this.isBehind) {
      this.#setBehind(true)
    }
  }

  /** Sends the answers that waited for the log to reach this far. */
  release(appliedOffset: number): void {
    const bytes = this.held.take(appliedOffset)
    if (bytes.length > 0) this.send(bytes)
    this.#endWhenDone()
  }

  /** A request is being worked on; `requestDone` follows, once, when it has been answered. */
  requestOpened(): void {
    this.#openCount++
  }

  requestDone(): void {
    this.#openCount--
    this.#endWhenDone()
  }

  /** Stops reading while the store has too much to write. */
  setCongested(isCongested: boolean): void {
    this.#isCongested = isCongested
    this.#adjustReading()
  }

  /** Reads nothing from now on, and ends the connection once nothing of it waits any more. */
  finish(): void {
    this.#isFinishing = true
    this.#adjustReading()
    this.#endWhenDone()
  }

  destroy(): void {
    this.#parts.socket.destroy()
    // The socket's own close may come later; nothing may be sent or counted meanwhile.
    this.onClose()
  }

  /** Closes the connection when nothing went either way for `idleMsMax`. */
  closeWhenIdle(uptimeMs: number, idleMsMax: number): void {
    if (this.#isActive) {
      this.#isActive = false
      this.#idleSinceMs = uptimeMs
    } else if (uptimeMs - this.#idleSinceMs >= idleMsMax) {
      this.#closeFor('nothing went either way for too long')
    }
  }

  #endWhenDone(): void {
    if (!this.#isFinishing || this.#isClosed || this.#isEnding) return
    if (this.#openCount > 0 || !this.held.isEmpty) return
    this.#isEnding = true
    this.#parts.socket.end()
  }

  #closeFor(cause: string, reason: string = cause): void {
    const { remoteHost, remotePort } = this
    this.#parts.closings.info(cause, 'connection closed', { remoteHost, remotePort, reason })
    this.destroy()
  }

  #setBehind(isBehind: boolean): void {
    this.#isBehind = isBehind
    this.#adjustReading()
  }

  #adjustReading(): void {
    if (this.#isClosed || this.#isEnding) return
    const mayRead = !this.#isCongested && !this.#isBehind && !this.#isFinishing
    if (mayRead === this.#isReading) return
    this.#isReading = mayRead
    if (!mayRead) this.#parts.socket.pauseReading()
    else this.#parts.socket.resumeReading()
  }

  #countUnsent(unsentBytes: number): void {
    this.#parts.budget.unsentTotalBytes += unsentBytes - this.#countedUnsentBytes
    this.#countedUnsentBytes = unsentBytes
  }

  #countCarried(): void {
    if (this.#isClosed) return
    const { budget } = this.#parts
    const carriedBytes = this.#decoder.carriedBytes
    if (carriedBytes === this.#countedCarriedBytes) return
    const isMore = carriedBytes > this.#countedCarriedBytes
    budget.carriedTotalBytes += carriedBytes - this.#countedCarriedBytes
    this.#countedCarriedBytes = carriedBytes
    if (isMore && budget.carriedTotalBytes > budget.limits.carriedTotalBytesMax) {
      this.#closeFor('too much memory is taken by unfinished frames of all clients')
    }
  }
}
