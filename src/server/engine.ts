import type { Options } from '../core/config/index.ts'
import type { Platform } from '../core/platform/index.ts'
import {
  Broker,
  BrokerDueSink,
  ClientRegistry,
  ClockWatch,
  ConsumerOffsets,
  FORECAST_STEPS_MAX,
  GroupTable,
  KeyedMessages,
  listGate,
  MessagePut,
  PAGE_SIZE_MAX,
  PullService,
  QueueLocks,
  ScheduledBulk,
  ScheduledLists,
  ScheduledMessages,
  Statistics,
  TopicTable,
} from '../engine/broker/index.ts'
import { retryTarget, SendBack } from '../engine/consume/index.ts'
import { MessageIndex, Store, type StoreOptions } from '../engine/store/index.ts'
import { TimerStores } from '../engine/timer/index.ts'
import { parseDelayLevels, type SchedulePort } from '../model/schedule/index.ts'

/** What clients are told as the region, as Apache does. */
export const REGION_ID = 'DefaultRegion'

/** Room in a record beside the body: properties, topic, fixed fields, written with a margin. */
const RECORD_OVERHEAD_BYTES = 128 * 1024

/** Read in some 20 ms, in turns with other work. */
const LIST_STEP_BYTES = 16 * 1024 * 1024

/** Everything of a broker that needs no socket: store, timers, and what is done with messages. */
export interface Engine {
  readonly store: Store
  readonly timers: TimerStores
  readonly broker: Broker
  readonly sendBack: SendBack
  readonly scheduled: SchedulePort
  /** `undefined` when it is turned off. */
  readonly messageIndex: MessageIndex | undefined
  /** Delivers nothing more, writes everything out and gives the folder back. */
  stop(): Promise<void>
}

/**
 * Opens the data folder, recovers it and starts to deliver what is due. `storeHost` is our address
 * as records carry it.
 *
 * Errors: STORE_LOCKED, STORE_DAMAGED, STORE_FAILED, STORE_FULL, OPTION_INVALID
 */
export async function openEngine(
  options: Options,
  platform: Platform,
  storeHost: Buffer,
): Promise<Engine> {
  const store = await Store.open(storeOptions(options), platform)
  try {
    return await recoverEngine({ options, platform, storeHost, store })
  } catch (error) {
    await store.abandon()
    throw error
  }
}

interface EngineParts {
  readonly options: Options
  readonly platform: Platform
  readonly storeHost: Buffer
  readonly store: Store
}

async function recoverEngine(parts: EngineParts): Promise<Engine> {
  const { options, platform, storeHost, store } = parts
  const { clock, random } = platform
  const levelsMs = parseDelayLevels(options.messageDelayLevel)
  const tables = await openTables(parts, levelsMs.length)
  const { topics, groups, offsets } = tables
  const statistics = new Statistics(platform)
  const locks = new QueueLocks(clock)
  await store.findForeign()
  const messageIndex = await openMessageIndex(parts)
  const timers = await TimerStores.create(platform, timerOptions(options, levelsMs), {
    store,
    sink: new BrokerDueSink({ ...platform, store, topics, groups, statistics, storeHost }),
  })
  await store.recover(timerId => timers.notePublished(timerId))
  messageIndex?.start()
  const put = new MessagePut({
    store,
    topics,
    retry: { targetOf: send => retryTarget(send, { topics, groups, locks }) },
    statistics,
    clock,
    random,
    options: {
      clusterName: options.brokerClusterName,
      regionId: REGION_ID,
      bodyBytesMax: options.maxMessageSize,
      storeHost,
      delay: { delayMsMax: options.timer.delayMsMax, levelsMs },
    },
  })
  const broker = new Broker({
    topics,
    groups,
    offsets,
    clients: new ClientRegistry(platform),
    clockWatch: new ClockWatch(platform),
    locks,
    statistics,
    put,
    pulls: new PullService({ source: store, clock, timers: platform.timers }),
  })
  const sendBack = new SendBack({
    topics,
    groups,
    statistics,
    store,
    putter: put,
    clock,
    random,
    storeHost,
  })
  const { port: scheduled, bulk } = scheduling(parts, { timers, messageIndex, put }, levelsMs)
  await store.start()
  timers.start()
  broker.start()
  bulk.start()
  const stop = (): Promise<void> => stopEngine({ store, timers, broker }, bulk)
  return { store, timers, broker, sendBack, scheduled, messageIndex, stop }
}

async function stopEngine(
  parts: Pick<Engine, 'store' | 'timers' | 'broker'>,
  bulk: ScheduledBulk,
): Promise<void> {
  const { store, timers, broker } = parts
  store.prepareStop()
  try {
    await bulk.stop()
    await timers.stop()
    await broker.stop()
  } finally {
    await store.stop()
    await timers.close()
  }
}

async function openMessageIndex(parts: EngineParts): Promise<MessageIndex | undefined> {
  const { options, platform, store } = parts
  if (!options.messageIndexEnable) return undefined
  const index = await MessageIndex.open(platform, { directory: options.data }, store)
  index.join(store)
  return index
}

/** What users do with waiting messages: each thing where its rule is. */
function scheduling(
  { options, platform, storeHost, store }: EngineParts,
  {
    timers,
    messageIndex,
    put,
  }: Pick<Engine, 'timers' | 'messageIndex'> & { readonly put: MessagePut },
  levelsMs: readonly number[],
): { readonly port: SchedulePort; readonly bulk: ScheduledBulk } {
  const { clock } = platform
  const { brokerName } = options
  const { delayMsMax } = options.timer
  const gate = listGate()
  const messages = new ScheduledMessages({
    timers,
    store,
    clock,
    brokerName,
    storeHost,
    limits: { delayMsMax, levelsMs },
    index: messageIndex,
    gate,
  })
  const keyed = new KeyedMessages({ platform, timers, store, put, brokerName })
  const lists = new ScheduledLists({ timers, clock, brokerName, gate })
  const bulk = new ScheduledBulk({
    timers,
    store,
    platform,
    storeHost,
    delayMsMax,
    count: filter => lists.count(filter),
    shiftOne: (message, shiftMs) => messages.shift(message, shiftMs),
  })
  const port: SchedulePort = {
    cancel: ref => messages.cancel(ref),
    replaceByKey: (message, when) => keyed.replaceByKey(message, when),
    move: (ref, deliverTimeMs) => messages.move(ref, deliverTimeMs),
    find: ref => messages.find(ref),
    list: (filter, page) => lists.list(filter, page),
    count: filter => lists.count(filter),
    forecast: (filter, steps) => lists.forecast(filter, steps),
    changeAll: (filter, change, dryRun) => bulk.changeAll(filter, change, dryRun),
    limits: () => ({
      delayMsMax,
      levelsMs,
      pageSizeMax: PAGE_SIZE_MAX,
      forecastStepsMax: FORECAST_STEPS_MAX,
    }),
  }
  return { port, bulk }
}

async function openTables(
  parts: EngineParts,
  levelCount: number,
): Promise<{ topics: TopicTable; groups: GroupTable; offsets: ConsumerOffsets }> {
  const { options, platform } = parts
  const { hasMessages } = parts.store
  const directory = `${options.data}/config`
  const topics = await TopicTable.open(
    {
      directory,
      brokerName: options.brokerName,
      clusterName: options.brokerClusterName,
      autoCreate: options.autoCreateTopicEnable,
      defaultQueueCount: options.defaultTopicQueueNums,
      levelCount,
      hasMessages,
    },
    platform,
  )
  const groups = await GroupTable.open({ directory, autoCreate: true, hasMessages }, platform)
  const offsets = await ConsumerOffsets.open(directory, platform)
  return { topics, groups, offsets }
}

function storeOptions(options: Options): StoreOptions {
  return {
    directory: options.data,
    segmentBytes: options.log.segmentBytes,
    cacheBytes: options.log.cacheBytes,
    unappliedBytesMax: options.log.unappliedBytes,
    recordBytesMax: options.maxMessageSize + RECORD_OVERHEAD_BYTES,
    flush: options.flush,
    diskFreeBytesMin: options.diskFreeBytesMin,
    retentionMs: options.retention,
    checkpointIntervalMs: options.checkpointIntervalMs,
    checkpointBytes: options.checkpointBytes,
  }
}

function timerOptions(
  options: Options,
  levelsMs: readonly number[],
): Parameters<typeof TimerStores.create>[1] {
  return {
    directory: options.data,
    levelsMs,
    windowCountMax: options.window.messagesMax,
    windowBytesMax: options.window.bodyBytes,
    loadBytesMax: options.timer.loadBytes,
    overdueRateMax: options.timer.overdueRateMax,
    stagingBytesMax: options.timer.stagingBytes,
    // What is older than this may leave memory before the next look at it.
    logMemoryBytes: options.log.cacheBytes / 4,
    listStepBytes: LIST_STEP_BYTES,
  }
}
