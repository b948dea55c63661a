import { BrokerError } from '../../src/core/base/index.ts'
import type { BulkChange, ScheduleFilter } from '../../src/model/schedule/index.ts'
import { isCancelled, isUnseen, type Send } from './ledger.ts'
import { type Simulation, TOPICS } from './simulation.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const LIMIT_MS = 60_000

/** Cancels all that a filter means. */
export async function cancelByFilter(sim: Simulation): Promise<void> {
  const filter = filterOf(sim)
  const meant = meantBy(sim, filter).filter(send => !isCancelled(send))
  for (const { cancels } of meant) cancels.unansweredCount++
  // What comes to the log behind the order is not meant by it, also by a move that is under way.
  const known = meant.filter(send => send.acceptOffset >= 0 && send.moves.mayBeDueMs.length === 0)
  const process = sim.process
  const count = await changed(sim, filter, { kind: 'cancel' })
  if (count === undefined) return
  // What was on its way when the cancel became durable is delivered, and seen now; everything else
  // must not be any more.
  const { store } = process.engine
  const doneOffset = store.endOffset
  const isSeen = await sim.settled(store.whenApplied(doneOffset - 1).then(() => true))
  await sim.readRest()
  if (sim.process !== process || isSeen !== true) return
  for (const send of known) {
    send.cancels.unansweredCount--
    if (isUnseen(send) && !isCancelled(send)) send.cancels.doneOffset = doneOffset
  }
}

/** Shifts all that a filter means. */
export async function shiftByFilter(sim: Simulation): Promise<void> {
  const filter = filterOf(sim)
  const shiftMs = sim.random.pick([-DAY_MS, -HOUR_MS, -5_000, 5_000, HOUR_MS, 3 * DAY_MS])
  // With asynchronous flush a power cut may take back a cancel, and leave the shift behind it.
  const meant = meantBy(sim, filter)
  for (const { moves, deliverTimeMs } of meant) {
    const times = [deliverTimeMs, ...moves.mayBeDueMs].map(timeMs => timeMs + shiftMs)
    // One whose time has come then is delivered at once: by what clock, nobody can say.
    moves.mayBeDueMs.push(...times.map(timeMs => Math.min(timeMs, deliverTimeMs)), ...times)
    moves.isPossible = true
  }
  await changed(sim, filter, { kind: 'shift', shiftMs })
}

async function changed(
  sim: Simulation,
  filter: ScheduleFilter,
  change: BulkChange,
): Promise<number | undefined> {
  const { process, totals } = sim
  totals.add(`${change.kind} by filter asked`)
  const changing = process.engine.scheduled.changeAll(filter, change, false).then(
    ({ changedCount }) => changedCount,
    (error: unknown) => {
      if (!(error instanceof BrokerError)) throw error
      totals.add(`${change.kind} by filter refused ${error.code}`)
      return undefined
    },
  )
  const count = await sim.settled(changing, LIMIT_MS)
  if (count === undefined || sim.process !== process) return undefined
  totals.add(`${change.kind} by filter answered`)
  totals.add(`${change.kind} by filter, messages`, count)
  return count
}

function filterOf({ random, nowMs }: Simulation): ScheduleFilter {
  const fromMs = nowMs + random.below(random.pick([1, 60_000, HOUR_MS]))
  return {
    topic: random.chance(0.9) ? random.pick(TOPICS) : undefined,
    tag: random.chance(0.5) ? random.pick(['red', 'green', 'blue']) : undefined,
    ...(random.chance(0.5) ? { fromMs, toMs: fromMs + random.pick([5_000, HOUR_MS, DAY_MS]) } : {}),
  }
}

/** Those that were accepted, or may have been, and may wait if they are not cancelled. */
function meantBy({ ledger }: Simulation, filter: ScheduleFilter): readonly Send[] {
  const { topic, tag, fromMs = 0, toMs = Infinity } = filter
  return [...ledger.sends.values()].filter(send => {
    if (send.kind !== 'timer' || !isUnseen(send)) return false
    if (topic !== undefined && send.topic !== topic) return false
    if (tag !== undefined && send.properties.get('TAGS') !== tag) return false
    // A shift to a time that had come may have made it due at any moment.
    if (send.moves.mayBeDueMs.length > 0) return true
    return send.deliverTimeMs >= fromMs && send.deliverTimeMs < toMs
  })
}
