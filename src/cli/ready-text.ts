import type { RunningServer } from '../server/index.ts'

type Started = Pick<RunningServer, 'addresses' | 'dataDirectory'>

/** The line that says where the broker can be reached: for people, or for scripts. */
export function readyText(started: Started, version: string, json: boolean): string {
  const { addresses, dataDirectory } = started
  if (json) {
    return JSON.stringify({ ready: true, version, pid: process.pid, ...addresses, dataDirectory })
  }
  const fast = addresses.fastRemoting === undefined ? '' : ` and ${addresses.fastRemoting}`
  return (
    `orrery ${version} is ready: name server ${addresses.nameserver}, ` +
    `broker ${addresses.remoting}${fast}, data in ${dataDirectory}`
  )
}
