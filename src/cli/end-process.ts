import type { ExitCode } from './exit-code.ts'

/** How long a call on the disk that is under way may hold up the end of the process. */
const DISK_GRACE_MS = 100

/**
 * Ends the process with this code. Node waits for calls on the disk then, so one that hangs would
 * keep the process for good: it ends as by SIGKILL instead.
 */
export function endProcess(code: ExitCode): void {
  if (!isDiskBusy()) process.exit(code)
  setTimeout(() => {
    if (isDiskBusy()) process.kill(process.pid, 'SIGKILL')
    process.exit(code)
  }, DISK_GRACE_MS)
}

function isDiskBusy(): boolean {
  return process.getActiveResourcesInfo().some(name => name.startsWith('FSReq'))
}
