import type {
  Clock,
  Connection,
  ListenAddress,
  Listener,
  Log,
  Network,
  Timer,
  Timers,
} from '../../core/platform/index.ts'
import { FrameView } from '../../model/wire/index.ts'
import { RemotingConnection, type FrameHandler } from './connection.ts'
import type { MemoryBudget } from './memory-budget.ts'
import { SparseLog } from './sparse-log.ts'

const SWEEP_MS = 10_000
/** How long open requests may take once the server stops, in milliseconds. */
const STOP_MS = 2_000

export interface ServerLimits {
  /** Further connections are closed at once. */
  readonly connectionCountMax: number
  /** A connection without any traffic for so long is closed. */
  readonly idleMsMax: number
}

export const SERVER_LIMITS: ServerLimits = { connectionCountMax: 20_000, idleMsMax: 120_000 }

export interface ServerParts {
  readonly network: Network
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Log
  readonly budget: MemoryBudget
  readonly handler: FrameHandler
  readonly limits: ServerLimits
}

/** One listening port that speaks in frames, and its connections. */
export class FramedServer {
  readonly #parts: ServerParts
  readonly #connections = new Set<RemotingConnection>()
  readonly #frame = new FrameView()
  readonly #closings: SparseLog
  #listener: Listener | undefined
  #sweep: Timer | undefined
  #isStopping = false
  #isRefusing = false
  #onEmpty: (() => void) | undefined

  constructor(parts: ServerParts) {
    this.#parts = parts
    this.#closings = new SparseLog(parts.log, parts.clock)
  }

  get connectionCount(): number {
    return this.#connections.size
  }

  /** Resolves to the address in use. Rejects with `ADDRESS_IN_USE` or `LISTEN_FAILED`. */
  async listen(address: ListenAddress): Promise<ListenAddress> {
    const listener = await this.#parts.network.listen(address, socket => {
      this.#accept(socket)
    })
    this.#listener = listener
    this.#sweepLater()
    return { host: listener.host, port: listener.port }
  }

  /**
   * Accepts nothing more, lets open requests be answered and closes every connection; what is
   * still open after 2 s of uptime is cut.
   */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#sweep?.cancel()
    await this.#listener?.close()
    if (this.#connections.size === 0) return
    await new Promise<void>(resolve => {
      const timer = this.#parts.timers.after(STOP_MS, () => {
        for (const connection of this.#connections) connection.destroy()
      })
      this.#onEmpty = () => {
        timer.cancel()
        resolve()
      }
      for (const connection of this.#connections) connection.finish()
    })
  }

  #accept(socket: Connection): void {
    const { limits, clock, timers, budget, handler } = this.#parts
    if (this.#isStopping || this.#connections.size >= limits.connectionCountMax) {
      this.#refuse(socket)
      return
    }
    this.#isRefusing = false
    const connection = new RemotingConnection({
      socket,
      clock,
      timers,
      closings: this.#closings,
      budget,
      handler,
      frame: this.#frame,
      onClosed: closed => {
        this.#connections.delete(closed)
        if (this.#connections.size === 0) this.#onEmpty?.()
      },
    })
    this.#connections.add(connection)
    connection.start()
  }

  /** Says so once for a whole run of refusals: the log must not become the next thing to fill. */
  #refuse(socket: Connection): void {
    if (!this.#isRefusing && !this.#isStopping) {
      this.#isRefusing = true
      const { connectionCountMax } = this.#parts.limits
      this.#parts.log.warn('too many connections: further ones are closed at once', {
        connectionCountMax,
        remoteHost: socket.remoteHost,
      })
    }
    socket.destroy()
  }

  #sweepLater(): void {
    const { timers, clock, limits } = this.#parts
    this.#sweep = timers.after(SWEEP_MS, () => {
      const uptimeMs = clock.uptimeMs()
      for (const connection of this.#connections) {
        connection.sweep(uptimeMs, limits.idleMsMax)
      }
      this.#sweepLater()
    })
  }
}
