import { BrokerError } from '../../src/core/base/index.ts'
import { PROPERTY } from '../../src/model/message/index.ts'
import type { ReplaceResult, ReplaceWhen } from '../../src/model/schedule/index.ts'
import { timerWish } from './deliver-times.ts'
import {
  checkNotBefore,
  checkNotCancelled,
  describe,
  earliestMs,
  isCancelled,
  type Ledger,
  type Send,
} from './ledger.ts'
import { type Asked, sendOfHandle } from './key-requests.ts'
import { type Simulation, TOPICS } from './simulation.ts'
import { Violation } from './violation.ts'

const KEY_COUNT = 3
const HOUR_MS = 3_600_000
/** Answered so, nothing was stored. */
const HARMLESS: ReadonlySet<string> = new Set(['TOPIC_NOT_WRITABLE', 'STORE_BUSY'])

/** A message in the place of the one that waits with its key. */
export function replace(sim: Simulation): void {
  const { process, random, totals } = sim
  if (process.engine.store.congested) return totals.add('held back while congested')
  const topic = random.pick(TOPICS)
  const key = `key-${random.below(KEY_COUNT)}`
  const wish = timerWish(random, topic, sim)
  const deliverTimeMs = wish.deliverTimeMs === 0 ? sim.nowMs : wish.deliverTimeMs
  const { send, message } = process.sender.keyed({ ...wish, kind: 'timer', deliverTimeMs }, key)
  const when: ReplaceWhen = random.chance(0.25) ? 'absent' : 'always'
  const asked = beginReplace(sim, send)
  totals.add('replace asked')
  process.engine.scheduled.replaceByKey(message, when).then(
    result => answered(sim, { asked, send, result }),
    (error: unknown) => refused(sim, asked, error, send),
  )
}

export function replaceMany(sim: Simulation): void {
  for (let count = sim.random.below(15); count > 0; count--) replace(sim)
}

export function cancelByKey(sim: Simulation): void {
  const { process, totals } = sim
  const send = someKeyed(sim)
  if (send === undefined) return
  const asked = ask(sim, keyOf(send), candidates(sim.ledger, keyOf(send)), undefined)
  totals.add('cancel by key asked')
  process.engine.scheduled.cancel(refOf(send)).then(
    result => {
      if (!isOver(sim, asked)) return
      totals.add(`cancel by key answered ${result}`)
      const certain = certainOf(sim, asked)
      settle(asked)
      if (certain === undefined) {
        // One of those in doubt, or one that was cancelled before.
        if (result === 'cancelled') doubt(asked)
      } else if (result === 'cancelled') setCancelled(sim, certain)
      else throw new Violation(4, `${describe(certain)} waits, and its key is answered ${result}`)
    },
    (error: unknown) => refused(sim, asked, error),
  )
}

export function moveByKey(sim: Simulation): void {
  const { process, random, totals } = sim
  const send = someKeyed(sim)
  if (send === undefined) return
  const toMs = sim.nowMs + random.below(random.pick([50, 6000, 11_000, HOUR_MS, 30 * HOUR_MS]))
  const asked = ask(sim, keyOf(send), [], toMs)
  const open = candidates(sim.ledger, keyOf(send))
  for (const each of open) noteMove(each, toMs)
  totals.add('move by key asked')
  process.engine.scheduled.move(refOf(send), toMs).then(
    result => {
      if (!isOver(sim, asked)) return
      totals.add(`move by key answered ${result.kind}`)
      const [only] = open
      if (result.kind !== 'moved' || only === undefined || open.length > 1) return
      if (only.moves.mayBeDueMs.length > 1 || candidates(sim.ledger, keyOf(only)).length !== 1)
        return
      const isAsync = sim.setting.options.flush === 'async'
      only.moves.mayBeDueMs = isAsync ? [only.deliverTimeMs] : []
      only.deliverTimeMs = result.deliverTimeMs
      checkNotBefore(only)
    },
    (error: unknown) => refused(sim, asked, error),
  )
}

function beginReplace(sim: Simulation, send: Send): Asked {
  const { ledger } = sim
  const key = keyOf(send)
  const asked = ask(sim, key, candidates(ledger, key), undefined)
  for (const other of sim.keys.others(asked)) {
    // It may come to the log first, and be replaced, cancelled or moved.
    other.mayCancel.add(send)
    send.cancels.unansweredCount++
    if (other.mayMoveToMs !== undefined) noteMove(send, other.mayMoveToMs)
  }
  ledger.add(send)
  return asked
}

function answered(
  sim: Simulation,
  { asked, send, result }: { asked: Asked; send: Send; result: ReplaceResult },
): void {
  if (!isOver(sim, asked)) return
  sim.totals.add(`replace answered ${result.kind}`)
  const certain = certainOf(sim, asked)
  if (certain !== undefined) sim.totals.add('replace judged')
  settle(asked)
  if (result.kind === 'exists') {
    const found = sendOfHandle(sim.ledger, result.id)
    if (found === undefined || found === send) throw new Violation(4, `${result.id} has no key`)
    checkNeverSent(send)
    return
  }
  send.isAcknowledged = true
  send.handle = result.id
  send.queueId = result.queueId
  send.acceptOffset = result.commitLogOffset
  sim.totals.add('accepted with a key')
  if (result.kind === 'replaced') {
    const replaced = sendOfHandle(sim.ledger, result.replacedId)
    if (replaced === undefined) throw new Violation(4, `${result.replacedId} was never sent`)
    setCancelled(sim, replaced)
    if (certain === undefined || certain === replaced) return
  }
  if (certain !== undefined) {
    throw new Violation(4, `${describe(send)} does not replace ${describe(certain)}, which waits`)
  }
}

function refused(sim: Simulation, asked: Asked, error: unknown, send?: Send): void {
  if (!(error instanceof BrokerError)) throw error
  if (!isOver(sim, asked)) return
  sim.totals.add(`key refused ${error.code}`)
  if (!HARMLESS.has(error.code)) return
  settle(asked)
  if (send !== undefined) checkNeverSent(send)
}

function checkNeverSent(send: Send): void {
  send.cancels.doneOffset = 0
  if (send.place !== undefined) checkNotCancelled(send, 'refused')
}

function ask(
  sim: Simulation,
  key: string,
  mayCancel: readonly Send[],
  mayMoveToMs: number | undefined,
): Asked {
  // What is not answered yet may not be in the log yet.
  const known = new Set(mayCancel.filter(send => send.isAcknowledged))
  const asked = { process: sim.process, key, mayCancel: new Set(mayCancel), known, mayMoveToMs }
  for (const send of mayCancel) send.cancels.unansweredCount++
  sim.keys.begin(asked)
  return asked
}

/** False when the broker that was asked is gone: nobody hears the answer. */
function isOver(sim: Simulation, asked: Asked): boolean {
  sim.keys.end(asked)
  return sim.process === asked.process
}

function settle({ mayCancel }: Asked): void {
  for (const send of mayCancel) send.cancels.unansweredCount--
}

function doubt({ mayCancel }: Asked): void {
  for (const send of mayCancel) send.cancels.unansweredCount++
}

function setCancelled(sim: Simulation, send: Send): void {
  const { cancels } = send
  cancels.doneOffset = Math.min(cancels.doneOffset, sim.process.engine.store.endOffset)
  if (send.place !== undefined) checkNotCancelled(send, 'already')
}

/** The message that waited with the key all the time since it was asked, if any surely did. */
function certainOf(sim: Simulation, asked: Asked): Send | undefined {
  const { ledger, setting } = sim
  // A power cut may have taken back what the ledger holds for done.
  if (setting.options.flush === 'async' || sim.keys.others(asked).length > 0) return undefined
  const open = [...asked.mayCancel].filter(send => !isCancelled(send) && send.place === undefined)
  const [only] = open
  if (only === undefined || open.length > 1) return undefined
  const isKnown = asked.known.has(only) && !only.isDamaged && only.cancels.unansweredCount === 1
  return isKnown && earliestMs(only) > ledger.latestTimeMs ? only : undefined
}

/** All that may wait with the key. */
function candidates({ sends }: Ledger, key: string): Send[] {
  return [...sends.values()].filter(send => {
    return keyOf(send) === key && send.place === undefined && !isCancelled(send)
  })
}

function someKeyed({ ledger, random }: Simulation): Send | undefined {
  const sends = [...ledger.sends.values()].filter(send => keyOf(send) !== '')
  return sends[sends.length - 1 - random.below(Math.min(30, sends.length || 1))]
}

function noteMove({ moves }: Send, toMs: number): void {
  moves.mayBeDueMs.push(toMs)
  moves.isPossible = true
}

/** Topic and own key; empty for a message without. */
function keyOf({ kind, topic, properties }: Send): string {
  const key = properties.get(PROPERTY.ORRERY_KEY)
  return kind === 'timer' && key !== undefined ? `${topic} ${key}` : ''
}

function refOf({ topic, properties }: Send): { readonly topic: string; readonly key: string } {
  return { topic, key: properties.get(PROPERTY.ORRERY_KEY) ?? '' }
}
