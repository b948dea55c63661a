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
import { probe, runOrload, sendUntilBroken } from './orload.ts'
import { MemoryWatch } from './process-memory.ts'
import type { Metric } from './result.ts'

const ANONYMOUS_MIB_MAX = 250
const RESTART_SECONDS_MAX = 3
const RESTART_LIMIT_SECONDS = 60
const SEND_BEFORE_KILL_MS = 4000
const LOAD = {
  conns: 4,
  inflight: 128,
  queues: 8,
  body: 128,
  topic: 'backlog',
  'due-spread-ms': '60000..86400000',
}

export const backlog: Benchmark = {
  name: 'backlog',
  summary: 'memory and restart time with millions of waiting messages of 128 B, due within 24 h',
  options: {
    messages: { type: 'string' },
    'rest-seconds': { type: 'string' },
    restarts: { type: 'string' },
  },
  help: [
    '--messages A,B      waiting messages, one round for each (1000000,5000000)',
    '--rest-seconds N    time without sends that memory is watched for (60)',
    '--restarts N        SIGKILLs while sending, each followed by a timed start (3)',
  ],
  run: measure,
}

interface Sample {
  readonly messageCount: number
  readonly accepted: number
  readonly acceptedPerSecond: number
  readonly diskBytesPerMessage: number
  readonly fillingMiB: number
  readonly restMiB: number
  readonly restarts: readonly Restart[]
}

interface Restart {
  /** From exec to the acceptance of the first timer message. */
  readonly acceptedSeconds: number
  readonly connectedSeconds: number
  /** The peak from exec until 5 s after that. */
  readonly peakMiB: number
}

async function measure(context: BenchmarkContext): Promise<Findings> {
  const restSeconds = numberOption(context.values, 'rest-seconds', 60)
  const restartCount = numberOption(context.values, 'restarts', 3)
  const counts = String(context.values['messages'] ?? '1000000,5000000')
    .split(',')
    .map(text => numberOption({ messages: text }, 'messages', 0))
  if (process.platform !== 'linux') throw new UsageError('backlog reads /proc and needs Linux')
  const samples: Sample[] = []
  for (const messageCount of counts) {
    samples.push(await measureCount(context, { messageCount, restSeconds, restartCount }))
  }
  return findingsOf(samples, restSeconds)
}

async function measureCount(
  context: BenchmarkContext,
  plan: {
    readonly messageCount: number
    readonly restSeconds: number
    readonly restartCount: number
  },
): Promise<Sample> {
  const directory = join(context.workDirectory, 'data')
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  let broker = await openOrrery({ directory })
  // Later starts take the same port, so that the probe knows where to knock.
  const remotingPort = Number(broker.address.split(':').at(-1))
  try {
    const filling = new MemoryWatch(broker.pid)
    const report = await runOrload(context.orload, 'send', {
      ...LOAD,
      addr: broker.address,
      count: plan.messageCount,
      disk: directory,
    })
    const fillingMiB = filling.stop()
    if (report.send === undefined) throw new Error('orload reported no sends')
    context.say(`${report.send.accepted} waiting, ${Math.round(report.send.accepted_per_s)}/s`)
    const rest = new MemoryWatch(broker.pid)
    await sleep(plan.restSeconds * 1000)
    const restMiB = rest.stop()
    context.say(`peak MiB: filling ${fillingMiB.toFixed(0)}, rest ${restMiB.toFixed(0)}`)
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
    return {
      messageCount: plan.messageCount,
      accepted: report.send.accepted,
      acceptedPerSecond: report.send.accepted_per_s,
      diskBytesPerMessage: report.disk_bytes_per_message ?? 0,
      fillingMiB,
      restMiB,
      restarts,
    }
  } finally {
    await broker.kill()
    rmSync(directory, { recursive: true, force: true })
  }
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

function findingsOf(samples: readonly Sample[], restSeconds: number): Findings {
  const metrics: Metric[] = []
  const goals: Goal[] = []
  for (const sample of samples) {
    const label = `${sample.messageCount.toLocaleString('en-US')} waiting`
    const seconds = sample.restarts.map(({ acceptedSeconds }) => acceptedSeconds)
    const restartMiB = sample.restarts.map(({ peakMiB }) => peakMiB)
    const peakMiB = Math.max(sample.fillingMiB, sample.restMiB, ...restartMiB)
    const memory = (phase: string, values: readonly number[]): Metric => ({
      name: `${label}: peak while ${phase}`,
      unit: 'MiB',
      better: 'lower',
      samples: values,
    })
    metrics.push(
      memory('filling', [sample.fillingMiB]),
      memory('resting', [sample.restMiB]),
      memory('restarting', restartMiB),
      { name: `${label}: restart`, unit: 's', better: 'lower', samples: seconds },
      {
        name: `${label}: filling`,
        unit: 'messages/s',
        better: 'higher',
        samples: [sample.acceptedPerSecond],
      },
    )
    goals.push(
      {
        text: `${label}: anonymous memory ${peakMiB.toFixed(0)} MiB ≤ ${ANONYMOUS_MIB_MAX} MiB`,
        met: peakMiB <= ANONYMOUS_MIB_MAX,
        required: false,
      },
      {
        text: `${label}: first timer send after ${seconds.join(', ')} s ≤ ${RESTART_SECONDS_MAX} s`,
        met: seconds.every(value => value <= RESTART_SECONDS_MAX),
        required: false,
      },
      {
        text: `${label}: ${sample.accepted} accepted`,
        met: sample.accepted === sample.messageCount,
        required: true,
      },
    )
  }
  return { metrics, goals, facts: { load: LOAD, restSeconds, samples } }
}
