import { BrokerError } from '../../src/core/base/index.ts'
import type { Page, ScheduledMessage, ScheduleFilter } from '../../src/model/schedule/index.ts'
import { sendOfHandle } from './key-requests.ts'
import { describe, isCancelled, isUnseen, type Send } from './ledger.ts'
import { type Simulation, TOPICS } from './simulation.ts'
import { Violation } from './violation.ts'

const LIMIT_MS = 60_000
const DAY_MS = 86_400_000

/** Lists, counts and forecasts what waits, and holds it against what must wait and what may. */
export async function listWaiting(sim: Simulation): Promise<void> {
  await sim.readRest()
  const { process, random, totals, ledger } = sim
  const calm = ledger.calm
  const filter = filterOf(sim)
  const limit = random.pick([1, 7, 100, 1000])
  const gone = new Set([...ledger.sends.values()].filter(isGone))
  const meantBefore = new Set(mustWait(sim, { filter, fromMs: sim.nowMs }))
  const fittingBefore = new Set([...ledger.sends.values()].filter(send => mayFit(send, filter)))
  const found = await sim.settled(
    Promise.all([
      listAll(cursor => process.engine.scheduled.list(filter, { limit, cursor })),
      process.engine.scheduled.count(filter),
      process.engine.scheduled.forecast(filter, {
        fromMs: filter.fromMs ?? 0,
        toMs: filter.toMs ?? 0,
        stepMs: DAY_MS,
      }),
    ]).catch((error: unknown) => {
      if (!(error instanceof BrokerError)) throw error
      totals.add(`list refused ${error.code}`)
      return undefined
    }),
    LIMIT_MS,
  )
  if (found === undefined || sim.process !== process || ledger.calm !== calm) {
    totals.add('list unfinished')
    return
  }
  await sim.readRest()
  totals.add('list answered')
  const [listed, count, { counts }] = found
  totals.add('listed', listed.length)
  checkFits(listed, filter)
  checkListed(sim, listed, gone)
  // What came in, was changed or delivered meanwhile may be there or not.
  const must = mustWait(sim, { filter, fromMs: sim.nowMs }).filter(send => meantBefore.has(send))
  checkComplete(listed, must)
  const mayCount = [...ledger.sends.values()].filter(send => {
    // One whose move was answered meanwhile has fitted before, or fits now.
    if (!fittingBefore.has(send) && !mayFit(send, filter)) return false
    return !gone.has(send) || isDoubtful(sim, send)
  }).length
  checkCount(count, must.length, mayCount)
  const sum = counts.reduce((total, each) => total + each, 0)
  checkCount(sum, must.length, mayCount)
}

/** What is due from soon on: what is due before may be on its way. */
function filterOf({ random, nowMs }: Simulation): ScheduleFilter {
  return {
    topic: random.chance(0.5) ? random.pick(TOPICS) : undefined,
    fromMs: nowMs + 1 + random.below(random.pick([1, 10_000, DAY_MS])),
    toMs: nowMs + random.pick([2, 400]) * DAY_MS,
  }
}

async function listAll(
  list: (cursor: string | undefined) => Promise<Page>,
): Promise<ScheduledMessage[]> {
  const found: ScheduledMessage[] = []
  let cursor: string | undefined
  do {
    const page = await list(cursor)
    found.push(...page.messages)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return found
}

/** Each is what was asked for, also those of which nothing else is known. */
function checkFits(listed: readonly ScheduledMessage[], filter: ScheduleFilter): void {
  for (const { id = 'a message without an id', topic, deliverTimeMs } of listed) {
    if (isInTopic(filter, topic) && isInTimes(filter, deliverTimeMs)) continue
    const where = `for ${topic} at ${deliverTimeMs}`
    throw new Violation(4, `${id} is listed ${where}, by ${JSON.stringify(filter)}`)
  }
}

/** Each is a message that was sent, once, and that neither was cancelled nor delivered before. */
function checkListed(
  { ledger }: Simulation,
  listed: readonly ScheduledMessage[],
  gone: ReadonlySet<Send>,
): void {
  const byHandle = new Map([...ledger.sends.values()].map(send => [send.handle, send]))
  const ids = new Set<string>()
  for (const { id, topic, deliverTimeMs } of listed) {
    // Of a delay level, and refused by its topic.
    if (id === undefined) continue
    const send = byHandle.get(id) ?? sendOfHandle(ledger, id)
    if (send === undefined) throw new Violation(4, `${id} is listed and was never sent`)
    if (send.isDamaged) continue
    const may = [send.deliverTimeMs, ...send.moves.mayBeDueMs]
    if (send.topic !== topic || !(may.includes(deliverTimeMs) || send.moves.isPossible)) {
      throw new Violation(4, `${describe(send)} is listed for ${topic} at ${deliverTimeMs}`)
    }
    if (gone.has(send)) throw new Violation(4, `${describe(send)} is listed and does not wait`)
    if (ids.has(id) && !send.moves.isPossible) {
      throw new Violation(4, `${describe(send)} is listed twice`)
    }
    ids.add(id)
  }
}

function checkComplete(listed: readonly ScheduledMessage[], must: readonly Send[]): void {
  const ids = new Set(listed.map(({ id }) => id))
  const missing = must.find(({ handle }) => !ids.has(handle))
  if (missing !== undefined) throw new Violation(4, `${describe(missing)} waits and is not listed`)
}

function checkCount(count: number, mustCount: number, mayCount: number): void {
  if (count >= mustCount && count <= mayCount) return
  throw new Violation(4, `${count} are counted: ${mustCount} wait, and ${mayCount} may`)
}

interface Meant {
  readonly filter: ScheduleFilter
  /** What is due before may have left meanwhile. */
  readonly fromMs: number
}

function mustWait(sim: Simulation, { filter, fromMs }: Meant): readonly Send[] {
  return sim.ledger.waiting().filter(send => {
    const { deliverTimeMs } = send
    if (send.handle === undefined || isDoubtful(sim, send)) return false
    if (deliverTimeMs <= fromMs) return false
    return isInTopic(filter, send.topic) && isInTimes(filter, deliverTimeMs)
  })
}

/** The filter means it, should it wait: when that would be is not known of all. */
function mayFit(
  { topic, kind, deliverTimeMs, moves, isDamaged }: Send,
  filter: ScheduleFilter,
): boolean {
  if (deliverTimeMs === 0 || !isInTopic(filter, topic)) return false
  // A move to a time that has come is to a moment that only the broker knows; so is a retry, or a message of a level.
  const isKnown = kind === 'timer' && !isDamaged && moves.mayBeDueMs.length === 0
  return !isKnown || isInTimes(filter, deliverTimeMs)
}

function isInTopic(filter: ScheduleFilter, topic: string): boolean {
  return filter.topic === undefined || filter.topic === topic
}

function isInTimes({ fromMs = 0, toMs = Infinity }: ScheduleFilter, timeMs: number): boolean {
  return timeMs >= fromMs && timeMs < toMs
}

/**
 * Nobody knows whether, or for when, it waits: not answered, damaged, or due by now by some clock
 * that there was: it may be on its way.
 */
function isDoubtful({ nowMs, ledger }: Simulation, send: Send): boolean {
  if (send.handle === undefined) return send.deliverTimeMs > 0 && isUnseen(send)
  const { cancels, moves } = send
  if (!send.isAcknowledged || send.isDamaged || cancels.unansweredCount > 0) return true
  return (
    moves.mayBeDueMs.length > 0 ||
    (isUnseen(send) && send.deliverTimeMs <= Math.max(nowMs, ledger.latestTimeMs))
  )
}

function isGone(send: Send): boolean {
  return isCancelled(send) || !isUnseen(send)
}
