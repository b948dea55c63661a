/** What to cancel in a plan, and whether the broker did it, or rightly refused it. */
import type { Events } from './events.ts'
import { groupById, judgeRoundTrip, type Verdict } from './judge.ts'
import { makePlan, type PlannedMessage } from './plan.ts'

/**
 * `handle`       recallMessage with the handle that the send was answered with
 * `five-fields`  recallMessage with a handle that the client makes up as Apache's broker does
 * `handle-late`  recallMessage when the message has been received
 * `mark`         a message with the property TIMER_DEL_UNIQKEY
 */
export type CancelWay = 'handle' | 'five-fields' | 'handle-late' | 'mark'

/** What happens to one message of a plan, and the one sent just after it for the same time. */
export interface CancelPair {
  readonly way: CancelWay
  readonly target: PlannedMessage
  readonly neighbour: PlannedMessage
}

/** Time enough to send all and to cancel all, on a busy machine too. */
const DELIVER_MS = 5_000
/** For what is to be cancelled only after its time. */
const DELIVER_SOON_MS = 1_500

/** `count` pairs for each way. Those with `handle-late` are the last to cancel. */
export function makeCancelPairs(
  prefix: string,
  ways: readonly CancelWay[],
  count: number,
): readonly CancelPair[] {
  return ways
    .toSorted((left, right) => Number(isLate(left)) - Number(isLate(right)))
    .flatMap(way => {
      const values = [isLate(way) ? DELIVER_SOON_MS : DELIVER_MS]
      const plan = makePlan(`${prefix}-${way}`, [{ kind: 'deliver-ms', values, count: count * 2 }])
      return Array.from({ length: count }, (_, index): CancelPair => {
        const [target, neighbour] = plan.slice(index * 2)
        if (target === undefined || neighbour === undefined) throw new Error('the plan is short')
        return { way, target, neighbour }
      })
    })
}

export function isLate(way: CancelWay): boolean {
  return way === 'handle-late'
}

/**
 * Every neighbour arrives as if nothing had happened, and so does what was cancelled too late,
 * which the client was told. What was cancelled in time never arrives.
 */
export function judgeCancels(
  pairs: readonly CancelPair[],
  events: Events,
  lateMsMax: number,
): Verdict {
  const arriving = pairs.flatMap(({ way, target, neighbour }) =>
    isLate(way) ? [target, neighbour] : [neighbour],
  )
  const { problems, latestMs } = judgeRoundTrip(arriving, events, lateMsMax)
  const receipts = groupById(events.received)
  const judged = pairs.flatMap(({ way, target: { id } }) =>
    isLate(way)
      ? lateProblems(id, events)
      : cancelProblems(id, events, receipts.get(id)?.length ?? 0),
  )
  return { count: pairs.length * 2, problems: [...problems, ...judged], latestMs }
}

function cancelProblems(id: string, events: Events, receivedCount: number): readonly string[] {
  const deliverTimeMs = events.sent.get(id)?.deliverTimeMs
  if (deliverTimeMs === undefined) {
    return [`${id} was not sent: ${events.failed.get(id) ?? 'no answer, or no deliver time'}`]
  }
  const problems: string[] = []
  const answer = events.cancels.get(id)
  if (answer?.kind === 'cancelled') {
    const { afterMs, uniqueKey, answeredKey } = answer
    const tooLateMs = afterMs - deliverTimeMs
    if (tooLateMs >= 0) problems.push(`${id} was cancelled ${tooLateMs} ms after its time`)
    if (answeredKey !== '' && answeredKey !== uniqueKey) {
      problems.push(`${id} has the unique key ${uniqueKey}, and ${answeredKey} was cancelled`)
    }
  } else problems.push(`${id} was not cancelled: ${answer?.reason ?? 'no answer'}`)
  if (receivedCount > 0) problems.push(`${id} arrived ${receivedCount} times`)
  return problems
}

/** Code 604 in the text of the Java client's exception. */
const REFUSAL = /CODE: 604\b/

function lateProblems(id: string, events: Events): readonly string[] {
  const answer = events.cancels.get(id)
  if (answer === undefined) return [`${id}: the late cancel was not answered`]
  if (answer.kind === 'cancelled') return [`${id} was cancelled after it had arrived`]
  const { beforeMs, reason } = answer
  if (!REFUSAL.test(reason)) return [`${id} was refused for another reason: ${reason}`]
  const [first] = events.received.filter(received => received.id === id)
  if (first === undefined || first.atMs > beforeMs) return [`${id} was refused before it arrived`]
  return []
}
