import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import {
  type Benchmark,
  type BenchmarkContext,
  type Findings,
  type Goal,
  numberOption,
  UsageError,
} from './benchmark.ts'
import { launchOrrery, openOrrery, type OrreryBroker } from './orrery.ts'
import { probe, runOrload, runtimeTable, sendUntilBroken } from './orload.ts'
import { MemoryWatch } from './process-memory.ts'
import type { Metric } from './result.ts'
import { fillWaiting } from './waiting-folder.ts'

const ANONYMOUS_MIB_MAX = 250
/** With the most messages, above that with the fewest. */
const GROWTH_MIB_MAX = 30
const RESTART_SECONDS_MAX = 3
const RESTART_LIMIT_SECONDS = 60
const SEND_BEFORE_KILL_MS = 4000
/** Of the send rate with the fewest messages. */
const SEND_SHARE_MIN = 0.85
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Time to write the messages of one millisecond and start the broker before they are due. */
const HERD_LEAD_MS = 120_000
const HERD_LIMIT_MS = 600_000
const LOAD = {
  conns: 4,
  inflight: 128,
  queues: 8,
  body: 128,
  topic: 'backlog',
  'due-spread-ms': '7200000..86400000',
}

export const backlog: Benchmark = {
  name: 'backlog',
  summary: 'memory, start and send rate with up to 100 million waiting messages of below 200 B',
  options: {
    messages: { type: 'string' },
    herd: { type: 'string' },
    'rest-seconds': { type: 'string' },
    'send-seconds': { type: 'string' },
    restarts: { type: 'string' },
  },
  help: [
    '--messages A,B      waiting messages, one round for each (10000,10000000,100000000)',
    '--herd N            messages of one millisecond in a last round; 1 for hardly any (5000000)',
    '--rest-seconds N    time without sends that memory is watched for (30)',
    '--send-seconds N    time that sends are measured for (20)',
    '--restarts N        SIGKILLs while sending, each followed by a timed start (3)',
  ],
  run: measure,
}

interface Sample {
  readonly messageCount: number
  readonly acceptedPerSecond: number
  readonly restMiB: number
  readonly sendingMiB: number
  readonly restarts: readonly Restart[]
}

interface Restart {
  /** From exec to the acceptance of the first timer message. */
  readonly acceptedSeconds: number
  readonly connectedSeconds: number
  /** The peak from exec until 5 s after that. */
  readonly peakMiB: number
}

interface Herd {
  readonly messageCount: number
  readonly peakMiB: number
  /** From their millisecond until none waits. */
  readonly seconds: number
}

interface Plan {
  readonly restSeconds: number
  readonly sendSeconds: number
  readonly restartCount: number
}

async function measure(context: BenchmarkContext): Promise<Findings> {
  const plan = {
    restSeconds: numberOption(context.values, 'rest-seconds', 30),
    sendSeconds: numberOption(context.values, 'send-seconds', 20),
    restartCount: numberOption(context.values, 'restarts', 3),
  }
  const counts = String(context.values['messages'] ?? '10000,10000000,100000000')
    .split(',')
    .map(text => numberOption({ messages: text }, 'messages', 0))
  if (process.platform !== 'linux') throw new UsageError('backlog reads /proc and needs Linux')
  const samples: Sample[] = []
  for (const messageCount of counts) samples.push(await measureCount(context, messageCount, plan))
  const herd = await measureHerd(context, numberOption(context.values, 'herd', 5_000_000))
  return findingsOf(samples, herd, plan)
}

async function measureCount(
  context: BenchmarkContext,
  messageCount: number,
  plan: Plan,
): Promise<Sample> {
  const directory = emptyFolder(context)
  const fromMs = Date.now() + 3 * HOUR_MS
  await fillWaiting({
    directory,
    count: messageCount,
    deliverTimeMs: index => fromMs + ((index * 7_919_993) % (30 * DAY_MS)),
    say: line => context.say(line),
  })
  let broker = await openOrrery({ directory })
  // Later starts take the same port, so that the probe knows where to knock.
  const remotingPort = Number(broker.address.split(':').at(-1))
  try {
    const rest = new MemoryWatch(broker.pid)
    await sleep(plan.restSeconds * 1000)
    const restMiB = rest.stop()
    const sending = new MemoryWatch(broker.pid)
    const load = { ...LOAD, addr: broker.address, seconds: plan.sendSeconds }
    const { send } = await runOrload(context.orload, 'send', load)
    const sendingMiB = sending.stop()
    if (send === undefined) throw new Error('orload reported no sends')
    const acceptedPerSecond = send.accepted_per_s
    const rate = `${Math.round(acceptedPerSecond)}/s`
    const peaks = `peak MiB: rest ${restMiB.toFixed(0)}, sending ${sendingMiB.toFixed(0)}`
    context.say(`${messageCount} waiting: ${rate}, ${peaks}`)
    const restarts: Restart[] = []
    for (let i = 0; i < plan.restartCount; i++) {
      await killWhileSending(context, broker)
      broker = launchOrrery({ directory, remotingPort })
      const restart = await timeRestart(context, broker)
      context.say(
        `restart ${i + 1}: first timer send accepted after ${restart.acceptedSeconds} s, peak ${restart.peakMiB.toFixed(0)} MiB`,
      )
      restarts.push(restart)
    }
    return { messageCount, acceptedPerSecond, restMiB, sendingMiB, restarts }
  } finally {
    await broker.kill()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Very many messages of one and the same millisecond stream out. */
async function measureHerd(context: BenchmarkContext, messageCount: number): Promise<Herd> {
  const directory = emptyFolder(context)
  const dueMs = Date.now() + HERD_LEAD_MS
  const deliverTimeMs = (): number => dueMs
  await fillWaiting({
    directory,
    count: messageCount,
    deliverTimeMs,
    say: line => context.say(line),
  })
  const broker = await openOrrery({ directory })
  try {
    const memory = new MemoryWatch(broker.pid)
    if (Date.now() > dueMs) throw new Error('filling the folder took longer than the herd waits')
    let waiting = messageCount
    while (waiting > 0) {
      if (Date.now() > dueMs + HERD_LIMIT_MS) throw new Error(`${waiting} of the herd still wait`)
      await sleep(200)
      const table = await runtimeTable(context.orload, broker.address)
      waiting = Number(table['orreryWaitingMessages'])
    }
    const seconds = (Date.now() - dueMs) / 1000
    const peakMiB = memory.stop()
    context.say(`${messageCount} of one millisecond: ${seconds} s, peak ${peakMiB.toFixed(0)} MiB`)
    return { messageCount, seconds, peakMiB }
  } finally {
    await broker.kill()
    rmSync(directory, { recursive: true, force: true })
  }
}

function emptyFolder(context: BenchmarkContext): string {
  const directory = join(context.workDirectory, 'data')
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  return directory
}

async function killWhileSending(context: BenchmarkContext, broker: OrreryBroker): Promise<void> {
  const sending = sendUntilBroken(context.orload, { ...LOAD, addr: broker.address, seconds: 600 })
  await sleep(SEND_BEFORE_KILL_MS)
  await broker.kill()
  const { send } = await sending
  if (send === undefined || send.accepted === 0) throw new Error('nothing was sent before the kill')
}

async function timeRestart(context: BenchmarkContext, broker: OrreryBroker): Promise<Restart> {
  const memory = new MemoryWatch(broker.pid)
  try {
    const { accepted_s: acceptedSeconds, connected_s: connectedSeconds } = await probe(
      context.orload,
      {
        address: broker.address,
        sinceMs: broker.startedAtMs,
        limitSeconds: RESTART_LIMIT_SECONDS,
      },
    )
    await sleep(5000)
    return { acceptedSeconds, connectedSeconds, peakMiB: memory.stop() }
  } catch (error) {
    memory.stop()
    throw new Error(`no send was accepted after the restart\n${broker.logTail()}`, { cause: error })
  }
}

function findingsOf(samples: readonly Sample[], herd: Herd, plan: Plan): Findings {
  const metrics: Metric[] = []
  const goals: Goal[] = []
  const [first] = samples
  for (const sample of samples) {
    const label = `${sample.messageCount.toLocaleString('en-US')} waiting`
    const seconds = sample.restarts.map(({ acceptedSeconds }) => acceptedSeconds)
    const restartMiB = sample.restarts.map(({ peakMiB }) => peakMiB)
    const peakMiB = peakOf(sample)
    metrics.push(
      memoryMetric(`${label}: peak while resting`, [sample.restMiB]),
      memoryMetric(`${label}: peak while sending`, [sample.sendingMiB]),
      memoryMetric(`${label}: peak while restarting`, restartMiB),
      { name: `${label}: restart`, unit: 's', better: 'lower', samples: seconds },
      {
        name: `${label}: sends`,
        unit: 'messages/s',
        better: 'higher',
        samples: [sample.acceptedPerSecond],
      },
    )
    const share = sample.acceptedPerSecond / (first?.acceptedPerSecond ?? 1)
    const growth = peakMiB - (first === undefined ? 0 : peakOf(first))
    goals.push(
      goal(
        `${label}: anonymous memory ${peakMiB.toFixed(0)} MiB ≤ ${ANONYMOUS_MIB_MAX} MiB`,
        peakMiB <= ANONYMOUS_MIB_MAX,
      ),
      goal(
        `${label}: ${growth.toFixed(0)} MiB more than the first round, ≤ ${GROWTH_MIB_MAX} MiB`,
        growth <= GROWTH_MIB_MAX,
      ),
      goal(
        `${label}: first timer send after ${seconds.join(', ')} s ≤ ${RESTART_SECONDS_MAX} s`,
        seconds.every(value => value <= RESTART_SECONDS_MAX),
      ),
      goal(
        `${label}: ${share.toFixed(2)} of the send rate of the first round ≥ ${SEND_SHARE_MIN}`,
        share >= SEND_SHARE_MIN,
      ),
    )
  }
  const label = `${herd.messageCount.toLocaleString('en-US')} of one millisecond`
  metrics.push(memoryMetric(`${label}: peak`, [herd.peakMiB]), {
    name: `${label}: until the last is delivered`,
    unit: 's',
    better: 'lower',
    samples: [herd.seconds],
  })
  goals.push(
    goal(
      `${label}: anonymous memory ${herd.peakMiB.toFixed(0)} MiB ≤ ${ANONYMOUS_MIB_MAX} MiB`,
      herd.peakMiB <= ANONYMOUS_MIB_MAX,
    ),
  )
  return { metrics, goals, facts: { load: LOAD, plan, samples, herd } }
}

function goal(text: string, met: boolean): Goal {
  return { text, met, required: false }
}

function memoryMetric(name: string, samples: readonly number[]): Metric {
  return { name, unit: 'MiB', better: 'lower', samples }
}

function peakOf({ restMiB, sendingMiB, restarts }: Sample): number {
  return Math.max(restMiB, sendingMiB, ...restarts.map(({ peakMiB }) => peakMiB))
}
