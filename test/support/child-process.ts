import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'

export interface ChildStart {
  readonly command: string
  readonly args: readonly string[]
  /** Takes what the program writes, both streams; a later start appends. */
  readonly logFile: string
  readonly environment?: Readonly<Record<string, string>>
}

export interface ChildExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A program that runs beside us, with its output in a file. It is killed when we exit. */
export class RunningChild {
  readonly pid: number
  /** When the program was started, in milliseconds since 1970. */
  readonly startedAtMs: number
  /** Resolves when the program has ended, for whatever reason. */
  readonly exited: Promise<ChildExit>
  readonly #child: ChildProcess
  readonly #logFile: string
  readonly #onExit: () => void
  #exit: ChildExit | undefined

  constructor(start: ChildStart) {
    const log = openSync(start.logFile, 'a')
    this.startedAtMs = Date.now()
    this.#child = spawn(start.command, start.args, {
      stdio: ['ignore', log, log],
      env: { ...process.env, ...start.environment },
    })
    closeSync(log)
    this.#logFile = start.logFile
    this.#onExit = () => this.#child.kill('SIGKILL')
    process.once('exit', this.#onExit)
    this.exited = new Promise((resolve, reject) => {
      this.#child.once('error', reject)
      this.#child.once('exit', (code, signal) => {
        this.#exit = { code, signal }
        process.removeListener('exit', this.#onExit)
        resolve(this.#exit)
      })
    })
    // A program that cannot be started shows where `exited` is awaited; without anybody waiting
    // it must not end the whole test.
    this.exited.catch(() => undefined)
    this.pid = this.#child.pid ?? 0
  }

  /** How it ended; `undefined` while it runs. */
  get exit(): ChildExit | undefined {
    return this.#exit
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.exited
  }

  /** Asks it to end; kills it after `graceMs` and then throws. */
  async stop(graceMs: number): Promise<void> {
    this.#child.kill('SIGTERM')
    let late = false
    const killer = setTimeout(() => {
      late = true
      this.#child.kill('SIGKILL')
    }, graceMs)
    await this.exited
    clearTimeout(killer)
    if (late) throw new Error(`did not stop within ${graceMs} ms of SIGTERM\n${this.logTail()}`)
  }

  /** The last lines that it wrote. */
  logTail(lineCount = 20): string {
    return readFileSync(this.#logFile, 'utf8').trimEnd().split('\n').slice(-lineCount).join('\n')
  }
}
