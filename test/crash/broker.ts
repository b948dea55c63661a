import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import type { RunningChild } from '../support/child-process.ts'
import {
  logSize,
  type OrreryAddresses,
  orreryReady,
  startOrrery,
} from '../support/orrery-process.ts'

const ENTRY = 'dist/cli/main.js'
const READY_LIMIT_MS = 60_000
const POLL_MS = 1
/** Small, so that splits and new segments come often. */
const SMALL = [
  ...['--max-message-size', '64KiB', '--timer-load-bytes', '1MiB'],
  ...['--log-segment-bytes', '16MiB'],
]

/** One data folder and the broker that runs on it, one process after the other. */
export class CrashingBroker {
  readonly logFile: string
  readonly dataDirectory: string
  #child: RunningChild | undefined
  #logPosition = 0
  #isStruck = false

  constructor(directory: string) {
    if (!existsSync(ENTRY)) {
      throw new Error(`${ENTRY} is missing; run npm run build in the repository's folder first`)
    }
    this.logFile = join(directory, 'orrery.log')
    this.dataDirectory = join(directory, 'data')
  }

  /** Starts it and waits until it is ready. */
  async start(checkpointIntervalMs: number): Promise<OrreryAddresses> {
    const child = this.#exec(checkpointIntervalMs)
    const logPosition = this.#logPosition
    return orreryReady(child, this.logFile, { logPosition, limitMs: READY_LIMIT_MS })
  }

  /**
   * Starts it, waits until it has taken its folder, and kills it `afterMs` later. Whether it was
   * recovering then: it had its folder and was not ready.
   */
  async startAndKill(afterMs: number): Promise<boolean> {
    const child = this.#exec(READY_LIMIT_MS)
    while (!this.#holdsFolder() && child.exit === undefined) await sleep(POLL_MS)
    await sleep(afterMs)
    const isBegun = this.#holdsFolder()
    await this.kill()
    const text = readFileSync(this.logFile).subarray(this.#logPosition).toString('utf8')
    return isBegun && !text.includes('"nameserver"')
  }

  /** SIGKILL, at once. */
  strike(): void {
    this.#isStruck = true
    this.#child?.signal('SIGKILL')
  }

  /** SIGKILL, and waits for the end. Throws when it had ended by itself before. */
  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    this.#child = undefined
    const before = child.exit
    if (before !== undefined && !this.#isStruck) {
      const how = before.signal ?? before.code
      throw new Error(`the broker ended by itself (${how})\n${child.logTail()}`)
    }
    await child.kill()
  }

  /** The kernel knows the lock as a socket, whose name the folder's identity is part of. */
  #holdsFolder(): boolean {
    const { dev, ino } = statSync(this.dataDirectory, { bigint: true })
    return readFileSync('/proc/net/unix', 'latin1').includes(`@orrery-lock-${dev}-${ino}.`)
  }

  #exec(checkpointIntervalMs: number): RunningChild {
    this.#logPosition = logSize(this.logFile)
    this.#isStruck = false
    this.#child = startOrrery({
      entry: ENTRY,
      dataDirectory: this.dataDirectory,
      logFile: this.logFile,
      serveArgs: [...SMALL, '--checkpoint-interval-ms', `${checkpointIntervalMs}`],
    })
    return this.#child
  }
}
