import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { APACHE_SETTINGS, APACHE_VERSION, fetchApache, startApache } from './apache.ts'
import {
  type Benchmark,
  type BenchmarkContext,
  type Findings,
  type Goal,
  numberOption,
} from './benchmark.ts'
import type { Broker } from './broker.ts'
import { type SelfTime, summarizeProfiles } from './cpu-profile.ts'
import { type DiskSpeed, measureDisk } from './disk.ts'
import { openOrrery } from './orrery.ts'
import { type OrloadReport, runOrload, runtimeTable } from './orload.ts'
import type { Metric } from './result.ts'
import { spreadOf } from './statistics.ts'
import { warmUp } from './warm-up.ts'

/** A checkpoint begins after so much of the log. */
const CHECKPOINT_BYTES = 256 * 2 ** 20
const RATIO_MIN = 1.3
const RATIO_GOAL = 2
const LOAD = { conns: 4, inflight: 128, queues: 8, 'due-spread-ms': '3600000..86400000' }

export const send: Benchmark = {
  name: 'send',
  summary: 'durable timer sends a second, 4 connections × 128 in flight, beside Apache RocketMQ',
  options: {
    seconds: { type: 'string' },
    runs: { type: 'string' },
    'warmup-seconds': { type: 'string' },
    bodies: { type: 'string' },
    'skip-apache': { type: 'boolean' },
    profile: { type: 'boolean' },
  },
  help: [
    '--seconds N         length of a measurement (60)',
    '--runs N            interleaved runs of each broker (3)',
    '--warmup-seconds N  least warm-up of a broker; goes on until its rate stops growing (30)',
    '--bodies A,B        body sizes in bytes (1024,128)',
    '--skip-apache       Orrery only',
    '--profile           one run of Orrery only, with a CPU profile and where the time went',
  ],
  run: measure,
}

interface Plan {
  readonly seconds: number
  readonly warmupSeconds: number
  readonly bodies: readonly number[]
  readonly profileDirectory: string | undefined
}

interface Sample {
  readonly broker: Broker['name']
  readonly bodyBytes: number
  readonly report: OrloadReport
  readonly disk: DiskSpeed
  readonly checkpoint: CheckpointLag | undefined
}

interface CheckpointLag {
  /** Log bytes that a recovery would read again right after the last answer. */
  readonly lagBytes: number
  /** Log bytes that were not yet handed to the timer store then. */
  readonly unappliedBytes: number
  /** How long until a checkpoint covered all of it; undefined when it never did. */
  readonly secondsToCover: number | undefined
}

async function measure(context: BenchmarkContext): Promise<Findings> {
  const profiled = context.values['profile'] === true
  const plan: Plan = {
    seconds: numberOption(context.values, 'seconds', 60),
    warmupSeconds: numberOption(context.values, 'warmup-seconds', 30),
    bodies: String(context.values['bodies'] ?? '1024,128')
      .split(',')
      .map(body => numberOption({ bodies: body }, 'bodies', 0)),
    profileDirectory: profiled ? join(context.outputDirectory, 'profile') : undefined,
  }
  if (plan.profileDirectory !== undefined) {
    rmSync(plan.profileDirectory, { recursive: true, force: true })
    mkdirSync(plan.profileDirectory, { recursive: true })
  }
  const withApache = context.values['skip-apache'] !== true && !profiled
  if (withApache) await fetchApache()
  const runCount = profiled ? 1 : numberOption(context.values, 'runs', 3)
  const samples: Sample[] = []
  for (let run = 0; run < runCount; run++) {
    const names: Broker['name'][] = withApache ? ['orrery', 'apache'] : ['orrery']
    // Each goes first in turn, so that a machine that slows down favours neither.
    for (const name of run % 2 === 0 ? names : names.toReversed()) {
      context.say(`run ${run + 1} of ${runCount}: ${name}`)
      samples.push(...(await measureBroker(context, plan, name)))
    }
  }
  const profile =
    plan.profileDirectory === undefined ? undefined : summarizeProfiles(plan.profileDirectory, 30)
  if (profile !== undefined) printProfile(context, profile)
  return findingsOf(samples, plan, profile)
}

/** A fresh broker on a fresh folder: only one is there at a time, and both are warmed up alike. */
async function measureBroker(
  context: BenchmarkContext,
  plan: Plan,
  name: Broker['name'],
): Promise<readonly Sample[]> {
  const directory = join(context.workDirectory, name)
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  const disk = await measureDisk(directory, 300)
  const broker = await (name === 'apache'
    ? startApache(directory)
    : openOrrery({
        directory: join(directory, 'data'),
        ...(plan.profileDirectory === undefined ? {} : { profileDirectory: plan.profileDirectory }),
      }))
  const samples: Sample[] = []
  try {
    const common = { ...LOAD, addr: broker.address }
    const [firstBody = 128] = plan.bodies
    await warmUp(context, broker, { ...LOAD, body: firstBody }, plan.warmupSeconds)
    for (const bodyBytes of plan.bodies) {
      const report = await runOrload(context.orload, 'send', {
        ...common,
        topic: `send-${bodyBytes}`,
        body: bodyBytes,
        seconds: plan.seconds,
        pid: broker.pid,
      })
      const checkpoint =
        name === 'orrery' ? await checkpointLag(context.orload, broker.address) : undefined
      const sample = { broker: name, bodyBytes, report, disk, checkpoint }
      context.say(sampleLine(sample))
      samples.push(sample)
    }
  } finally {
    await broker.stop()
  }
  rmSync(directory, { recursive: true, force: true })
  return samples
}

async function checkpointLag(orload: string, address: string): Promise<CheckpointLag> {
  const start = performance.now()
  const first = await offsets(orload, address)
  let secondsToCover: number | undefined
  while (secondsToCover === undefined && performance.now() - start < 30_000) {
    const { checkpoint } = await offsets(orload, address)
    if (checkpoint >= first.end) secondsToCover = (performance.now() - start) / 1000
    else await sleep(200)
  }
  return {
    lagBytes: first.end - first.checkpoint,
    unappliedBytes: first.end - first.applied,
    secondsToCover,
  }
}

async function offsets(
  orload: string,
  address: string,
): Promise<{ readonly end: number; readonly applied: number; readonly checkpoint: number }> {
  const table = await runtimeTable(orload, address)
  const read = (key: string): number => {
    const value = Number(table[key] ?? Number.NaN)
    if (!Number.isSafeInteger(value)) throw new Error(`the runtime table has no offset ${key}`)
    return value
  }
  return {
    end: read('orreryLogEndOffset'),
    applied: read('orreryAppliedOffset'),
    checkpoint: read('orreryCheckpointOffset'),
  }
}

function sampleLine(sample: Sample): string {
  const { broker, bodyBytes, report, disk, checkpoint } = sample
  const parts = [
    `${broker} ${bodyBytes} B: ${Math.round(acceptedPerSecond(report))}/s`,
    `ack p50 ${report.send?.ack_ms.p50} ms p99 ${report.send?.ack_ms.p99} ms`,
    `refused ${report.send?.refused}`,
    `cores: broker ${report.send_cpu?.broker_cores ?? 0}, generator ${report.send_cpu?.generator_cores}`,
    `fdatasync p50 ${disk.p50.toFixed(2)} ms p99 ${disk.p99.toFixed(2)} ms before`,
  ]
  if (checkpoint !== undefined) {
    const { lagBytes, secondsToCover } = checkpoint
    const covered =
      secondsToCover === undefined
        ? 'not covered in 30 s'
        : `covered in ${secondsToCover.toFixed(1)} s`
    parts.push(`checkpoint ${Math.round(lagBytes / 2 ** 20)} MiB behind at the end, ${covered}`)
  }
  return parts.join('; ')
}

function acceptedPerSecond(report: OrloadReport): number {
  if (report.send === undefined) throw new Error('orload reported no sends')
  return report.send.accepted_per_s
}

function findingsOf(
  samples: readonly Sample[],
  plan: Plan,
  profile: readonly SelfTime[] | undefined,
): Findings {
  const metrics: Metric[] = []
  const goals: Goal[] = []
  for (const bodyBytes of plan.bodies) {
    const rates = (broker: Broker['name']): readonly number[] =>
      samples
        .filter(sample => sample.broker === broker && sample.bodyBytes === bodyBytes)
        .map(sample => acceptedPerSecond(sample.report))
    const [ours, theirs] = [rates('orrery'), rates('apache')]
    metrics.push(rateMetric(`orrery ${bodyBytes} B`, ours))
    if (theirs.length > 0) {
      metrics.push(rateMetric(`apache ${bodyBytes} B`, theirs))
      const ratio = spreadOf(ours).median / spreadOf(theirs).median
      metrics.push({
        name: `ratio of medians ${bodyBytes} B`,
        unit: '×',
        better: 'higher',
        samples: [ratio],
      })
      goals.push(ratioGoal(bodyBytes, ratio, RATIO_MIN), ratioGoal(bodyBytes, ratio, RATIO_GOAL))
    }
  }
  const lags = samples.flatMap(({ checkpoint }) => (checkpoint === undefined ? [] : [checkpoint]))
  const lagBytes = Math.max(...lags.map(lag => lag.lagBytes))
  goals.push({
    text: `R at most one checkpoint behind at the end: ${Math.round(lagBytes / 2 ** 20)} MiB at worst`,
    // One checkpoint may be under way while the log fills towards the next.
    met: lagBytes < 2 * CHECKPOINT_BYTES && lags.every(lag => lag.secondsToCover !== undefined),
    required: false,
  })
  const refused = samples.reduce((sum, { report }) => sum + (report.send?.refused ?? 0), 0)
  return {
    metrics,
    goals,
    facts: {
      load: { ...LOAD, seconds: plan.seconds, warmupSeconds: plan.warmupSeconds },
      apache: `${APACHE_VERSION}: ${APACHE_SETTINGS}`,
      refused,
      samples: samples.map(({ report, ...sample }) => ({
        ...sample,
        send: report.send,
        cpu: report.send_cpu,
      })),
      ...(profile === undefined ? {} : { profile }),
    },
  }
}

function rateMetric(name: string, samples: readonly number[]): Metric {
  return { name, unit: 'messages/s', better: 'higher', samples }
}

function ratioGoal(bodyBytes: number, ratio: number, least: number): Goal {
  return {
    text: `${bodyBytes} B: at least ${least} × Apache (${ratio.toFixed(2)} ×)`,
    met: ratio >= least,
    required: false,
  }
}

function printProfile(context: BenchmarkContext, profile: readonly SelfTime[]): void {
  context.say('own time of functions, idle time left out:')
  for (const { place, seconds, share } of profile) {
    context.say(
      `${(share * 100).toFixed(1).padStart(5)} % ${seconds.toFixed(2).padStart(7)} s  ${place}`,
    )
  }
}
