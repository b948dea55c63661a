import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'

const MAIN = 'dist/cli/main.js'

/** Used by vitest before the first test: the tests run what users run. */
export function setup(): void {
  const { status } = spawnSync(process.execPath, ['scripts/build-if-stale.mjs'], {
    stdio: 'inherit',
  })
  if (status !== 0) throw new Error('the build failed')
}

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface CommandInput {
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
}

/** One command line, from its start on. Killed when the test process ends. */
export class BuiltCommand {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #closed: Promise<unknown>
  #stdout = ''
  #stderr = ''

  constructor(args: readonly string[], input: CommandInput = {}) {
    this.#child = spawn(process.execPath, [MAIN, ...args], {
      env: { PATH: process.env['PATH'], ...input.env },
    })
    this.#child.stdin.end(input.stdin ?? '')
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text
    })
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text
    })
    this.#closed = once(this.#child, 'close')
    const kill = (): void => {
      this.#child.kill('SIGKILL')
    }
    process.once('exit', kill)
    this.#child.once('close', () => process.off('exit', kill))
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async outcome(): Promise<Outcome> {
    await this.#closed
    return { code: this.#child.exitCode, stdout: this.#stdout, stderr: this.#stderr }
  }

  /** Waits for something on standard error. */
  async firstComplaint(): Promise<void> {
    if (this.#stderr === '') await Promise.race([once(this.#child.stderr, 'data'), this.#closed])
  }

  /** The first line on standard output. Fails with all output when the command ends before it. */
  async firstLine(): Promise<string> {
    while (!this.#stdout.includes('\n')) {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        const { code, stderr } = await this.outcome()
        throw new Error(`ended with ${code} before its first line\n${stderr}`)
      }
      await Promise.race([once(this.#child.stdout, 'data'), this.#closed])
    }
    return this.#stdout.slice(0, this.#stdout.indexOf('\n'))
  }
}

/** Runs a command line to its end. */
export function runCommand(args: readonly string[], input: CommandInput = {}): Promise<Outcome> {
  return new BuiltCommand(args, input).outcome()
}
