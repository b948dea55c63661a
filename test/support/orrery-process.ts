import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

import { RunningChild } from './child-process.ts'

export interface OrreryStart {
  /** The compiled `cli/main.js`. */
  readonly entry: string
  readonly dataDirectory: string
  /** Takes the ready line and the log. */
  readonly logFile: string
  /** 0 or absent: any free port. */
  readonly remotingPort?: number
  readonly nameserverPort?: number
  readonly nodeArgs?: readonly string[]
  /** Further options of `serve`. */
  readonly serveArgs?: readonly string[]
}

/** What the ready line of `serve --json` says. */
export interface OrreryAddresses {
  /** `host:port`. */
  readonly nameserver: string
  readonly remoting: string
}

/** A broker in a process of its own. Returns at once; wait with `orreryReady`. */
export function startOrrery(start: OrreryStart): RunningChild {
  mkdirSync(start.dataDirectory, { recursive: true })
  return new RunningChild({
    command: process.execPath,
    args: [
      ...(start.nodeArgs ?? []),
      start.entry,
      'serve',
      '--data',
      start.dataDirectory,
      '--nameserver-port',
      String(start.nameserverPort ?? 0),
      '--remoting-port',
      String(start.remotingPort ?? 0),
      '--json',
      ...(start.serveArgs ?? []),
    ],
    logFile: start.logFile,
  })
}

/** Bytes in the log so far: where the ready line of the next start is to be looked for. */
export function logSize(logFile: string): number {
  return statSync(logFile, { throwIfNoEntry: false })?.size ?? 0
}

/**
 * Waits for the ready line behind `logPosition`. Throws with the end of the log when the process
 * ends first or `limitMs` passes.
 */
export async function orreryReady(
  child: RunningChild,
  logFile: string,
  options: { readonly logPosition?: number; readonly limitMs?: number } = {},
): Promise<OrreryAddresses> {
  const limitMs = options.limitMs ?? 60_000
  for (;;) {
    const text = readFileSync(logFile)
      .subarray(options.logPosition ?? 0)
      .toString('utf8')
    const addresses = findReadyLine(text)
    if (addresses !== undefined) return addresses
    if (child.exit !== undefined) {
      const { code, signal } = child.exit
      throw new Error(
        `the broker ended (${signal ?? code}) before it was ready\n${child.logTail()}`,
      )
    }
    if (Date.now() - child.startedAtMs > limitMs) {
      throw new Error(`the broker was not ready after ${limitMs} ms\n${child.logTail()}`)
    }
    await sleep(10)
  }
}

function findReadyLine(text: string): OrreryAddresses | undefined {
  // The last piece may be half a line.
  for (const line of text.split('\n').slice(0, -1)) {
    const value = parseObject(line)
    const { nameserver, remoting } = value
    if (typeof nameserver === 'string' && typeof remoting === 'string') {
      return { nameserver, remoting }
    }
  }
  return undefined
}

/** Lines that are not a JSON object, such as a stack trace, count as empty ones. */
function parseObject(line: string): { nameserver?: unknown; remoting?: unknown } {
  if (!line.startsWith('{')) return {}
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}
