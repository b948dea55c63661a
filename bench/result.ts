import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'

import type { Findings, Goal } from './benchmark.ts'
import { spreadOf } from './statistics.ts'

export const RESULTS_DIRECTORY = 'bench/results'
const TABLE = 'README.md'
/** Smaller changes than this are noise on a machine that others share. */
const NOISE = 0.05

/** As the kernel numbers them. */
const FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0xef53, 'ext4'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x01021994, 'tmpfs'],
  [0x794c7630, 'overlay'],
])

export interface Metric {
  readonly name: string
  readonly unit: string
  readonly better: 'higher' | 'lower'
  readonly samples: readonly number[]
}

interface Figure extends Metric {
  readonly min: number
  readonly median: number
  readonly max: number
}

interface Change {
  readonly name: string
  readonly before: number
  readonly now: number
  readonly verdict: 'better' | 'worse' | 'same'
}

export interface Result {
  readonly benchmark: string
  readonly date: string
  readonly commit: string
  readonly command: string
  readonly machine: Readonly<Record<string, string | number>>
  readonly figures: readonly Figure[]
  readonly goals: readonly Goal[]
  readonly facts: Readonly<Record<string, unknown>>
  /** Against the last recorded run of this benchmark, if there is one. */
  readonly changes: readonly Change[]
  readonly comparedWith: string | undefined
}

/** Puts figures, machine and comparison together. `command` must name no local paths. */
export function makeResult(benchmark: string, command: string, findings: Findings): Result {
  const figures = findings.metrics.map(metric => ({ ...metric, ...spreadOf(metric.samples) }))
  const previous = lastResult(benchmark)
  return {
    benchmark,
    date: new Date().toISOString().slice(0, 19).concat('Z'),
    commit: commitName(),
    command,
    machine: machineFacts(),
    figures,
    goals: findings.goals,
    facts: findings.facts,
    changes: previous === undefined ? [] : changesSince(previous.figures, figures),
    comparedWith: previous?.commit,
  }
}

/** Returns the path of the file. The table gets one line more. */
export function recordResult(result: Result): string {
  mkdirSync(RESULTS_DIRECTORY, { recursive: true })
  const name = `${result.benchmark}-${result.date.replaceAll(':', '').replace('T', '-')}.json`
  const path = join(RESULTS_DIRECTORY, name)
  writeFileSync(path, `${JSON.stringify(result, undefined, 2)}\n`)
  const table = join(RESULTS_DIRECTORY, TABLE)
  const before = existsSync(table) ? readFileSync(table, 'utf8') : TABLE_HEAD
  const figures = result.figures
    .map(figure => `${figure.name}: ${shown(figure.median)} ${figure.unit}`)
    .join('; ')
  const worse = result.changes.filter(change => change.verdict === 'worse').map(worsened)
  const cells = [
    `[${result.date.slice(0, 10)}](${name})`,
    result.benchmark,
    result.commit,
    figures,
    worse.join('; ') || '–',
  ]
  writeFileSync(table, `${before.trimEnd()}\n| ${cells.join(' | ')} |\n`)
  return path
}

const TABLE_HEAD = `# Recorded results

Medians; the linked files hold every sample, the machine and the command. How to read them:
[benchmarks](../../docs/operations/benchmarks.md).

| date | benchmark | commit | medians | worse than the run before |
| --- | --- | --- | --- | --- |
`

export function printResult(result: Result): void {
  for (const figure of result.figures) {
    const { name, min, median, max, unit, samples } = figure
    const spread = samples.length > 1 ? ` (${shown(min)} to ${shown(max)})` : ''
    console.log(`${name.padEnd(44)} ${shown(median).padStart(10)} ${unit}${spread}`)
  }
  for (const change of result.changes.filter(({ verdict }) => verdict === 'worse')) {
    console.log(`worse than ${result.comparedWith}: ${worsened(change)}`)
  }
  for (const goal of result.goals) console.log(`${goal.met ? 'met   ' : 'MISSED'}  ${goal.text}`)
}

function worsened(change: Change): string {
  return `${change.name} ${shown(change.before)} → ${shown(change.now)}`
}

export function shown(value: number): string {
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-US')
  return String(Number(value.toPrecision(3)))
}

function changesSince(before: readonly Figure[], now: readonly Figure[]): readonly Change[] {
  return now.flatMap(figure => {
    const old = before.find(({ name }) => name === figure.name)
    if (old === undefined) return []
    const growth = (figure.median - old.median) / Math.max(Math.abs(old.median), 1e-9)
    const gain = figure.better === 'higher' ? growth : -growth
    const verdict = Math.abs(gain) <= NOISE ? 'same' : gain > 0 ? 'better' : 'worse'
    return [{ name: figure.name, before: old.median, now: figure.median, verdict }] as const
  })
}

function lastResult(benchmark: string): Result | undefined {
  if (!existsSync(RESULTS_DIRECTORY)) return undefined
  const pattern = new RegExp(`^${benchmark}-\\d{4}-.*\\.json$`)
  const last = readdirSync(RESULTS_DIRECTORY)
    .filter(name => pattern.test(name))
    .toSorted()
    .at(-1)
  if (last === undefined) return undefined
  return JSON.parse(readFileSync(join(RESULTS_DIRECTORY, last), 'utf8'))
}

/** With `+` when the working tree differs from the commit. */
function commitName(): string {
  try {
    // Earlier results and the table may be new; they change nothing that is measured.
    const changed = git('status', '--porcelain', '--', '.', `:!${RESULTS_DIRECTORY}`)
    return git('rev-parse', '--short', 'HEAD') + (changed === '' ? '' : '+')
  } catch {
    return 'unknown'
  }
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}

function fileSystemName(): string {
  const { type } = statfsSync('.')
  return FILE_SYSTEMS.get(type) ?? `0x${type.toString(16)}`
}

function machineFacts(): Readonly<Record<string, string | number>> {
  const processors = cpus()
  return {
    processor: processors[0]?.model ?? 'unknown',
    cores: processors.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    fileSystem: fileSystemName(),
    node: process.version,
    loadBeforeReport: Number((loadavg()[0] ?? 0).toFixed(2)),
  }
}
