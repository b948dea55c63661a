import type { BrokerError } from '../core/base/index.ts'
import type { Options } from '../core/config/index.ts'
import type { Platform } from '../core/platform/index.ts'
import { NameServer } from '../doors/nameserver/index.ts'
import {
  FramedServer,
  MEMORY_LIMITS,
  MemoryBudget,
  OnceLog,
  RemotingDoor,
  RequestFrames,
  SERVER_LIMITS,
  servedProcessors,
  settingsText,
  type DoorContext,
} from '../doors/remoting/index.ts'
import { OpenAccess } from '../model/access/index.ts'
import { encodeHost, storeHostHex } from '../model/message/index.ts'
import { type Engine, openEngine, REGION_ID } from './engine.ts'

/** Distance of the port for old clients below the broker's, as RocketMQ has it. */
const FAST_PORT_DISTANCE = 2

export interface RunningServer {
  /** `host:port` of each door. */
  readonly addresses: {
    readonly nameserver: string
    readonly remoting: string
    readonly fastRemoting?: string
  }
  readonly dataDirectory: string
  /** Resolves when the disk has failed: nothing is accepted any more and the process should end. */
  readonly failed: Promise<BrokerError>
  /** Takes in nothing more, answers what is open, writes everything out. Once. */
  stop(): Promise<void>
}

/**
 * Starts a whole broker: engine, remoting door and name server, in this order.
 *
 * Errors: ADDRESS_IN_USE, LISTEN_FAILED, STORE_LOCKED, STORE_DAMAGED, STORE_FAILED, STORE_FULL,
 * OPTION_INVALID
 */
export async function startServer(
  options: Options,
  platform: Platform,
  versionText = '',
): Promise<RunningServer> {
  const address = await freeAddress(platform, options)
  const storeHost = encodeHost(...recordAddress(options, address))
  const engine = await openEngine(options, platform, storeHost)
  try {
    return await openDoors({ options, platform, engine, storeHost, address, versionText })
  } catch (error) {
    await engine.stop()
    throw error
  }
}

interface Address {
  readonly host: string
  readonly port: number
}

interface DoorParts {
  readonly options: Options
  readonly platform: Platform
  readonly engine: Engine
  readonly storeHost: Buffer
  readonly address: Address
  readonly versionText: string
}

/** Finds the broker's address before any file is touched: records carry it. */
async function freeAddress(platform: Platform, options: Options): Promise<Address> {
  const asked = { host: options.host, port: options.remotingPort }
  const listener = await platform.network.listen(asked, connection => connection.destroy())
  const found = { host: listener.host, port: listener.port }
  await listener.close()
  return found
}

/** What records and message ids name as our address: tools connect to it. */
function recordAddress(options: Options, address: Address): [host: string, port: number] {
  const advertised = /^\[?(.+?)\]?:(\d+)$/.exec(options.advertise)
  const [, host = '', port] = advertised ?? []
  const isNumeric = /^[\d.]+$|:/.test(host)
  if (isNumeric) return [host, Number(port)]
  const isEverywhere = address.host === '0.0.0.0' || address.host === '::'
  return [isEverywhere ? '127.0.0.1' : address.host, address.port]
}

async function openDoors(parts: DoorParts): Promise<RunningServer> {
  const { options, platform, engine, address } = parts
  const { store, broker } = engine
  const access = new OpenAccess()
  const door = new RemotingDoor({
    network: platform.network,
    clock: platform.clock,
    timers: platform.timers,
    log: platform.log,
    access,
    context: doorContext(parts),
    put: broker.put,
    pulls: broker.pulls,
    processors: servedProcessors,
    regionId: REGION_ID,
    storeHostHex: storeHostHex(parts.storeHost),
  })
  const hasFast = options.remoting.fastPort && options.remotingPort > FAST_PORT_DISTANCE
  const remoting = await door.start({
    broker: address,
    fast: hasFast ? { ...address, port: address.port - FAST_PORT_DISTANCE } : undefined,
  })
  const nameServer = nameServerDoor(parts)
  const nameserver = await nameServer
    .listen({ host: options.host, port: options.nameserverPort })
    .catch(async (error: unknown) => {
      await door.stop()
      throw error
    })
  return {
    addresses: {
      nameserver: textOf(nameserver),
      remoting: textOf(remoting.broker),
      ...(remoting.fast === undefined ? {} : { fastRemoting: textOf(remoting.fast) }),
    },
    dataDirectory: options.data,
    failed: new Promise(resolve => {
      // It may have failed before anybody listened.
      if (store.failure === undefined) store.onFailed(resolve)
      else resolve(store.failure)
    }),
    stop: async () => {
      // Together: each may take its two seconds, and the engine needs time to write everything out.
      await Promise.all([nameServer.stop(), door.stop()])
      await engine.stop()
    },
  }
}

function doorContext(parts: DoorParts): DoorContext {
  const { options, platform, engine } = parts
  const { store, timers, broker, sendBack, scheduled, messageIndex } = engine
  return {
    clock: platform.clock,
    log: platform.log,
    store,
    topics: broker.topics,
    groups: broker.groups,
    offsets: broker.offsets,
    clients: broker.clients,
    locks: broker.locks,
    statistics: broker.statistics,
    sendBack,
    scheduled,
    messageIndex,
    identity: {
      brokerName: options.brokerName,
      clusterName: options.brokerClusterName,
      versionText: parts.versionText,
      settingsText: settingsText(options),
    },
    diskSpace: () => platform.files.space(options.data),
    waiting: {
      get waitingCount(): number {
        return timers.statistics().waitingCount
      },
      get parkedCount(): number {
        return timers.statistics().parkedCount
      },
      get lostCount(): number {
        return timers.statistics().lostCount
      },
    },
    clockSteps: broker.clockWatch,
    onceLog: new OnceLog(platform.log),
  }
}

function nameServerDoor(parts: DoorParts): FramedServer {
  const { options, platform, engine, address } = parts
  const nameServer = new NameServer({
    topics: engine.broker.topics,
    access: new OpenAccess(),
    log: platform.log,
    brokerName: options.brokerName,
    clusterName: options.brokerClusterName,
    brokerPort: address.port,
    advertisedAddress: options.advertise === '' ? undefined : options.advertise,
  })
  return new FramedServer({
    network: platform.network,
    clock: platform.clock,
    timers: platform.timers,
    log: platform.log,
    budget: new MemoryBudget(MEMORY_LIMITS),
    handler: new RequestFrames(request => nameServer.answer(request), platform.log),
    limits: SERVER_LIMITS,
  })
}

function textOf(address: Address): string {
  const host = address.host.includes(':') ? `[${address.host}]` : address.host
  return `${host}:${address.port}`
}
