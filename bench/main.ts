/** `npm run bench -- NAME [options]`: see docs/operations/benchmarks.md. */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

import { backlog } from './backlog.ts'
import { type Benchmark, type Options, UsageError, type Values } from './benchmark.ts'
import { herd } from './herd.ts'
import { keys } from './keys.ts'
import { lateness } from './lateness.ts'
import { findOrload } from './orload.ts'
import { makeResult, printResult, recordResult } from './result.ts'
import { send } from './send.ts'
import { steady } from './steady.ts'

const BENCHMARKS: readonly Benchmark[] = [send, lateness, herd, backlog, keys, steady]
const PLACE = /^--(?:orload|directory)(?:=|$)/
const PLACE_THEN_VALUE = /^--(?:orload|directory)$/
const OUTPUT_DIRECTORY = '.cache/bench-output'

const RUNNER_OPTIONS: Options = {
  orload: { type: 'string' },
  directory: { type: 'string' },
  'no-record': { type: 'boolean' },
  help: { type: 'boolean' },
}

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args
  if (name === undefined || name === '--help' || name === 'help') {
    printHelp()
    return name === undefined ? 2 : 0
  }
  const benchmark = BENCHMARKS.find(candidate => candidate.name === name)
  if (benchmark === undefined) {
    throw new UsageError(`there is no benchmark ${name}; try --help`)
  }
  const values = parse(benchmark, rest)
  if (values['help'] === true) {
    printHelp()
    return 0
  }
  checkPlace()
  const orload = await findOrload(textOption(values, 'orload') ?? process.env['ORLOAD'])
  const workDirectory = resolve(textOption(values, 'directory') ?? '.cache', 'bench-work')
  rmSync(workDirectory, { recursive: true, force: true })
  mkdirSync(workDirectory, { recursive: true })
  mkdirSync(OUTPUT_DIRECTORY, { recursive: true })
  try {
    const findings = await benchmark.run({
      values,
      orload,
      workDirectory,
      outputDirectory: resolve(OUTPUT_DIRECTORY),
      say: line => console.log(line),
    })
    const result = makeResult(name, commandLine(name, rest), findings)
    printResult(result)
    if (values['no-record'] !== true) console.log(`recorded in ${recordResult(result)}`)
    return findings.goals.some(goal => goal.required && !goal.met) ? 1 : 0
  } finally {
    rmSync(workDirectory, { recursive: true, force: true })
  }
}

function parse(benchmark: Benchmark, args: readonly string[]): Values {
  try {
    const options = { ...RUNNER_OPTIONS, ...benchmark.options }
    const { values } = parseArgs({ args: [...args], options, strict: true })
    // No option may be given twice, so there are no lists.
    return Object.fromEntries(
      Object.entries(values).map(([key, value]) => [key, Array.isArray(value) ? undefined : value]),
    )
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

function textOption(values: Values, name: string): string | undefined {
  const value = values[name]
  return typeof value === 'string' ? value : undefined
}

/** Without the options that name places on this machine. */
function commandLine(name: string, args: readonly string[]): string {
  const kept = args.filter(
    (arg, index) => !PLACE.test(arg) && !PLACE_THEN_VALUE.test(args[index - 1] ?? ''),
  )
  return ['npm run bench --', name, ...kept].join(' ')
}

/** Paths are relative to the repository, where `npm run` starts us. */
function checkPlace(): void {
  const file = 'package.json'
  const isHere = existsSync(file) && readFileSync(file, 'utf8').includes('"name": "orrery"')
  if (!isHere) throw new UsageError("run it from the repository's folder: npm run bench -- NAME")
}

function printHelp(): void {
  const lines = [
    'npm run bench -- NAME [options]',
    '',
    ...BENCHMARKS.flatMap(({ name, summary, help }) => [
      `${name}: ${summary}`,
      ...help.map(line => `  ${line}`),
      '',
    ]),
    'every benchmark',
    '  --orload FILE       the load generator (else ORLOAD, else built from ../shared/tools/orload)',
    '  --directory DIR     where the brokers keep their data (.cache)',
    '  --no-record         print the result, leave bench/results alone',
  ]
  console.log(lines.join('\n'))
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  console.error(error.message)
  process.exitCode = 2
}
