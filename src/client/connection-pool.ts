import { BrokerError } from '../core/base/index.ts'
import { parseHostPort } from './host-port.ts'
import {
  type ClientPlatform,
  type NoticeHandler,
  RemotingConnection,
} from './remoting-connection.ts'

const CONNECT_TIMEOUT_MS = 3_000

export interface ConnectionPoolOptions {
  readonly platform: ClientPlatform
  readonly onNotice: NoticeHandler
  /** Runs on every new connection before anybody else gets it; its failure is a failed connect. */
  readonly greet: (connection: RemotingConnection) => Promise<void>
}

/** One connection for each address, made when it is asked for and again after it was lost. */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions
  readonly #connections = new Map<string, Promise<RemotingConnection>>()
  readonly #ready = new Map<string, RemotingConnection>()
  #closed = false

  constructor(options: ConnectionPoolOptions) {
    this.#options = options
  }

  /** The connection that is there, without waiting. */
  ready(address: string): RemotingConnection | undefined {
    const connection = this.#ready.get(address)
    return connection === undefined || connection.closed ? undefined : connection
  }

  /** All that are open. */
  all(): readonly RemotingConnection[] {
    return Array.from(this.#ready.values()).filter(connection => !connection.closed)
  }

  /** Errors: CONNECT_FAILED, SHUTTING_DOWN after `close`, and those of `greet`. */
  get(address: string): Promise<RemotingConnection> {
    const ready = this.ready(address)
    if (ready !== undefined) return Promise.resolve(ready)
    const pending = this.#connections.get(address)
    if (pending !== undefined) return pending
    const opening = this.#open(address).finally(() => {
      this.#connections.delete(address)
    })
    this.#connections.set(address, opening)
    return opening
  }

  close(): void {
    this.#closed = true
    for (const connection of this.#ready.values()) connection.close()
    this.#ready.clear()
  }

  async #open(address: string): Promise<RemotingConnection> {
    if (this.#closed) throw new BrokerError('SHUTTING_DOWN')
    const { platform, onNotice, greet } = this.#options
    const target = { ...parseHostPort(address), timeoutMs: CONNECT_TIMEOUT_MS }
    const raw = await platform.network.connect(target)
    const connection = new RemotingConnection(raw, platform, onNotice)
    try {
      await greet(connection)
    } catch (error) {
      connection.close()
      throw error
    }
    // `close` may have been called while we waited.
    if (this.#closed) {
      connection.close()
      throw new BrokerError('SHUTTING_DOWN')
    }
    this.#ready.set(address, connection)
    return connection
  }
}
