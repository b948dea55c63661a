import { existsSync } from 'node:fs'
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

/** One data folder and the broker that runs on it, one process after the other. */
export class CrashingBroker {
  readonly logFile: string
  readonly #dataDirectory: string
  #child: RunningChild | undefined

  constructor(directory: string) {
    if (!existsSync(ENTRY)) {
      throw new Error(`${ENTRY} is missing; run npm run build in the repository's folder first`)
    }
    this.logFile = join(directory, 'orrery.log')
    this.#dataDirectory = join(directory, 'data')
  }

  /** Starts it and waits until it is ready. */
  async start(): Promise<OrreryAddresses> {
    const logPosition = logSize(this.logFile)
    const child = this.#exec()
    return orreryReady(child, this.logFile, { logPosition, limitMs: READY_LIMIT_MS })
  }

  /** Starts it and kills it `afterMs` later, wherever it is by then. */
  async startAndKill(afterMs: number): Promise<void> {
    this.#exec()
    await sleep(afterMs)
    await this.kill()
  }

  /** SIGKILL. Throws when it had ended by itself before. */
  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    this.#child = undefined
    const before = child.exit
    if (before !== undefined) {
      const how = before.signal ?? before.code
      throw new Error(`the broker ended by itself (${how})\n${child.logTail()}`)
    }
    await child.kill()
  }

  #exec(): RunningChild {
    this.#child = startOrrery({
      entry: ENTRY,
      dataDirectory: this.#dataDirectory,
      logFile: this.logFile,
    })
    return this.#child
  }
}
