/** Starts other programs, and makes sure that none of them outlives this one. */
import { spawn, type ChildProcess } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

export interface Command {
  readonly program: string
  readonly args: readonly string[]
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

export interface Outcome {
  /** Null when the program was ended by a signal. */
  readonly exitCode: number | null
  readonly isTimedOut: boolean
  readonly lines: readonly string[]
  /** The end of what was written to standard error. */
  readonly complaints: string
}

const STOP_MS = 30_000
const COMPLAINTS_LENGTH_MAX = 2_000
const running = new Set<ChildProcess>()

/** Kills what is still running. For the end of this process, however it comes. */
export function killAll(): void {
  for (const child of running) signal(child, 'SIGKILL')
}

/** Each program leads a process group, so that what it starts in turn ends with it. */
export function start(command: Command): ChildProcess {
  const child = spawn(command.program, command.args, {
    cwd: command.cwd,
    detached: true,
    env: { ...process.env, ...command.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  child.once('error', () => running.delete(child))
  return child
}

/** Runs a program to its end, at most `timeoutMs`; then it is killed. */
export async function run(command: Command, timeoutMs: number): Promise<Outcome> {
  const child = start(command)
  let output = ''
  let complaints = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints = (complaints + text).slice(-COMPLAINTS_LENGTH_MAX)
  })
  let isTimedOut = false
  const timer = setTimeout(() => {
    isTimedOut = true
    signal(child, 'SIGKILL')
  }, timeoutMs)
  try {
    const exitCode = await new Promise<number | null>((resolve, reject) => {
      child.once('close', resolve)
      child.once('error', reject)
    })
    const lines = output.split('\n').filter(line => line !== '')
    return { exitCode, isTimedOut, lines, complaints: complaints.trim() }
  } finally {
    clearTimeout(timer)
  }
}

/** Runs a program that has to succeed. */
export async function runOrThrow(command: Command, timeoutMs: number): Promise<void> {
  const outcome = await run(command, timeoutMs)
  if (outcome.exitCode === 0) return
  const text = [command.program, ...command.args].join(' ')
  const how = outcome.isTimedOut
    ? `took more than ${timeoutMs} ms`
    : `ended with ${outcome.exitCode}`
  throw new Error(`${text} ${how}: ${outcome.complaints} ${outcome.lines.slice(-5).join(' ')}`)
}

/** Asks a program to end, and waits. Returns its exit code, or null when it had to be killed. */
export async function stop(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const ended = new Promise<number | null>(resolve => child.once('exit', resolve))
  const timer = setTimeout(() => signal(child, 'SIGKILL'), STOP_MS)
  child.kill('SIGTERM')
  const exitCode = await ended
  clearTimeout(timer)
  return exitCode
}

/** Names those of the programs that are not on the PATH. */
export function missingPrograms(programs: readonly string[]): readonly string[] {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return programs.filter(program => !folders.some(folder => isExecutable(join(folder, program))))
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function signal(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, name)
  } catch {
    // It has ended in the meantime.
  }
}
