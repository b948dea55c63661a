/** A client cancels what it sent, and consumes what is left. */
import { type CancelWay, isLate, judgeCancels, makeCancelPairs } from './cancel-judge.ts'
import { runClient } from './client-run.ts'
import { strangers } from './judge.ts'
import type { ClientTest } from './round-trip.ts'

const LATE_MS_MAX = 2_000
/** A consumer of Java may start half a minute late. */
const CANCELS_MS = 90_000

const wayNames: Readonly<Record<CancelWay, string>> = {
  handle: 'recallMessage with the handle of the send, and neighbours arrive',
  'five-fields': 'recallMessage with a handle of five fields, and neighbours arrive',
  'handle-late': 'recallMessage after the message arrived is refused with 604',
  mark: 'a message with TIMER_DEL_UNIQKEY cancels, and neighbours arrive',
}

/** @param count messages to cancel, for each way that the client has */
export async function testCancels(test: ClientTest, count: number): Promise<void> {
  const { program, launch, nameserver, workFolder, report } = test
  const word = program.name.replaceAll(/\W/g, '')
  const pairs = makeCancelPairs(`${word}-cancel`, program.cancelWays, count)
  const plan = pairs.flatMap(({ target, neighbour }) => [target, neighbour])
  const { events, problems } = await runClient(launch, workFolder, {
    nameserver,
    topic: `interop-${word}-cancel`,
    group: `interop-${word}-cancel-group`,
    plan,
    receiveCount: pairs.reduce((sum, { way }) => sum + (isLate(way) ? 2 : 1), 0),
    isWarmedUp: true,
    quietMs: 3_000,
    timeoutMs: CANCELS_MS,
    more: [`cancel=${pairs.map(({ way, target }) => `${way}:${target.id}`).join(',')}`],
  })
  for (const way of program.cancelWays) {
    const ofWay = pairs.filter(pair => pair.way === way)
    report.verdict(`${program.name}: ${wayNames[way]}`, judgeCancels(ofWay, events, LATE_MS_MAX))
  }
  const all = [...problems, ...strangers(plan, events)]
  const name = `${program.name}: the run with cancels ends cleanly, with nothing else received`
  if (all.length > 0) report.fail(name, all)
  else report.pass(name)
}
