import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import {
  type Benchmark,
  type BenchmarkContext,
  type Findings,
  numberOption,
  UsageError,
} from './benchmark.ts'
import { load, type LoadReport, type LoadRequest } from './key-load.ts'
import { openOrrery, type OrreryBroker } from './orrery.ts'
import { MemoryWatch } from './process-memory.ts'
import type { Metric } from './result.ts'

const ANONYMOUS_MIB_MAX = 250
const REPLACES_PER_SECOND_MIN = 20_000
const CANCELS_PER_SECOND_MIN = 10_000
const TOPIC = 'keys'
const QUEUE_COUNT = 8
const BODY = Buffer.alloc(128, 'b')
const NOTHING = Buffer.alloc(0)
const HOUR_MS = 3_600_000
const SEND = 310
const CANCEL = 900_007
const LOAD = { conns: 4, inflight: 128 }

export const keys: Benchmark = {
  name: 'keys',
  summary:
    'messages with own keys, due in 1 to 24 h: accepted, then replaced, then cancelled by key',
  options: {
    keys: { type: 'string' },
    seconds: { type: 'string' },
    profile: { type: 'boolean' },
  },
  help: [
    '--keys N            messages that wait, each with its own key (5000000)',
    '--seconds N         of replaces of random keys, and again of cancels (20)',
    '--profile           leave a CPU profile of the broker in the output folder',
  ],
  run: measure,
}

interface Phase {
  readonly name: string
  readonly report: LoadReport
  readonly peakMiB: number
}

async function measure(context: BenchmarkContext): Promise<Findings> {
  if (process.platform !== 'linux') throw new UsageError('keys reads /proc and needs Linux')
  const keyCount = numberOption(context.values, 'keys', 5_000_000)
  const seconds = numberOption(context.values, 'seconds', 20)
  const directory = join(context.workDirectory, 'data')
  mkdirSync(directory, { recursive: true })
  const profile =
    context.values['profile'] === true ? { profileDirectory: context.outputDirectory } : {}
  const broker = await openOrrery({ directory, ...profile })
  const phases: Phase[] = []
  const run = async (name: string, next: () => LoadRequest | undefined): Promise<void> => {
    phases.push(await runPhase(context, broker, { name, next }))
  }
  try {
    await run('accepted', upTo(keyCount, sendOf))
    await run(
      'replaced',
      during(seconds, () => sendOf(Math.floor(Math.random() * keyCount))),
    )
    await run('cancelled by key', during(seconds, eachOnce(keyCount, cancelOf)))
  } finally {
    await broker.stop()
  }
  return findingsOf(phases, keyCount)
}

async function runPhase(
  context: BenchmarkContext,
  broker: OrreryBroker,
  { name, next }: { readonly name: string; readonly next: () => LoadRequest | undefined },
): Promise<Phase> {
  const memory = new MemoryWatch(broker.pid)
  const report = await load(broker.address, LOAD, next)
  const peakMiB = memory.stop()
  const rate = Math.round(report.answered / report.seconds)
  context.say(`${name}: ${report.answered}, ${rate}/s, peak ${peakMiB.toFixed(0)} MiB`)
  return { name, report, peakMiB }
}

function sendOf(number: number): LoadRequest {
  const deliverTimeMs = Date.now() + HOUR_MS + Math.floor(Math.random() * 23 * HOUR_MS)
  const properties = `ORRERY_KEY\\u0001order-${number}\\u0002TIMER_DELIVER_MS\\u0001${deliverTimeMs}\\u0002`
  const extFields =
    `{"a":"bench","b":"${TOPIC}","c":"TBW102","d":"${QUEUE_COUNT}","e":"${number % QUEUE_COUNT}",` +
    `"f":"0","g":"${Date.now()}","h":"0","i":"${properties}","j":"0","k":"false","m":"false"}`
  return { code: SEND, extFields, body: BODY }
}

function cancelOf(number: number): LoadRequest {
  return {
    code: CANCEL,
    extFields: `{"topic":"${TOPIC}","key":"order-${number}"}`,
    body: NOTHING,
  }
}

function upTo(count: number, of: (number: number) => LoadRequest): () => LoadRequest | undefined {
  let number = 0
  return () => (number < count ? of(number++) : undefined)
}

function during(
  seconds: number,
  next: () => LoadRequest | undefined,
): () => LoadRequest | undefined {
  const endMs = performance.now() + seconds * 1000
  return () => (performance.now() < endMs ? next() : undefined)
}

/** All numbers below `count` in an order without neighbours, none twice. */
function eachOnce(
  count: number,
  of: (number: number) => LoadRequest,
): () => LoadRequest | undefined {
  const step = stepOf(count)
  let number = 0
  let given = 0
  return () => {
    if (given++ >= count) return undefined
    number = (number + step) % count
    return of(number)
  }
}

/** Has no divisor with `count` in common. */
function stepOf(count: number): number {
  let step = Math.floor(count * 0.618) + 1
  while (divisorOf(step, count) !== 1) step++
  return step
}

function divisorOf(a: number, b: number): number {
  return b === 0 ? a : divisorOf(b, a % b)
}

function findingsOf(phases: readonly Phase[], keyCount: number): Findings {
  const label = keyCount.toLocaleString('en-US')
  const rates = phases.map(({ report }) => report.answered / report.seconds)
  const [, replaces = 0, cancels = 0] = rates
  const peakMiB = Math.max(...phases.map(phase => phase.peakMiB))
  const failed = phases.flatMap(({ name, report }) => {
    const others = Object.entries(report.codes).filter(([code]) => code !== '0')
    return others.map(([code, count]) => `${name}: ${count} × code ${code}`)
  })
  const metrics: Metric[] = phases.map(({ name }, index) => ({
    name: `${label} keys: ${name}`,
    unit: 'messages/s',
    better: 'higher',
    samples: [rates[index] ?? 0],
  }))
  const memory: Metric = {
    name: `${label} keys: peak memory`,
    unit: 'MiB',
    better: 'lower',
    samples: [peakMiB],
  }
  return {
    metrics: [...metrics, memory],
    goals: [
      {
        text: `replaced ${Math.round(replaces)}/s ≥ ${REPLACES_PER_SECOND_MIN}/s`,
        met: replaces >= REPLACES_PER_SECOND_MIN,
        required: false,
      },
      {
        text: `cancelled by key ${Math.round(cancels)}/s ≥ ${CANCELS_PER_SECOND_MIN}/s`,
        met: cancels >= CANCELS_PER_SECOND_MIN,
        required: false,
      },
      {
        text: `anonymous memory ${peakMiB.toFixed(0)} MiB ≤ ${ANONYMOUS_MIB_MAX} MiB`,
        met: peakMiB <= ANONYMOUS_MIB_MAX,
        required: false,
      },
      {
        text: `all done${failed.map(text => `; ${text}`).join('')}`,
        met: failed.length === 0,
        required: true,
      },
    ],
    facts: { load: LOAD, keyCount, phases },
  }
}
