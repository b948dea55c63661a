import type net from 'node:net'
import { assert } from '../../base/index.ts'
import type { Connection, ConnectionHandler } from '../network.ts'
import type { QuietSocket } from './socket-reads.ts'

/** How long `end` waits for the other side to close too, once all has been sent. */
const LINGER_MS = 2_000

interface Place {
  readonly host: string
  readonly port: number
}

/** One TCP connection of the system. */
export class RealConnection implements Connection {
  readonly remoteHost: string
  readonly remotePort: number
  readonly localHost: string
  readonly localPort: number
  readonly #quiet: QuietSocket
  readonly #socket: net.Socket
  readonly #onWritten: (error?: Error | null) => void
  #handler: ConnectionHandler | undefined
  #ending = false
  #closed = false
  #drainOwed = false
  readonly #sendGathered = (): void => {
    this.#socket.uncork()
  }

  constructor(quiet: QuietSocket, remote: Place, local: Place) {
    const { socket } = quiet
    this.#quiet = quiet
    this.#socket = socket
    this.remoteHost = plainHost(remote.host)
    this.remotePort = remote.port
    this.localHost = plainHost(local.host)
    this.localPort = local.port
    this.#onWritten = error => {
      if (error || !this.#drainOwed || this.#socket.writableLength > 0) return
      this.#drainOwed = false
      if (!this.#closed) this.#handler?.onDrain()
    }
    // Node closes the socket after an error, and that is all that a handler hears of it.
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.#closed = true
      this.#handler?.onClose()
    })
  }

  /** Returns `undefined` and lets go of the socket when the other side has gone already. */
  static over(quiet: QuietSocket): RealConnection | undefined {
    const { socket } = quiet
    const { remoteAddress, remotePort, localAddress, localPort } = socket
    if (remoteAddress === undefined || remotePort === undefined) return letGo(socket)
    if (localAddress === undefined || localPort === undefined) return letGo(socket)
    const remote = { host: remoteAddress, port: remotePort }
    return new RealConnection(quiet, remote, { host: localAddress, port: localPort })
  }

  get unsentBytes(): number {
    return this.#closed ? 0 : this.#socket.writableLength
  }

  start(handler: ConnectionHandler): void {
    assert(this.#handler === undefined, 'a connection is started once')
    this.#handler = handler
    if (this.#closed) {
      process.nextTick(() => {
        handler.onClose()
      })
      return
    }
    this.#quiet.startReading(chunk => {
      if (!this.#ending) handler.onData(chunk)
    })
  }

  write(bytes: Uint8Array): void {
    if (this.#ending || this.#closed) return
    const socket = this.#socket
    // After the other side's end or an error the socket refuses; its close is on the way.
    if (!socket.writable) return
    // A system call for each answer is a large part of what an answer costs.
    if (socket.writableCorked === 0) {
      socket.cork()
      process.nextTick(this.#sendGathered)
    }
    socket.write(bytes, this.#onWritten)
    if (socket.writableLength > 0) this.#drainOwed = true
  }

  pauseReading(): void {
    if (!this.#ending) this.#socket.pause()
  }

  resumeReading(): void {
    if (!this.#ending) this.#socket.resume()
  }

  end(): void {
    if (this.#ending || this.#closed) return
    this.#ending = true
    const socket = this.#socket
    // Closing with unread input makes the system reset the connection, and what we sent last
    // could be lost: what still comes is read and dropped until the other side closes.
    socket.resume()
    socket.end(() => {
      if (socket.destroyed) return
      const timeout = setTimeout(() => {
        socket.destroy()
      }, LINGER_MS)
      socket.once('close', () => {
        clearTimeout(timeout)
      })
    })
  }

  destroy(): void {
    this.#ending = true
    this.#sendGathered()
    this.#socket.destroy()
  }
}

function letGo(socket: net.Socket): undefined {
  socket.on('error', () => undefined)
  socket.destroy()
}

function plainHost(host: string): string {
  return host.startsWith('::ffff:') ? host.slice('::ffff:'.length) : host
}
