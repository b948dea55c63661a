import { LongLife } from './long-life.ts'
import { Violation } from './violation.ts'

const MIB = 1024 * 1024
const SECOND_MS = 1000

/** Plays a long life with a message a second and prints what came of it; whether all was well. */
export async function reportLongLife(plan: {
  readonly seed: number
  readonly days: number
}): Promise<boolean> {
  const startMs = performance.now()
  const seconds = (): string => `${((performance.now() - startMs) / SECOND_MS).toFixed(0)} s`
  const onDay = ({ ledger, dayCount, diskBytesMax }: LongLife): void => {
    const disk = `${(diskBytesMax / MIB).toFixed(1)} MiB of disk at most`
    const counts = `${ledger.deliveredCount} of ${ledger.sentCount} delivered`
    console.log(`day ${dayCount}: ${counts}, ${disk}, after ${seconds()}`)
  }
  const life = new LongLife({ ...plan, sendEveryMs: SECOND_MS, onDay })
  try {
    await life.live()
  } catch (error) {
    const isViolation = error instanceof Violation
    console.log(isViolation ? `invariant ${error.invariant}: ${error.message}` : error)
    console.log('0 passed, 1 failed')
    return false
  }
  const { ledger, diskBytesMax, diskShareMax } = life
  console.log(
    `${ledger.deliveredCount} messages, each delivered in its millisecond, in ${seconds()}`,
  )
  console.log(`at most ${(ledger.waitingBytesMax / MIB).toFixed(1)} MiB of messages waited`)
  const share = `${(100 * diskShareMax).toFixed(0)} % of what is permitted`
  console.log(`at most ${(diskBytesMax / MIB).toFixed(1)} MiB of disk were in use, ${share}`)
  console.log('1 passed, 0 failed')
  return true
}
