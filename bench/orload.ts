import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'

import { UsageError } from './benchmark.ts'

const SOURCE = '../shared/tools/orload'
const BUILT = '.cache/orload'

/**
 * The load generator: the given program, else one built with Go from the sources that lie beside
 * the repository. It is no part of the repository, so that brokers are not judged by a tool of
 * their own authors.
 */
export async function findOrload(given: string | undefined): Promise<string> {
  if (given !== undefined) {
    if (existsSync(given)) return resolve(given)
    throw new UsageError(`there is no load generator at ${given}`)
  }
  if (existsSync(`${SOURCE}/main.go`)) {
    await run('go', ['build', '-o', resolve(BUILT), '.'], resolve(SOURCE))
    return resolve(BUILT)
  }
  if (existsSync(BUILT)) return resolve(BUILT)
  throw new UsageError(
    `the load generator orload is missing: put its sources at ${SOURCE} (Go is needed to build them), ` +
      'or name the program with --orload FILE or ORLOAD=FILE',
  )
}

/** What `orload` reports; only the fields that we read. Times in milliseconds. */
export interface OrloadReport {
  readonly send?: {
    readonly sent: number
    readonly accepted: number
    readonly refused: number
    readonly unanswered: number
    readonly seconds: number
    readonly accepted_per_s: number
    readonly ack_ms: Quantiles
    readonly errors: readonly { readonly code: number; readonly n: number }[] | null
  }
  readonly send_cpu?: Cpu
  readonly total_cpu?: Cpu
  readonly recv?: {
    readonly distinct: number
    readonly expected: number
    readonly missing: number
    readonly duplicates: number
    readonly early: number
    readonly early_by_store_time: number
    readonly lateness_ms: Quantiles
  }
  readonly disk_bytes_per_message?: number
}

export interface Quantiles {
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}

interface Cpu {
  readonly generator_cores: number
  readonly broker_cores?: number
  readonly machine_busy_cores: number
  readonly broker_anon_mb?: number
}

/** Runs `send`, `both` or `burst` to its end. */
export async function runOrload(
  orload: string,
  command: 'send' | 'both' | 'burst',
  flags: Readonly<Record<string, string | number>>,
): Promise<OrloadReport> {
  return JSON.parse(await lastLine(orload, [command, ...flagList(flags)]))
}

/** The broker's runtime table (request code 28). */
export async function runtimeTable(
  orload: string,
  address: string,
): Promise<Readonly<Record<string, string>>> {
  return JSON.parse(await lastLine(orload, ['stat', '--addr', address]))
}

/** Sends until the broker is killed; resolves when the generator has seen that. */
export async function sendUntilBroken(
  orload: string,
  flags: Readonly<Record<string, string | number>>,
): Promise<OrloadReport> {
  return JSON.parse(await lastLine(orload, ['send', ...flagList(flags), '--quit-on-break']))
}

export interface ProbeReport {
  readonly connected_s: number
  /** Seconds from `sinceMs` to the acceptance of the first delayed message. */
  readonly accepted_s: number
}

/** Redials until one message due in an hour is accepted. Throws after `limitSeconds`. */
export async function probe(
  orload: string,
  options: { readonly address: string; readonly sinceMs: number; readonly limitSeconds: number },
): Promise<ProbeReport> {
  const flags = {
    addr: options.address,
    since: options.sinceMs,
    limit: `${options.limitSeconds}s`,
  }
  return JSON.parse(await lastLine(orload, ['probe', ...flagList(flags)]))
}

function flagList(flags: Readonly<Record<string, string | number>>): readonly string[] {
  return Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)])
}

/** The report is the last line of the output. */
function lastLine(orload: string, args: readonly string[]): Promise<string> {
  return new Promise((fulfil, reject) => {
    const child = spawn(orload, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    let errors = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
    child.once('error', reject)
    child.once('close', code => {
      const line = output.trimEnd().split('\n').at(-1) ?? ''
      if (code === 0 && line !== '') {
        fulfil(line)
      } else {
        reject(new Error(`orload ${args[0]} ended with ${code}\n${errors}${output}`))
      }
    })
  })
}

function run(command: string, args: readonly string[], directory: string): Promise<void> {
  return new Promise((fulfil, reject) => {
    execFile(command, args, { cwd: directory }, (error, _output, errors) => {
      if (error === null) fulfil()
      else reject(new Error(`${command} ${args.join(' ')} failed\n${errors}`, { cause: error }))
    })
  })
}
