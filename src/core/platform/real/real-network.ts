import net from 'node:net'
import { BrokerError } from '../../base/index.ts'
import type { Log } from '../log.ts'
import type { ConnectAddress, Connection, ListenAddress, Listener, Network } from '../network.ts'
import { RealConnection } from './real-connection.ts'
import { SocketReads } from './socket-reads.ts'
import { reasonOf } from './system-error.ts'

const BACKLOG_COUNT = 1024
const KEEP_ALIVE_MS = 60_000
const SOCKET_OPTIONS = { noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS }

/** TCP of the system. */
export class RealNetwork implements Network {
  readonly #log: Log
  readonly #reads = new SocketReads()

  constructor(log: Log) {
    this.#log = log
  }

  listen(
    address: ListenAddress,
    onConnection: (connection: Connection) => void,
  ): Promise<Listener> {
    const { host, port } = address
    const server = net.createServer({ ...SOCKET_OPTIONS, pauseOnConnect: true }, accepted => {
      const connection = RealConnection.over(this.#reads.adopt(accepted))
      if (connection !== undefined) onConnection(connection)
    })
    return new Promise((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => {
        const code = error.code === 'EADDRINUSE' ? 'ADDRESS_IN_USE' : 'LISTEN_FAILED'
        reject(new BrokerError(code, { host, port, reason: reasonOf(error) }, error))
      })
      server.listen({ host, port, backlog: BACKLOG_COUNT }, () => {
        server.removeAllListeners('error')
        server.on('error', error => {
          this.#log.error('a listener failed', error, { host, port })
        })
        resolve(new RealListener(server, host, port))
      })
    })
  }

  connect(address: ConnectAddress): Promise<Connection> {
    const { host, port, timeoutMs } = address
    return new Promise((resolve, reject) => {
      const quiet = this.#reads.connect({ ...SOCKET_OPTIONS, host, port })
      const { socket } = quiet
      const fail = (reason: string, cause?: unknown): void => {
        clearTimeout(timeout)
        socket.destroy()
        reject(new BrokerError('CONNECT_FAILED', { host, port, reason }, cause))
      }
      const onError = (error: NodeJS.ErrnoException): void => {
        fail(reasonOf(error), error)
      }
      const timeout = setTimeout(() => {
        fail(`no answer within ${timeoutMs} ms`)
      }, timeoutMs)
      socket.on('error', onError)
      socket.once('connect', () => {
        clearTimeout(timeout)
        socket.off('error', onError)
        const connection = RealConnection.over(quiet)
        if (connection === undefined) fail('the server closed the connection')
        else resolve(connection)
      })
    })
  }
}

class RealListener implements Listener {
  readonly host: string
  readonly port: number
  readonly #server: net.Server

  constructor(server: net.Server, host: string, askedPort: number) {
    const address = server.address()
    this.host = host
    this.port = address !== null && typeof address === 'object' ? address.port : askedPort
    this.#server = server
  }

  close(): Promise<void> {
    // Its call back would wait for the last connection; the address is free before.
    this.#server.close()
    return new Promise(resolve => {
      setImmediate(resolve)
    })
  }
}
