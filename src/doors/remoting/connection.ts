import { BrokerError, InvariantError } from '../../core/base/index.ts'
import type { Clock, Connection, ConnectionHandler, Timers } from '../../core/platform/index.ts'
import { encodeHost } from '../../model/message/index.ts'
import { FrameDecoder, type FrameView } from '../../model/wire/index.ts'
import { HeldAnswers } from './held-answers.ts'
import type { MemoryBudget } from './memory-budget.ts'
import type { RemotingChannel } from './processor.ts'
import type { SparseLog } from './sparse-log.ts'

/** Requests of one connection that are answered later, beside pulls: no further one is begun. */
const ANSWERING_COUNT_MAX = 64
/** How long the frames of one connection are worked on before others get their turn. */
const TURN_MS = 5
/** Frames between two looks at the clock. */
const FRAMES_PER_LOOK = 16
/** Sweeps, of 10 s, without anything taken after which a client may lose its place to others. */
const STALLED_SWEEPS_MAX = 2

/** What a server does with the frames of its connections. */
export interface FrameHandler {
  /**
   * One whole frame; `frame` is filled again afterwards. `nowMs` is the time at which the work on
   * its chunk began. Whatever it throws closes the connection; a broken invariant is thrown on.
   */
  onFrame(connection: RemotingConnection, frame: FrameView, nowMs: number): void
  /** All frames of a chunk, or of the part of it that had its turn, have been handed over. */
  onChunkEnd(connection: RemotingConnection): void
  /** What was unsent has been sent. */
  onDrain(connection: RemotingConnection): void
  /** Nothing reaches the client any more. */
  onClose(connection: RemotingConnection): void
}

export interface ConnectionParts {
  readonly socket: Connection
  readonly clock: Clock
  readonly timers: Timers
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
  #answeringCount = 0
  #isContinuing = false
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
  #readingBytes = 0
  #countedCarriedBytes = 0
  /** The client has taken something of what was unsent since the sweep last looked. */
  #hasTaken = false
  #stalledSweeps = 0

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

  /**
   * Sets memory aside for what a pull reads; `releaseRead` gives it back. False when there is none
   * at the moment: an end of another read, a drain or a close may change that. A client that has
   * taken all it was sent gets at least one read, of whatever size, while others leave room.
   */
  reserveRead(bytes: number): boolean {
    const { budget, socket } = this.#parts
    const { limits } = budget
    if (this.#isClosed) return false
    this.#countUnsent(socket.unsentBytes)
    const ownBytes = this.#countedUnsentBytes + this.#readingBytes
    const totalBytes = budget.unsentTotalBytes + budget.readingTotalBytes
    const fits =
      ownBytes === 0
        ? totalBytes === 0 || totalBytes + bytes <= limits.unsentTotalBytesHigh
        : ownBytes + bytes <= limits.unsentBytesHigh &&
          totalBytes + bytes <= limits.unsentTotalBytesHigh / 2
    if (!fits) return false
    this.#readingBytes += bytes
    budget.readingTotalBytes += bytes
    return true
  }

  releaseRead(bytes: number): void {
    this.#readingBytes -= bytes
    this.#parts.budget.readingTotalBytes -= bytes
  }

  onData(chunk: Buffer): void {
    if (this.#isClosed || this.#isFinishing) return
    this.#isActive = true
    this.#decoder.push(chunk)
    this.#work()
  }

  onDrain(): void {
    if (this.#isClosed) return
    this.#isActive = true
    this.#countUnsent(0)
    this.#isBehind = false
    this.#adjustReading()
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
    this.#countUnsent(socket.unsentBytes, bytes.length)
    if (this.#countedUnsentBytes > budget.limits.unsentBytesMax) {
      this.#closeFor('the client does not read what it is sent')
    } else if (this.#hasTooMuchUnsent()) {
      this.#isBehind = true
      this.#adjustReading()
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

  /** A request is being worked on, as `requestOpened`, and its answer will take little room. */
  answerBegun(): void {
    this.#answeringCount++
    this.requestOpened()
  }

  answerDone(): void {
    this.#answeringCount--
    this.requestDone()
    this.#adjustReading()
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

  /**
   * To be called now and then. Closes the connection when nothing went either way for `idleMsMax`,
   * or when its client takes nothing while memory is short.
   */
  sweep(uptimeMs: number, idleMsMax: number): void {
    this.#lookForStall()
    if (this.#isClosed) return
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

  #lookForStall(): void {
    const { budget, socket } = this.#parts
    this.#countUnsent(socket.unsentBytes)
    const isStalled = this.#countedUnsentBytes > 0 && !this.#hasTaken
    this.#stalledSweeps = isStalled ? this.#stalledSweeps + 1 : 0
    this.#hasTaken = false
    if (this.#stalledSweeps > STALLED_SWEEPS_MAX && budget.isShort) {
      this.#closeFor('the client takes nothing, and others need the memory')
    }
  }

  /** Works on what has come, until it must wait or others have waited long enough. */
  #work(): void {
    const { clock, frame, handler } = this.#parts
    const decoder = this.#decoder
    try {
      const nowMs = clock.timeMs()
      const endMs = clock.uptimeMs() + TURN_MS
      let frameCount = 0
      while (this.#mayWork() && decoder.next(frame)) {
        handler.onFrame(this, frame, nowMs)
        frameCount++
        if (frameCount % FRAMES_PER_LOOK === 0 && clock.uptimeMs() > endMs) break
      }
      if (decoder.hasRest && !this.#isClosed) decoder.keepRest()
    } catch (error) {
      this.#closeAfter(error)
    }
    this.held.seal()
    this.#countCarried()
    handler.onChunkEnd(this)
    this.#adjustReading()
  }

  /** A client must not be able to end the process, whatever it has found to send. */
  #closeAfter(error: unknown): void {
    if (error instanceof InvariantError) throw error
    if (error instanceof BrokerError && error.code === 'FRAME_INVALID') {
      this.#closeFor('a bad frame', error.message)
      return
    }
    const { remoteHost, remotePort } = this
    const message = 'a frame failed in an unforeseen way, its connection is closed'
    this.#parts.closings.error('unforeseen', message, error, { remoteHost, remotePort })
    this.destroy()
  }

  #mayWork(): boolean {
    const isFree = !this.#isBehind && this.#answeringCount < ANSWERING_COUNT_MAX
    return isFree && !this.#isClosed && !this.#isFinishing
  }

  /** True when the client does not take what it is sent as fast as it asks for it. */
  #hasTooMuchUnsent(): boolean {
    const { limits, unsentTotalBytes } = this.#parts.budget
    const unsentBytes = this.#countedUnsentBytes
    if (unsentBytes > limits.unsentBytesHigh) return true
    return unsentBytes > 0 && unsentTotalBytes > limits.unsentTotalBytesHigh
  }

  #adjustReading(): void {
    if (this.#isClosed || this.#isEnding) return
    const hasRest = this.#decoder.hasRest
    if (hasRest && this.#mayWork()) this.#continueSoon()
    const mayRead = this.#mayWork() && !hasRest && !this.#isCongested
    if (mayRead === this.#isReading) return
    this.#isReading = mayRead
    if (!mayRead) this.#parts.socket.pauseReading()
    else this.#parts.socket.resumeReading()
  }

  /** Later, so that other connections have their turn meanwhile. */
  #continueSoon(): void {
    if (this.#isContinuing) return
    this.#isContinuing = true
    this.#parts.timers.soon(() => {
      this.#isContinuing = false
      if (this.#mayWork()) this.#work()
    })
  }

  #countUnsent(unsentBytes: number, writtenBytes = 0): void {
    if (unsentBytes < this.#countedUnsentBytes + writtenBytes) this.#hasTaken = true
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
