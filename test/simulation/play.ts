import { checkAllDelivered, checkFoldersEmpty } from './checks.ts'
import { operate, operateAs } from './operations.ts'
import type { Bug } from './setting.ts'
import { Simulation, TOPICS } from './simulation.ts'
import { Violation } from './violation.ts'

const PERM_OPEN = 6
const ROUNDS_MAX = 400
const DAY_MS = 86_400_000
/** Beyond the coarsest partition of the latest message. */
const FAR_MS = 200 * DAY_MS

export interface SeedResult {
  readonly seed: number
  /** Digest of all that happened: equal for equal runs. */
  readonly trace: number
  readonly counts: Readonly<Record<string, number>>
  readonly faults: Readonly<Record<string, number>>
  readonly violation: string | undefined
}

export interface SeedRequest {
  readonly seed: number
  readonly operations: number
  readonly bug: Bug
  readonly isVerbose: boolean
}

let unhandled: unknown

/** What no promise of the broker may do: end without anybody looking. */
export function watchRejections(): void {
  process.on('unhandledRejection', reason => {
    unhandled ??= reason
  })
}

/** Plays one seed to its end and judges what came of it. */
export async function playSeed(request: SeedRequest): Promise<SeedResult> {
  const simulation = new Simulation(request)
  unhandled = undefined
  let violation: string | undefined
  try {
    await play(simulation, request.operations)
  } catch (error) {
    violation = textOf(error)
  }
  const { world, totals } = simulation
  totals.add('restarts', simulation.restartCount)
  return {
    seed: request.seed,
    trace: world.trace,
    counts: Object.fromEntries(totals.counts),
    faults: { ...world.faults.counts() },
    violation,
  }
}

async function play(simulation: Simulation, operations: number): Promise<void> {
  await simulation.begin()
  for (let count = 0; count < operations; count++) {
    // Each seed has these two at least.
    if (count === Math.floor(operations / 3)) await operateAs(simulation, 'kill')
    if (count === Math.floor((2 * operations) / 3)) await operateAs(simulation, 'power cut')
    await operate(simulation)
    failIfUnhandled()
  }
  await deliverAll(simulation)
  checkAllDelivered(simulation)
  await checkEnd(simulation)
  failIfUnhandled()
}

function failIfUnhandled(): void {
  if (unhandled !== undefined) throw unhandled
}

/** Heals everything and lets the time come of all that waits. */
async function deliverAll(simulation: Simulation): Promise<void> {
  simulation.trace('end')
  simulation.heal()
  for (const topic of TOPICS) await simulation.setPermission(topic, PERM_OPEN)
  for (let round = 0; round < ROUNDS_MAX; round++) {
    await simulation.pass(1200)
    await simulation.readRest()
    failIfUnhandled()
    const { waitingCount, parkedCount } = simulation.process.engine.timers.statistics()
    const waiting = simulation.ledger.waiting().filter(send => !send.isDamaged)
    if (waitingCount + parkedCount === 0 && waiting.length === 0) return
    if (waitingCount + parkedCount === 0) break
    if (parkedCount > 0) await simulation.pass(10_000)
    const dues = waiting.map(send => send.deliverTimeMs).toSorted((a, b) => a - b)
    const dueMs = dues[Math.floor(dues.length / 4)] ?? simulation.nowMs + DAY_MS
    if (dueMs > simulation.nowMs) await simulation.stepClock(dueMs - simulation.nowMs)
  }
  const { violation } = simulation.process.reader
  if (violation !== undefined) throw violation
}

/** A last stop and start, then long after everything: nothing may be left. */
async function checkEnd(simulation: Simulation): Promise<void> {
  await operateAs(simulation, 'clean stop')
  checkAllDelivered(simulation)
  await simulation.stepClock(FAR_MS)
  await simulation.pass(12_000)
  checkAllDelivered(simulation)
  await checkFoldersEmpty(simulation)
}

function textOf(error: unknown): string {
  if (error instanceof Violation) return `invariant ${error.invariant}: ${error.message}`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
