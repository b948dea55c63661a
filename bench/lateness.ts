import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { type Benchmark, type BenchmarkContext, type Findings, numberOption } from './benchmark.ts'
import { type DiskSpeed, watchDisk } from './disk.ts'
import { type OrloadReport, runOrload } from './orload.ts'
import { openOrrery } from './orrery.ts'
import type { Metric } from './result.ts'

const P50_MS_MAX = 2
const P99_MS_MAX = 20
/** Above the disk's own p99. */
const P99_OVER_DISK_MS_MAX = 5
const DISK_INTERVAL_MS = 20
const LOAD = { conns: 4, queues: 8, body: 128, 'due-spread-ms': '2000..12000' }

export const lateness: Benchmark = {
  name: 'lateness',
  summary: 'how late timer messages arrive at a consumer, at a steady rate, due in 2 to 12 s',
  options: {
    seconds: { type: 'string' },
    runs: { type: 'string' },
    rate: { type: 'string' },
    'warmup-seconds': { type: 'string' },
  },
  help: [
    '--seconds N         length of the sending (30)',
    '--runs N            runs; the best one counts, all are recorded (3)',
    '--rate N            messages a second (1000)',
    '--warmup-seconds N  sends before a measurement, not counted (5)',
  ],
  run: measure,
}

interface Sample {
  readonly received: NonNullable<OrloadReport['recv']>
  readonly refused: number
  readonly disk: DiskSpeed
}

async function measure(context: BenchmarkContext): Promise<Findings> {
  const runCount = numberOption(context.values, 'runs', 3)
  const load = {
    ...LOAD,
    rate: numberOption(context.values, 'rate', 1000),
    seconds: numberOption(context.values, 'seconds', 30),
  }
  const warmupSeconds = numberOption(context.values, 'warmup-seconds', 5)
  const samples: Sample[] = []
  for (let run = 0; run < runCount; run++) {
    const sample = await measureOnce(context, load, warmupSeconds)
    context.say(`run ${run + 1} of ${runCount}: ${sampleLine(sample)}`)
    samples.push(sample)
  }
  return findingsOf(samples, load)
}

async function measureOnce(
  context: BenchmarkContext,
  load: Readonly<Record<string, string | number>>,
  warmupSeconds: number,
): Promise<Sample> {
  const directory = join(context.workDirectory, 'orrery')
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  const broker = await openOrrery({ directory: join(directory, 'data') })
  try {
    const common = { ...load, addr: broker.address }
    await runOrload(context.orload, 'both', {
      ...common,
      topic: 'warm-up',
      seconds: warmupSeconds,
      'due-spread-ms': '500..2000',
    })
    const diskSpeed = await watchDisk(directory, DISK_INTERVAL_MS)
    try {
      const flags = { ...common, topic: 'lateness', pid: broker.pid }
      const report = await runOrload(context.orload, 'both', flags)
      if (report.recv === undefined) throw new Error('orload reported no deliveries')
      const disk = await diskSpeed()
      return { received: report.recv, refused: report.send?.refused ?? 0, disk }
    } catch (error) {
      await diskSpeed()
      throw error
    }
  } finally {
    await broker.stop()
  }
}

function sampleLine({ received, refused, disk }: Sample): string {
  const late = received.lateness_ms
  return (
    `late p50 ${late.p50} ms, p99 ${late.p99}, p99.9 ${late.p999}, max ${late.max}; ` +
    `early ${received.early}, by store time ${received.early_by_store_time}; ` +
    `missing ${received.missing} of ${received.expected}; twice ${received.duplicates}; ` +
    `refused ${refused}; fdatasync p50 ${disk.p50.toFixed(2)} ms, p99 ${disk.p99.toFixed(2)} ms`
  )
}

function findingsOf(
  samples: readonly Sample[],
  load: Readonly<Record<string, string | number>>,
): Findings {
  const best = samples.toSorted(
    (a, b) => a.received.lateness_ms.p99 - b.received.lateness_ms.p99,
  )[0]
  if (best === undefined) throw new Error('there was no run')
  const late = best.received.lateness_ms
  const total = (pick: (received: Sample['received']) => number): number =>
    samples.reduce((sum, { received }) => sum + pick(received), 0)
  const early = total(received => received.early + received.early_by_store_time)
  const missing = total(received => received.missing)
  const doubled = total(received => received.duplicates)
  const expected = total(received => received.expected)
  const metric = (name: string, pick: (sample: Sample) => number): Metric => ({
    name,
    unit: 'ms',
    better: 'lower',
    samples: samples.map(pick),
  })
  return {
    metrics: [
      metric('late p50', ({ received }) => received.lateness_ms.p50),
      metric('late p99', ({ received }) => received.lateness_ms.p99),
      metric('late p99.9', ({ received }) => received.lateness_ms.p999),
      metric('late max', ({ received }) => received.lateness_ms.max),
      metric('fdatasync p50', ({ disk }) => disk.p50),
      metric('fdatasync p99', ({ disk }) => disk.p99),
    ],
    goals: [
      goal(`best run: p50 ${late.p50} ms ≤ ${P50_MS_MAX} ms`, late.p50 <= P50_MS_MAX),
      goal(`best run: p99 ${late.p99} ms ≤ ${P99_MS_MAX} ms`, late.p99 <= P99_MS_MAX),
      goal(
        `best run: p99 at most ${P99_OVER_DISK_MS_MAX} ms above fdatasync's p99 (${best.disk.p99.toFixed(2)} ms)`,
        late.p99 <= best.disk.p99 + P99_OVER_DISK_MS_MAX,
      ),
      { text: `all runs: ${early} early`, met: early === 0, required: true },
      {
        text: `all runs: ${missing} missing of ${expected}`,
        met: missing === 0 && expected > 0,
        required: true,
      },
      { text: `all runs: ${doubled} delivered twice`, met: doubled === 0, required: true },
    ],
    facts: { load, samples },
  }
}

function goal(text: string, met: boolean): Findings['goals'][number] {
  return { text, met, required: false }
}
