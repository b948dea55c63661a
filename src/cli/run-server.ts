import type { Platform, Timer } from '../core/platform/index.ts'
import type { RunningServer } from '../server/index.ts'
import { exitCodes, type ExitCode } from './exit-code.ts'

/** Longest time from a signal to the end of starting and stopping; the process needs the rest of 5 s. */
const STOP_MS_MAX = 4500

export interface ServerRun {
  readonly platform: Pick<Platform, 'log' | 'timers'>
  readonly starting: Promise<RunningServer>
  /** Resolves when the server is to stop, be it ready or not. */
  readonly stopAsked: Promise<void>
  readonly onReady: (server: RunningServer) => void
}

/** Waits for the end of a server and stops it. Rejects when it cannot start. */
export async function runServer(run: ServerRun): Promise<ExitCode> {
  const { platform, starting, stopAsked, onReady } = run
  const server = await Promise.race([starting, stopAsked])
  if (server === undefined) {
    const stopping = starting.then(started => started.stop())
    return (await endsInTime(stopping, platform)) ? exitCodes.ok : exitCodes.failed
  }
  onReady(server)
  const failure = await Promise.race([server.failed, stopAsked])
  if (failure !== undefined) platform.log.error('the broker stops after a failure', failure)
  const stopped = await endsInTime(server.stop(), platform)
  return failure === undefined && stopped ? exitCodes.ok : exitCodes.failed
}

/** False when it took too long or failed; both are in the log. */
async function endsInTime(
  stopping: Promise<void>,
  platform: Pick<Platform, 'log' | 'timers'>,
): Promise<boolean> {
  let timer: Timer | undefined
  const late = new Promise<'late'>(resolve => {
    timer = platform.timers.after(STOP_MS_MAX, () => resolve('late'))
  })
  try {
    const outcome = await Promise.race([stopping, late])
    if (outcome === 'late') platform.log.error('stopping took too long and is given up')
    return outcome !== 'late'
  } catch (error) {
    platform.log.error('stopping failed', error)
    return false
  } finally {
    timer?.cancel()
  }
}
