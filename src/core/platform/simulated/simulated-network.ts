import { BrokerError } from '../../base/index.ts'
import type { ConnectAddress, Connection, ListenAddress, Listener, Network } from '../network.ts'
import type { Faults } from './faults.ts'
import type { SeededRandom } from './seeded-random.ts'
import { SimulatedConnection } from './simulated-connection.ts'
import type { SimulatedProcess } from './simulated-process.ts'

interface Listening {
  readonly process: SimulatedProcess
  readonly onConnection: (connection: Connection) => void
}

const EPHEMERAL_PORT_MIN = 40_000
const PORT_MAX = 65_535
const LOOPBACK = '127.0.0.1'

/** The wires between all processes of a world, which share one host. */
export class WorldNetwork {
  readonly #random: SeededRandom
  readonly #faults: Faults
  readonly #listening = new Map<number, Listening>()
  readonly #connections = new Set<SimulatedConnection>()
  #nextPort = EPHEMERAL_PORT_MIN

  constructor(random: SeededRandom, faults: Faults) {
    this.#random = random
    this.#faults = faults
  }

  /** Open ends of connections; two for each connection. */
  get openCount(): number {
    return this.#connections.size
  }

  /** Cuts one open connection, chosen by the seed; false when there is none. */
  cutOne(): boolean {
    if (this.#connections.size === 0) return false
    this.#random.pick([...this.#connections]).cut()
    return true
  }

  listen(address: ListenAddress, listening: Listening): number {
    const port = address.port === 0 ? this.#freePort() : address.port
    if (this.#listening.get(port)?.process.alive === true) {
      throw new BrokerError('ADDRESS_IN_USE', { host: address.host, port, reason: 'EADDRINUSE' })
    }
    this.#listening.set(port, listening)
    return port
  }

  unlisten(port: number, listening: Listening): void {
    if (this.#listening.get(port) === listening) this.#listening.delete(port)
  }

  /** Makes both ends and hands the far one to the listener. */
  connect(process: SimulatedProcess, address: ConnectAddress): Connection {
    const { host, port } = address
    const listening = this.#listening.get(port)
    if (listening === undefined || !listening.process.alive) {
      throw new BrokerError('CONNECT_FAILED', { host, port, reason: 'ECONNREFUSED' })
    }
    const near = { host: LOOPBACK, port: this.#freePort() }
    const far = { host: LOOPBACK, port }
    const onGone = (gone: SimulatedConnection): void => {
      this.#connections.delete(gone)
    }
    const shared = { random: this.#random, faults: this.#faults, onGone }
    const nearEnd = new SimulatedConnection({ ...shared, process, local: near, remote: far })
    const farProcess = listening.process
    const farEnd = new SimulatedConnection({
      ...shared,
      process: farProcess,
      local: far,
      remote: near,
    })
    SimulatedConnection.join(nearEnd, farEnd)
    this.#connections.add(nearEnd).add(farEnd)
    farProcess.schedule(0, () => {
      listening.onConnection(farEnd)
    })
    return nearEnd
  }

  processDied(process: SimulatedProcess): void {
    for (const connection of this.#connections) {
      if (connection.process === process) connection.vanish()
    }
  }

  delayMs(): number {
    return 0.05 + 0.5 * this.#random.fraction() ** 2
  }

  #freePort(): number {
    do {
      this.#nextPort = this.#nextPort < PORT_MAX ? this.#nextPort + 1 : EPHEMERAL_PORT_MIN
    } while (this.#listening.has(this.#nextPort))
    return this.#nextPort
  }
}

/** The network as one process sees it. */
export class SimulatedNetwork implements Network {
  readonly #world: WorldNetwork
  readonly #process: SimulatedProcess

  constructor(world: WorldNetwork, process: SimulatedProcess) {
    this.#world = world
    this.#process = process
    process.onDeath(() => {
      world.processDied(process)
    })
  }

  listen(
    address: ListenAddress,
    onConnection: (connection: Connection) => void,
  ): Promise<Listener> {
    return this.#later(() => {
      const listening = { process: this.#process, onConnection }
      const port = this.#world.listen(address, listening)
      const close = (): Promise<void> => {
        this.#world.unlisten(port, listening)
        return this.#later(() => undefined)
      }
      return { host: address.host, port, close }
    })
  }

  connect(address: ConnectAddress): Promise<Connection> {
    return this.#later(() => this.#world.connect(this.#process, address))
  }

  #later<T>(action: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#process.schedule(this.#world.delayMs(), () => {
        try {
          resolve(action())
        } catch (error) {
          if (error instanceof BrokerError) reject(error)
          else throw error
        }
      })
    })
  }
}
