import { recordStoreTimeMs } from '../../../model/message/index.ts'
import {
  encodeKvTable,
  REQUEST_CODE,
  RESPONSE_CODE,
  WIRE_VERSION,
} from '../../../model/wire/index.ts'
import type { Counters, Rates, Statistics } from '../../../engine/broker/index.ts'
import type { DoorContext, Processor } from '../processor.ts'

type Entry = readonly [name: string, value: string]

/** How long an answer is given again: it takes two calls on the disk, and tools ask in series. */
const KEPT_MS = 100

interface KeptBody {
  readonly body: Promise<Buffer>
  readonly madeUptimeMs: number
}

const keptBodies = new WeakMap<DoorContext, KeptBody>()

/**
 * GET_BROKER_RUNTIME_INFO (28): the broker's state and counts, under the names that RocketMQ's
 * tools print, and our own, which begin with `orrery`. Made anew when 100 ms have passed.
 *
 * Request   nothing
 * Response  body KVTable
 */
export const getBrokerRuntimeInfo: Processor = {
  code: REQUEST_CODE.GET_BROKER_RUNTIME_INFO,
  name: 'GET_BROKER_RUNTIME_INFO',
  action: 'read',
  resources: () => [],
  async handle(_request, context) {
    return { code: RESPONSE_CODE.SUCCESS, body: await bodyOf(context) }
  },
}

function bodyOf(context: DoorContext): Promise<Buffer> {
  const uptimeMs = context.clock.uptimeMs()
  const kept = keptBodies.get(context)
  if (kept !== undefined && uptimeMs - kept.madeUptimeMs < KEPT_MS) return kept.body
  const body = makeBody(context)
  keptBodies.set(context, { body, madeUptimeMs: uptimeMs })
  return body
}

async function makeBody(context: DoorContext): Promise<Buffer> {
  return encodeKvTable([
    ...generalEntries(context),
    ...messageEntries(context),
    ...(await storeEntries(context)),
    ...timerEntries(context),
    ...foreignEntries(),
  ])
}

function generalEntries(context: DoorContext): readonly Entry[] {
  const { identity, statistics, clients, clock, clockSteps } = context
  return [
    ['brokerVersion', String(WIRE_VERSION)],
    ['brokerVersionDesc', identity.versionText],
    ['brokerActive', 'true'],
    ['bootTimestamp', String(statistics.startTimeMs)],
    ['runtime', durationText(clock.uptimeMs() - statistics.startUptimeMs)],
    ['orreryClients', String(clients.clientCount)],
    ['orreryClockStepsForward', String(clockSteps.forwardCount)],
    ['orreryClockStepsBack', String(clockSteps.backCount)],
  ]
}

function messageEntries({ statistics }: DoorContext): readonly Entry[] {
  const { broker } = statistics
  const averageBytes = broker.putCount === 0 ? 0 : broker.putBytes / broker.putCount
  const found = statistics.rates('getFoundCount')
  const missed = statistics.rates('getMissCount')
  const total: Rates = [found[0] + missed[0], found[1] + missed[1], found[2] + missed[2]]
  return [
    ['putTps', ratesText(statistics.rates('putCount'))],
    ['getTransferredTps', ratesText(statistics.rates('getCount'))],
    ['getFoundTps', ratesText(found)],
    ['getMissTps', ratesText(missed)],
    ['getTotalTps', ratesText(total)],
    ...totalEntries('msgPutTotal', 'putCount', statistics),
    ...totalEntries('msgGetTotal', 'getCount', statistics),
    ['putMessageTimesTotal', String(broker.putCount)],
    ['putMessageSizeTotal', String(broker.putBytes)],
    ['putMessageAverageSize', averageBytes.toFixed(1)],
    ['orrerySentBackMessages', String(broker.sentBackCount)],
    ['orreryLateDroppedMessages', String(broker.lateDroppedCount)],
    ['orreryLateDeadLetterMessages', String(broker.lateDeadLetterCount)],
  ]
}

function totalEntries(
  prefix: string,
  counter: keyof Counters,
  statistics: Statistics,
): readonly Entry[] {
  const { yesterdayMorning, todayMorning, now } = statistics.totals(counter)
  return [
    [`${prefix}YesterdayMorning`, String(yesterdayMorning)],
    [`${prefix}TodayMorning`, String(todayMorning)],
    [`${prefix}TodayNow`, String(now)],
  ]
}

async function storeEntries({ store, diskSpace }: DoorContext): Promise<readonly Entry[]> {
  const { freeBytes, totalBytes } = await diskSpace()
  const diskRatio = totalBytes === 0 ? 0 : 1 - freeBytes / totalBytes
  const oldest = await store.readRecord(store.minLogOffset)
  const oldestTimeMs = oldest === undefined ? -1 : recordStoreTimeMs(oldest, 0)
  const { endOffset, appliedOffset } = store
  return [
    ['commitLogMinOffset', String(store.minLogOffset)],
    ['commitLogMaxOffset', String(appliedOffset)],
    ['commitLogDiskRatio', diskRatio.toFixed(4)],
    ['consumeQueueDiskRatio', diskRatio.toFixed(4)],
    ['earliestMessageTimeStamp', String(oldestTimeMs)],
    ['dispatchBehindBytes', String(endOffset - appliedOffset)],
    ['remainHowManyDataToFlush', `${endOffset - appliedOffset} B`],
    ['orreryAppliedOffset', String(appliedOffset)],
    ['orreryCheckpointOffset', String(store.checkpointOffset)],
    ['orreryLogEndOffset', String(endOffset)],
  ]
}

function timerEntries({ waiting }: DoorContext): readonly Entry[] {
  return [
    ['timerCongestNum', String(waiting.parkedCount)],
    ['orreryWaitingMessages', String(waiting.waitingCount)],
    ['orreryParkedMessages', String(waiting.parkedCount)],
    ['orreryLostMessages', String(waiting.lostCount)],
  ]
}

/** Of things that are not here, at rest: the tools fail to print a broker that lacks them. */
function foreignEntries(): readonly Entry[] {
  const names = [
    'sendThreadPoolQueueSize',
    'pullThreadPoolQueueSize',
    'ackThreadPoolQueueSize',
    'sendThreadPoolQueueHeadWaitTimeMills',
    'pullThreadPoolQueueHeadWaitTimeMills',
    'ackThreadPoolQueueHeadWaitTimeMills',
    'pageCacheLockTimeMills',
    'timerReadBehind',
    'timerOffsetBehind',
    'timerEnqueueTps',
    'timerDequeueTps',
  ]
  return names.map(name => [name, '0'])
}

function ratesText(rates: Rates): string {
  return rates.map(rate => rate.toFixed(2)).join(' ')
}

const MINUTE_SECONDS = 60
const HOUR_SECONDS = 3600
const DAY_SECONDS = 86_400

function durationText(durationMs: number): string {
  const seconds = Math.floor(durationMs / 1000)
  const days = Math.floor(seconds / DAY_SECONDS)
  const hours = Math.floor((seconds % DAY_SECONDS) / HOUR_SECONDS)
  const minutes = Math.floor((seconds % HOUR_SECONDS) / MINUTE_SECONDS)
  return `[ ${days} days, ${hours} hours, ${minutes} minutes, ${seconds % MINUTE_SECONDS} seconds ]`
}
