import { checkAllDelivered, checkNothingLeft } from './checks.ts'
import { operate, operateAs } from './operations.ts'
import { isCancelled, isUnseen, type Send } from './ledger.ts'
import type { Bug } from './setting.ts'
import { Simulation, TOPICS } from './simulation.ts'
import { Violation } from './violation.ts'

const PERM_OPEN = 6
const ROUNDS_MAX = 150
/** More than all steps back together that the clock takes in a run, as a rule. */
const CLOCK_BACK_MS = 86_400_000
/** Of the broker's log, when somebody watches. */
const LINES_SHOWN = 400
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** What is due longer than this is held up by something. */
const LATE_MS = 5_000
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
    if (request.isVerbose) printLog(simulation)
  }
  const { world, totals } = simulation
  totals.add('restarts', simulation.restartCount)
  totals.add('orders judged', simulation.ledger.orderCount)
  totals.add('late dropped', simulation.ledger.dropCount)
  totals.add('late dead letters', simulation.ledger.letterCount)
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

function printLog({ world }: Simulation): void {
  for (const { timeMs, level, message, fields, error } of world.logLines.slice(-LINES_SHOWN)) {
    console.log(`${timeMs} ${level} ${message} ${JSON.stringify(fields)}`, error ?? '')
  }
}

function failIfUnhandled(): void {
  if (unhandled !== undefined) throw unhandled
}

/** Heals everything and lets the time come of all that waits. */
async function deliverAll(simulation: Simulation): Promise<void> {
  simulation.trace('end')
  simulation.heal()
  for (let round = 0; round < ROUNDS_MAX; round++) {
    // Again and again: the disk may fail meanwhile.
    if (round % 10 === 0) await openTopics(simulation)
    await simulation.pass(1200)
    await simulation.readRest()
    failIfUnhandled()
    const { waitingCount, parkedCount } = simulation.process.engine.timers.statistics()
    const waiting = simulation.ledger.waiting().filter(send => !send.isDamaged)
    // What is on its way to a slow disk is known to nobody yet.
    const { store } = simulation.process.engine
    if (store.appliedOffset < store.endOffset) continue
    if (waitingCount + parkedCount === 0 && waiting.length === 0) return
    if (waitingCount + parkedCount === 0) break
    if (parkedCount > 0) await simulation.pass(10_000)
    await simulation.stepClock(nextStepMs(simulation, waiting))
  }
  const { violation } = simulation.process.reader
  if (violation !== undefined) throw violation
}

async function openTopics(simulation: Simulation): Promise<void> {
  for (const topic of TOPICS) await simulation.setPermission(topic, PERM_OPEN)
}

/**
 * To when a quarter of what is still to come is due. After the clock went back a level has in front
 * of what is due what is not: an hour then, since nobody but the level knows for how long.
 */
function nextStepMs({ nowMs, ledger }: Simulation, waiting: readonly Send[]): number {
  // Nothing is lost: it only waits longer.
  const isOverdue = waiting.some(send => latestMs(send) < nowMs - LATE_MS)
  if (isOverdue) return HOUR_MS
  // Also what nobody was told of may be there.
  const sends = [...ledger.sends.values()]
  const unseen = sends.filter(send => isUnseen(send) && !isCancelled(send))
  const all = unseen.flatMap(({ deliverTimeMs, moves }) => [deliverTimeMs, ...moves.mayBeDueMs])
  const dues = all.filter(dueMs => dueMs > nowMs)
  const sorted = dues.toSorted((a, b) => a - b)
  const dueMs = sorted[Math.floor(sorted.length / 4)]
  return dueMs === undefined ? HOUR_MS : dueMs - nowMs
}

/** A move that nobody was told of may have been made. */
function latestMs({ deliverTimeMs, moves }: Send): number {
  return Math.max(deliverTimeMs, ...moves.mayBeDueMs)
}

/** A last stop and start, then long after everything: nothing may be left. */
async function checkEnd(simulation: Simulation): Promise<void> {
  await operateAs(simulation, 'clean stop')
  // What is in the files of timers and was delivered is met once more: at its time, which lies ahead
  // again when the clock went back.
  await simulation.stepClock(CLOCK_BACK_MS)
  await simulation.pass(2_000)
  checkAllDelivered(simulation)
  await simulation.stepClock(FAR_MS)
  await simulation.pass(12_000)
  checkAllDelivered(simulation)
  await checkNothingLeft(simulation)
}

function textOf(error: unknown): string {
  if (error instanceof Violation) return `invariant ${error.invariant}: ${error.message}`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
