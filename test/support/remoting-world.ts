import { BrokerError } from '../../src/core/base/index.ts'
import { SimulatedWorld } from '../../src/core/platform/simulated/index.ts'
import type { Connection, Platform } from '../../src/core/platform/index.ts'
import {
  Broker,
  ClientRegistry,
  ClockWatch,
  ConsumerOffsets,
  GroupTable,
  MessagePut,
  PullService,
  QueueLocks,
  Statistics,
  TopicTable,
  type PullLimits,
} from '../../src/engine/broker/index.ts'
import { retryTarget, SendBack } from '../../src/engine/consume/index.ts'
import { MessageIndex, Store } from '../../src/engine/store/index.ts'
import {
  OnceLog,
  RemotingDoor,
  type MemoryLimits,
  type Processor,
  type ServerLimits,
} from '../../src/doors/remoting/index.ts'
import { OpenAccess, type Access } from '../../src/model/access/index.ts'
import { encodeHost, storeHostHex } from '../../src/model/message/index.ts'
import { DEFAULT_DELAY_LEVELS, parseDelayLevels } from '../../src/model/schedule/index.ts'
import type { SchedulePort } from '../../src/model/schedule/index.ts'
import {
  decodeHeader,
  encodeFrame,
  FrameDecoder,
  FrameView,
  type Header,
  type HeaderFields,
  type SerializeType,
} from '../../src/model/wire/index.ts'

const MIB = 1_048_576
export const BROKER_PORT = 10_911
export const FAST_PORT = 10_909
export const STORE_HOST: Buffer = encodeHost('127.0.0.1', BROKER_PORT)
const LEVELS_MS = parseDelayLevels(DEFAULT_DELAY_LEVELS)

export interface RemotingWorldOptions {
  readonly seed?: number
  readonly access?: Access
  readonly autoCreate?: boolean
  readonly bodyBytesMax?: number
  readonly processors?: readonly Processor[]
  readonly serverLimits?: ServerLimits
  readonly memoryLimits?: MemoryLimits
  readonly pullLimits?: PullLimits
  readonly scheduled?: SchedulePort
  /** False: the door is told of none. */
  readonly hasIndex?: boolean
}

const NOBODY_WAITS: SchedulePort = {
  cancel: () => Promise.resolve('unknown'),
  replaceByKey: () => Promise.reject(new BrokerError('SHUTTING_DOWN')),
  move: () => Promise.resolve({ kind: 'unknown' }),
  find: () => Promise.resolve(undefined),
  list: () => Promise.resolve({ messages: [], nextCursor: undefined }),
  count: () => Promise.resolve(0),
  forecast: () => Promise.resolve({ counts: [], estimatedCount: 0 }),
  changeAll: () => Promise.resolve({ changedCount: 0, refusedCount: 0 }),
  limits: () => ({ delayMsMax: 0, levelsMs: [], pageSizeMax: 0, forecastStepsMax: 0 }),
}

/** A broker without timers behind its real door, on a simulated disk, clock and network. */
export class RemotingWorld {
  readonly world: SimulatedWorld
  readonly store: Store
  readonly broker: Broker
  readonly door: RemotingDoor

  private constructor(parts: {
    world: SimulatedWorld
    store: Store
    broker: Broker
    door: RemotingDoor
  }) {
    this.world = parts.world
    this.store = parts.store
    this.broker = parts.broker
    this.door = parts.door
  }

  static async open(options: RemotingWorldOptions = {}): Promise<RemotingWorld> {
    const world = new SimulatedWorld({ seed: options.seed ?? 1 })
    return RemotingWorld.reopen(world, options)
  }

  /** Starts a broker again on the disk of a world whose process has died. */
  static reopen(world: SimulatedWorld, options: RemotingWorldOptions = {}): Promise<RemotingWorld> {
    return world.finish(RemotingWorld.#build(world, options))
  }

  static async #build(
    world: SimulatedWorld,
    options: RemotingWorldOptions,
  ): Promise<RemotingWorld> {
    const { platform } = world
    const { store, messageIndex } = await openStore(platform)
    const broker = await openBroker(platform, store, options)
    const { topics, groups, offsets, clients, locks, statistics, put, pulls } = broker
    const { clock, log, random, network, timers } = platform
    const sendBack = new SendBack({
      topics,
      groups,
      statistics,
      store,
      putter: put,
      clock,
      random,
      storeHost: STORE_HOST,
    })
    const identity = {
      brokerName: 'broker-a',
      clusterName: 'cluster-a',
      versionText: 'test',
      settingsText: '',
    }
    const tables = { topics, groups, offsets, clients, locks, statistics }
    const door = new RemotingDoor({
      network,
      clock,
      timers,
      log,
      access: options.access ?? new OpenAccess(),
      context: {
        clock,
        log,
        store,
        ...tables,
        sendBack,
        scheduled: options.scheduled ?? NOBODY_WAITS,
        messageIndex: options.hasIndex === false ? undefined : messageIndex,
        identity,
        diskSpace: () => platform.files.space('/data'),
        waiting: { waitingCount: 5, parkedCount: 3, lostCount: 2 },
        clockSteps: broker.clockWatch,
        onceLog: new OnceLog(log),
      },
      put,
      pulls,
      processors: options.processors ?? [],
      regionId: 'DefaultRegion',
      storeHostHex: storeHostHex(STORE_HOST),
      ...(options.serverLimits === undefined ? {} : { serverLimits: options.serverLimits }),
      ...(options.memoryLimits === undefined ? {} : { memoryLimits: options.memoryLimits }),
    })
    await door.start({
      broker: { host: '127.0.0.1', port: BROKER_PORT },
      fast: { host: '127.0.0.1', port: FAST_PORT },
    })
    return new RemotingWorld({ world, store, broker, door })
  }

  async connect(port: number = BROKER_PORT): Promise<WireClient> {
    const { network } = this.world.outside
    const socket = await this.world.finish(
      network.connect({ host: '127.0.0.1', port, timeoutMs: 1000 }),
    )
    return new WireClient(socket, this.world)
  }
}

async function openStore(
  platform: Platform,
): Promise<{ readonly store: Store; readonly messageIndex: MessageIndex }> {
  await platform.files.makeDirectory('/data')
  await platform.files.syncDirectory('/')
  const store = await Store.open(
    {
      directory: '/data',
      segmentBytes: 64 * MIB,
      cacheBytes: 32 * MIB,
      unappliedBytesMax: 8 * MIB,
      recordBytesMax: 5 * MIB,
      flush: 'sync',
      diskFreeBytesMin: 0,
      retentionMs: 72 * 3_600_000,
      checkpointIntervalMs: 5000,
      checkpointBytes: 256 * MIB,
    },
    platform,
  )
  await store.findForeign()
  const messageIndex = await MessageIndex.open(platform, { directory: '/data' }, store)
  messageIndex.join(store)
  await store.recover(() => undefined)
  messageIndex.start()
  return { store, messageIndex }
}

async function openBroker(
  platform: Platform,
  store: Store,
  options: RemotingWorldOptions,
): Promise<Broker> {
  const directory = '/data/config'
  const autoCreate = options.autoCreate ?? true
  const names = { brokerName: 'broker-a', clusterName: 'cluster-a' }
  const levelCount = LEVELS_MS.length
  const topics = await TopicTable.open(
    { directory, ...names, autoCreate, defaultQueueCount: 8, levelCount, hasMessages: false },
    platform,
  )
  const groups = await GroupTable.open({ directory, autoCreate, hasMessages: false }, platform)
  const locks = new QueueLocks(platform.clock)
  const statistics = new Statistics(platform)
  const put = new MessagePut({
    store,
    topics,
    retry: { targetOf: send => retryTarget(send, { topics, groups, locks }) },
    statistics,
    clock: platform.clock,
    random: platform.random,
    options: {
      clusterName: names.clusterName,
      regionId: 'DefaultRegion',
      bodyBytesMax: options.bodyBytesMax ?? 4 * MIB,
      storeHost: STORE_HOST,
      delay: { delayMsMax: 30 * 86_400_000, levelsMs: LEVELS_MS },
    },
  })
  const { clock, timers } = platform
  const pullLimits = options.pullLimits === undefined ? {} : { limits: options.pullLimits }
  return new Broker({
    topics,
    groups,
    offsets: await ConsumerOffsets.open(directory, platform),
    clients: new ClientRegistry(platform),
    clockWatch: new ClockWatch(platform),
    locks,
    statistics,
    put,
    pulls: new PullService({ source: store, clock, timers, ...pullLimits }),
  })
}

/** A frame that came in. */
export interface WireFrame {
  readonly header: Header
  readonly body: Buffer
}

/** Sends frames, also wrong ones, and keeps what comes back. */
export class WireClient {
  readonly received: WireFrame[] = []
  isClosed = false
  readonly #socket: Connection
  readonly #world: SimulatedWorld
  readonly #decoder = new FrameDecoder()
  readonly #frame = new FrameView()
  #nextOpaque = 1

  constructor(socket: Connection, world: SimulatedWorld) {
    this.#socket = socket
    this.#world = world
    socket.start({
      onData: chunk => {
        this.#take(chunk)
      },
      onDrain: () => undefined,
      onClose: () => {
        this.isClosed = true
      },
    })
  }

  write(bytes: Buffer): void {
    this.#socket.write(bytes)
  }

  pauseReading(): void {
    this.#socket.pauseReading()
  }

  resumeReading(): void {
    this.#socket.resumeReading()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** Sends a request and returns its opaque. */
  send(
    request: Partial<HeaderFields> & { readonly code: number },
    body?: Buffer,
    serializeType: SerializeType = 0,
  ): number {
    const opaque = request.opaque ?? this.#nextOpaque++
    this.write(encodeFrame({ flag: 0, ...request, opaque }, body, serializeType))
    return opaque
  }

  answerTo(opaque: number): WireFrame | undefined {
    return this.received.find(({ header }) => header.opaque === opaque)
  }

  /** Sends a request and waits for its answer, or for the end of the connection: undefined. */
  async ask(
    request: Partial<HeaderFields> & { readonly code: number },
    body?: Buffer,
    serializeType: SerializeType = 0,
  ): Promise<WireFrame | undefined> {
    const opaque = this.send(request, body, serializeType)
    await this.#world.run(() => this.isClosed || this.answerTo(opaque) !== undefined)
    return this.answerTo(opaque)
  }

  async untilClosed(): Promise<boolean> {
    return this.#world.run(() => this.isClosed)
  }

  #take(chunk: Buffer): void {
    this.#decoder.push(chunk)
    while (this.#decoder.next(this.#frame)) {
      this.received.push({ header: decodeHeader(this.#frame), body: this.#frame.copyBody() })
    }
  }
}

/** Custom fields of SEND_MESSAGE_V2 (310) and SEND_BATCH_MESSAGE (320). */
export function sendFields(
  topic: string,
  properties: Readonly<Record<string, string>> = {},
  more: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const encoded = Object.entries(properties).map(([name, value]) => `${name}\u0001${value}\u0002`)
  return {
    a: 'producers',
    b: topic,
    c: 'TBW102',
    d: '4',
    e: '0',
    f: '0',
    g: '1767225600000',
    h: '0',
    i: encoded.join(''),
    j: '0',
    k: 'false',
    m: 'false',
    ...more,
  }
}

/** Custom fields of PULL_MESSAGE (11): waits, with the subscription in the request. */
export function pullFields(
  topic: string,
  more: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return {
    consumerGroup: 'group-a',
    topic,
    queueId: '0',
    queueOffset: '0',
    maxMsgNums: '32',
    sysFlag: '6',
    commitOffset: '0',
    suspendTimeoutMillis: '15000',
    subscription: '*',
    subVersion: '0',
    expressionType: 'TAG',
    ...more,
  }
}
