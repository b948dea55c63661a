/**
 * TCP. Errors are `BrokerError`: of `listen` `ADDRESS_IN_USE` or `LISTEN_FAILED`, of `connect`
 * `CONNECT_FAILED`.
 */
export interface Network {
  listen(address: ListenAddress, onConnection: (connection: Connection) => void): Promise<Listener>
  connect(address: ConnectAddress): Promise<Connection>
}

export interface ListenAddress {
  readonly host: string
  /** 0 takes any free port; the listener tells which. */
  readonly port: number
}

export interface ConnectAddress {
  readonly host: string
  readonly port: number
  readonly timeoutMs: number
}

export interface Listener {
  readonly host: string
  readonly port: number
  /** Stops accepting; connections stay open until they are closed. */
  close(): Promise<void>
}

export interface ConnectionHandler {
  /** The chunk is valid during the call only: copy what is kept. */
  onData(chunk: Buffer): void
  /** `unsentBytes` was above 0 after a write and is 0 again. */
  onDrain(): void
  /** Called once, for whatever reason; nothing follows it. */
  onClose(): void
}

export interface Connection {
  /** Numbers as text, IPv4 written as IPv4 (no `::ffff:`). */
  readonly remoteHost: string
  readonly remotePort: number
  readonly localHost: string
  readonly localPort: number
  /** Bytes written and not yet handed to the system. */
  readonly unsentBytes: number
  /** Data flows from here on. Called once. */
  start(handler: ConnectionHandler): void
  /**
   * Never blocks: what is written in one turn of the event loop is sent at its end, in one piece,
   * and what cannot be sent then is kept: watch `unsentBytes`. The bytes must not change.
   */
  write(bytes: Uint8Array): void
  pauseReading(): void
  resumeReading(): void
  /** Sends what was written, then closes. No data is handed over from here on. */
  end(): void
  /** Closes at once; unsent bytes are lost. */
  destroy(): void
}
