import { existsSync, mkdirSync } from 'node:fs'
import { resolve } from 'node:path'

import type { RunningChild } from '../test/support/child-process.ts'
import { logSize, orreryReady, startOrrery } from '../test/support/orrery-process.ts'
import { UsageError } from './benchmark.ts'
import type { Broker } from './broker.ts'

const ENTRY = 'dist/cli/main.js'
const STOP_LIMIT_MS = 30_000

export interface OrreryBroker extends Broker {
  /** When the process was started, in milliseconds since 1970. */
  readonly startedAtMs: number
  /** SIGKILL. */
  kill(): Promise<void>
  /** What it wrote last, for the report of a failure. */
  logTail(): string
}

export interface OrreryFolder {
  readonly directory: string
  /** Ports of an earlier start, so that a probe knows where to knock; absent: free ones. */
  readonly remotingPort?: number
  /** Leaves a CPU profile of every thread in this folder when it is stopped cleanly. */
  readonly profileDirectory?: string
}

/** The broker under `dist`, with its defaults. Resolves when it is ready. */
export async function openOrrery(folder: OrreryFolder): Promise<OrreryBroker> {
  const { child, logPosition, logFile } = execOrrery(folder)
  try {
    const addresses = await orreryReady(child, logFile, { logPosition })
    return orreryBroker(child, addresses.remoting)
  } catch (error) {
    await child.kill()
    throw error
  }
}

/** Starts it and does not wait. The folder must name the port. */
export function launchOrrery(
  folder: OrreryFolder & { readonly remotingPort: number },
): OrreryBroker {
  return orreryBroker(execOrrery(folder).child, `127.0.0.1:${folder.remotingPort}`)
}

function execOrrery(folder: OrreryFolder): {
  readonly child: RunningChild
  readonly logPosition: number
  readonly logFile: string
} {
  if (!existsSync(ENTRY)) {
    throw new UsageError(`${ENTRY} is missing; run npm run build in the repository's folder`)
  }
  mkdirSync(folder.directory, { recursive: true })
  const logFile = resolve(folder.directory, '..', 'orrery.log')
  const logPosition = logSize(logFile)
  const child = startOrrery({
    entry: ENTRY,
    dataDirectory: folder.directory,
    logFile,
    remotingPort: folder.remotingPort ?? 0,
    nodeArgs:
      folder.profileDirectory === undefined
        ? []
        : ['--cpu-prof', `--cpu-prof-dir=${folder.profileDirectory}`],
  })
  return { child, logPosition, logFile }
}

function orreryBroker(child: RunningChild, address: string): OrreryBroker {
  return {
    name: 'orrery',
    address,
    pid: child.pid,
    startedAtMs: child.startedAtMs,
    stop: () => child.stop(STOP_LIMIT_MS),
    kill: () => child.kill(),
    logTail: () => child.logTail(5),
  }
}
