import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { APACHE_SETTINGS, APACHE_VERSION, fetchApache, startApache } from './apache.ts'
import { type Benchmark, type BenchmarkContext, type Findings, numberOption } from './benchmark.ts'
import type { Broker } from './broker.ts'
import { type OrloadReport, runOrload } from './orload.ts'
import { openOrrery } from './orrery.ts'
import type { Metric } from './result.ts'
import { spreadOf } from './statistics.ts'
import { warmUp } from './warm-up.ts'

const RATIO_GOAL = 0.5
const OTHERS_P99_MS_MAX = 100
/** The herd is due so long after its sending begins: it must be over by then. */
const LEAD_SECONDS = 40
const LOAD = { conns: 4, inflight: 128, queues: 8, body: 128 }
/** Messages of another topic, due about when the herd is: from before it to well after. */
const OTHERS = {
  conns: 1,
  queues: 4,
  body: 128,
  rate: 500,
  seconds: 5,
  'due-spread-ms': `${(LEAD_SECONDS - 3) * 1000}..${(LEAD_SECONDS + 2) * 1000}`,
}

export const herd: Benchmark = {
  name: 'herd',
  summary:
    'many messages due in the same millisecond, to the last delivery, beside Apache RocketMQ',
  options: {
    runs: { type: 'string' },
    counts: { type: 'string' },
    bodies: { type: 'string' },
    'warmup-seconds': { type: 'string' },
    'skip-apache': { type: 'boolean' },
  },
  help: [
    '--runs N            interleaved runs of each broker (3)',
    '--counts A,B        messages of a herd (100000,500000)',
    '--bodies A,B        body sizes in bytes (128,1024)',
    '--warmup-seconds N  least warm-up of a broker; goes on until its rate stops growing (30)',
    '--skip-apache       Orrery only',
  ],
  run: measure,
}

interface Shape {
  readonly count: number
  readonly bodyBytes: number
}

interface Sample extends Shape {
  readonly broker: Broker['name']
  readonly herd: NonNullable<OrloadReport['recv']>
  readonly others: NonNullable<OrloadReport['recv']>
}

async function measure(context: BenchmarkContext): Promise<Findings> {
  const { values } = context
  const numbers = (name: string, byDefault: string): readonly number[] =>
    String(values[name] ?? byDefault)
      .split(',')
      .map(text => numberOption({ [name]: text }, name, 0))
  const shapes = numbers('counts', '100000,500000').flatMap(count =>
    numbers('bodies', '128,1024').map(bodyBytes => ({ count, bodyBytes })),
  )
  const withApache = values['skip-apache'] !== true
  if (withApache) await fetchApache()
  const runCount = numberOption(values, 'runs', 3)
  const samples: Sample[] = []
  for (let run = 0; run < runCount; run++) {
    const names: Broker['name'][] = withApache ? ['orrery', 'apache'] : ['orrery']
    for (const name of run % 2 === 0 ? names : names.toReversed()) {
      context.say(`run ${run + 1} of ${runCount}: ${name}`)
      samples.push(...(await measureBroker(context, shapes, name)))
    }
  }
  return findingsOf(samples, shapes)
}

async function measureBroker(
  context: BenchmarkContext,
  shapes: readonly Shape[],
  name: Broker['name'],
): Promise<readonly Sample[]> {
  const directory = join(context.workDirectory, name)
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  const broker = await (name === 'apache'
    ? startApache(directory)
    : openOrrery({ directory: join(directory, 'data') }))
  const samples: Sample[] = []
  try {
    const warmUpLoad = { ...LOAD, 'due-spread-ms': '500..5000' }
    await warmUp(context, broker, warmUpLoad, numberOption(context.values, 'warmup-seconds', 30))
    for (const [index, shape] of shapes.entries()) {
      const sample = await measureShape(context, broker, { ...shape, label: String(index) })
      context.say(sampleLine(sample))
      samples.push(sample)
    }
  } finally {
    await broker.stop()
  }
  rmSync(directory, { recursive: true, force: true })
  return samples
}

async function measureShape(
  context: BenchmarkContext,
  broker: Broker,
  shape: Shape & { readonly label: string },
): Promise<Sample> {
  const { count, bodyBytes, label } = shape
  const [others, report] = await Promise.all([
    runOrload(context.orload, 'both', {
      ...OTHERS,
      addr: broker.address,
      topic: `others-${label}`,
      group: `others-${label}`,
    }),
    runOrload(context.orload, 'burst', {
      ...LOAD,
      addr: broker.address,
      body: bodyBytes,
      count,
      lead: `${LEAD_SECONDS}s`,
      topic: `herd-${label}`,
      group: `herd-${label}`,
    }),
  ])
  if (report.recv === undefined || others.recv === undefined) {
    throw new Error('orload reported no deliveries')
  }
  return { broker: broker.name, count, bodyBytes, herd: report.recv, others: others.recv }
}

function sampleLine({ broker, count, bodyBytes, herd: received, others }: Sample): string {
  return (
    `${broker} ${count} × ${bodyBytes} B: last after ${received.lateness_ms.max} ms, ` +
    `median ${received.lateness_ms.p50} ms; early ${received.early}; missing ${received.missing} of ` +
    `${received.expected}; twice ${received.duplicates}; others late p99 ${others.lateness_ms.p99} ms`
  )
}

function findingsOf(samples: readonly Sample[], shapes: readonly Shape[]): Findings {
  const metrics: Metric[] = []
  const goals: Findings['goals'][number][] = []
  for (const shape of shapes) {
    const name = `${shape.count} × ${shape.bodyBytes} B`
    const of = (broker: Broker['name']): readonly Sample[] =>
      samples.filter(sample => {
        const isSame = sample.count === shape.count && sample.bodyBytes === shape.bodyBytes
        return isSame && sample.broker === broker
      })
    const medians = (['orrery', 'apache'] as const).map(broker => {
      const lastMs = of(broker).map(sample => sample.herd.lateness_ms.max)
      if (lastMs.length === 0) return undefined
      metrics.push({
        name: `${broker} ${name}, last`,
        unit: 'ms',
        better: 'lower',
        samples: lastMs,
      })
      return spreadOf(lastMs).median
    })
    const [ours, theirs] = medians
    const othersMs = of('orrery').map(sample => sample.others.lateness_ms.p99)
    metrics.push({ name: `others, ${name}, p99`, unit: 'ms', better: 'lower', samples: othersMs })
    goals.push(
      goal(
        `${name}: others late p99 at most ${OTHERS_P99_MS_MAX} ms (median ${spreadOf(othersMs).median})`,
        spreadOf(othersMs).median <= OTHERS_P99_MS_MAX,
      ),
    )
    if (ours === undefined || theirs === undefined) continue
    const ratio = ours / theirs
    metrics.push({ name: `ratio of medians ${name}`, unit: '×', better: 'lower', samples: [ratio] })
    goals.push(
      goal(`${name}: no later than Apache (${ratio.toFixed(2)} of its time)`, ratio <= 1),
      goal(`${name}: half of Apache's time (${ratio.toFixed(2)})`, ratio <= RATIO_GOAL),
    )
  }
  return { metrics, goals: [...goals, ...whole(samples)], facts: factsOf(samples) }
}

function whole(samples: readonly Sample[]): Findings['goals'] {
  const ours = samples.filter(({ broker }) => broker === 'orrery')
  const total = (pick: (received: Sample['herd']) => number): number =>
    ours.reduce((sum, sample) => sum + pick(sample.herd) + pick(sample.others), 0)
  const early = total(received => received.early + received.early_by_store_time)
  const missing = total(received => received.missing)
  const doubled = total(received => received.duplicates)
  const text = `${early} early, ${missing} missing, ${doubled} twice`
  return [{ text, met: early + missing + doubled === 0, required: true }]
}

function factsOf(samples: readonly Sample[]): Findings['facts'] {
  const isBeside = samples.some(({ broker }) => broker === 'apache')
  return {
    load: { ...LOAD, leadSeconds: LEAD_SECONDS, others: OTHERS },
    ...(isBeside ? { apache: { version: APACHE_VERSION, settings: APACHE_SETTINGS } } : {}),
  }
}

function goal(text: string, met: boolean): Findings['goals'][number] {
  return { text, met, required: false }
}
