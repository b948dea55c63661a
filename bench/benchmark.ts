import type { ParseArgsConfig } from 'node:util'

import type { Metric } from './result.ts'

export type Options = NonNullable<ParseArgsConfig['options']>
export type Values = Readonly<Record<string, string | boolean | undefined>>

/** One benchmark; a file each. */
export interface Benchmark {
  readonly name: string
  /** What it measures, in one line. */
  readonly summary: string
  /** Its own options, beside those of the runner. */
  readonly options: Options
  /** One line an option, for the help text. */
  readonly help: readonly string[]
  run(context: BenchmarkContext): Promise<Findings>
}

export interface BenchmarkContext {
  readonly values: Values
  /** The neutral load generator. */
  readonly orload: string
  /** An empty folder on a real disk; removed afterwards. */
  readonly workDirectory: string
  /** Where profiles are left. */
  readonly outputDirectory: string
  /** Progress, for people. */
  say(line: string): void
}

export interface Findings {
  readonly metrics: readonly Metric[]
  /** What the figures were to be, and whether they were. */
  readonly goals: readonly Goal[]
  /** Facts that are no metric: settings of the peers, disk, notes. */
  readonly facts: Readonly<Record<string, unknown>>
}

export interface Goal {
  readonly text: string
  readonly met: boolean
  /** The run itself is worth nothing when this one is missed: messages lost or early. */
  readonly required: boolean
}

/** A positive whole number, or the given default when the option is absent. */
export function numberOption(values: Values, name: string, byDefault: number): number {
  const text = values[name]
  if (text === undefined) return byDefault
  const value = typeof text === 'string' ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new UsageError(`--${name} takes a positive whole number, not ${String(text)}`)
  }
  return value
}

/** Shown without a stack trace. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
