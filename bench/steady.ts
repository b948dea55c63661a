import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { type BrokerClient, connectRemoting, ScheduledMessagesClient } from '../src/client/index.ts'
import { realPlatform } from '../src/core/platform/index.ts'
import { type Benchmark, type BenchmarkContext, type Findings, numberOption } from './benchmark.ts'
import { openOrrery } from './orrery.ts'
import { runOrload } from './orload.ts'
import type { Metric } from './result.ts'
import { spreadOf } from './statistics.ts'
import { warmUp } from './warm-up.ts'

const SHARE_MIN = 0.8
const LOAD = { conns: 4, inflight: 128, queues: 8, body: 128 }
/** Due soon enough that partitions are split while it is sent, and late enough that none is fired. */
const TIMERS = { 'due-spread-ms': '180000..480000' }
const TOPIC = 'steady'
const PAGE = { limit: 100 }
const PAGE_PAUSE_MS = 100

export const steady: Benchmark = {
  name: 'steady',
  summary:
    'sends a second of plain messages, and of timer messages that are split and listed meanwhile',
  options: {
    seconds: { type: 'string' },
    runs: { type: 'string' },
    'warmup-seconds': { type: 'string' },
  },
  help: [
    '--seconds N         length of a measurement (60)',
    '--runs N            interleaved runs of each kind (3)',
    '--warmup-seconds N  least warm-up; goes on until the rate stops growing (20)',
  ],
  run: measure,
}

type Kind = 'plain' | 'timers'

interface Sample {
  readonly kind: Kind
  readonly rate: number
  /** Messages that were listed meanwhile. */
  readonly listedCount: number
}

async function measure(context: BenchmarkContext): Promise<Findings> {
  const runCount = numberOption(context.values, 'runs', 3)
  const samples: Sample[] = []
  for (let run = 0; run < runCount; run++) {
    const kinds: readonly Kind[] = ['plain', 'timers']
    for (const kind of run % 2 === 0 ? kinds : kinds.toReversed()) {
      const sample = await measureOnce(context, kind)
      context.say(`run ${run + 1} of ${runCount}: ${sampleLine(sample)}`)
      samples.push(sample)
    }
  }
  return findingsOf(samples)
}

/** On a fresh folder. */
async function measureOnce(context: BenchmarkContext, kind: Kind): Promise<Sample> {
  const directory = join(context.workDirectory, 'orrery')
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  const broker = await openOrrery({ directory: join(directory, 'data') })
  try {
    await warmUp(context, broker, LOAD, numberOption(context.values, 'warmup-seconds', 20))
    const flags = kind === 'plain' ? LOAD : { ...LOAD, ...TIMERS }
    const lister = kind === 'plain' ? undefined : await Lister.start(broker.address)
    const { send } = await runOrload(context.orload, 'send', {
      ...flags,
      addr: broker.address,
      topic: TOPIC,
      seconds: numberOption(context.values, 'seconds', 60),
    })
    const listedCount = (await lister?.stop()) ?? 0
    return { kind, rate: send?.accepted_per_s ?? 0, listedCount }
  } finally {
    await broker.stop()
  }
}

/** Reads the list of what waits page by page, and begins again at its end. */
class Lister {
  readonly #client: BrokerClient
  #isStopped = false
  #listedCount = 0
  #running: Promise<void> = Promise.resolve()

  private constructor(client: BrokerClient) {
    this.#client = client
  }

  static async start(brokerAddress: string): Promise<Lister> {
    const platform = realPlatform({ logLevel: 'error' })
    const lister = new Lister(await connectRemoting({ platform, broker: brokerAddress }))
    lister.#running = lister.#run()
    return lister
  }

  /** Resolves with how many messages were listed. */
  async stop(): Promise<number> {
    this.#isStopped = true
    await this.#running
    await this.#client.close()
    return this.#listedCount
  }

  async #run(): Promise<void> {
    const scheduled = new ScheduledMessagesClient(this.#client)
    let cursor: string | undefined
    while (!this.#isStopped) {
      const page = await scheduled.list({ topic: TOPIC }, { ...PAGE, cursor })
      this.#listedCount += page.messages.length
      cursor = page.nextCursor
      await sleep(PAGE_PAUSE_MS)
    }
  }
}

function sampleLine({ kind, rate, listedCount }: Sample): string {
  return `${kind}: ${Math.round(rate)}/s, ${listedCount} listed`
}

function findingsOf(samples: readonly Sample[]): Findings {
  const rates = (kind: Kind): readonly number[] =>
    samples.filter(sample => sample.kind === kind).map(({ rate }) => rate)
  const share = spreadOf(rates('timers')).median / spreadOf(rates('plain')).median
  const metric = (kind: Kind): Metric => {
    return { name: `sends: ${kind}`, unit: 'messages/s', better: 'higher', samples: rates(kind) }
  }
  return {
    metrics: [metric('plain'), metric('timers')],
    goals: [
      {
        text: `timers, split and listed, are taken in at ${share.toFixed(2)} of the rate of plain messages ≥ ${SHARE_MIN}`,
        met: share >= SHARE_MIN,
        required: false,
      },
    ],
    facts: { load: LOAD, timers: TIMERS, samples },
  }
}
