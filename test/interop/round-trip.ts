/** Each client sends messages of every kind and consumes them itself. */
import type { ClientProgram, Launch } from './client-programs.ts'
import { runClient } from './client-run.ts'
import { judgeRetry, judgeRoundTrip, levelDelayMs, strangers } from './judge.ts'
import { makePlan, type PlannedMessage, roundTripShares } from './plan.ts'
import type { Report } from './report.ts'

export interface ClientTest {
  readonly program: ClientProgram
  readonly launch: Launch
  readonly nameserver: string
  readonly workFolder: string
  readonly report: Report
}

const LATE_MS_MAX = 2_000
const ROUND_TRIP_MS = 120_000

export async function testRoundTrip(test: ClientTest, count: number): Promise<void> {
  const { program, launch, nameserver, workFolder, report } = test
  const word = program.name.replaceAll(/\W/g, '')
  const plan = makePlan(`${word}-trip`, roundTripShares(count))
  const { events, problems } = await runClient(launch, workFolder, {
    nameserver,
    topic: `interop-${word}`,
    group: `interop-${word}-group`,
    plan,
    receiveCount: plan.length,
    isWarmedUp: true,
    quietMs: 3_000,
    timeoutMs: ROUND_TRIP_MS,
  })
  for (const [name, messages] of byKind(program, plan)) {
    report.verdict(`${program.name}: ${name}`, judgeRoundTrip(messages, events, LATE_MS_MAX))
  }
  const all = [...problems, ...strangers(plan, events)]
  if (all.length > 0) report.fail(`${program.name}: ends cleanly, with nothing else received`, all)
  else report.pass(`${program.name}: ends cleanly, with nothing else received`)
}

function byKind(
  program: ClientProgram,
  plan: readonly PlannedMessage[],
): ReadonlyMap<string, readonly PlannedMessage[]> {
  const groups = new Map<string, PlannedMessage[]>()
  for (const message of plan) {
    const name = kindName(program, message)
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [message])
    else group.push(message)
  }
  return groups
}

function kindName(program: ClientProgram, { kind, value }: PlannedMessage): string {
  if (kind === 'plain') return 'plain'
  return kind === 'level' ? `level ${value}` : program.kindNames[kind]
}

const RETRY_COUNT = 2
/** Clients ask every 30 s for routes that they do not know, and take queues up every 20 s. */
const ROUTE_MS_MAX = 50_000
/** Until the dead letters were waited for. */
const LETTERS_MS_MAX = 60_000
/** The level of RocketMQ's first retry, when the consumer does not name one. */
const FIRST_RETRY_LEVEL = 3

/**
 * A consumer fails every message until it is dead. Twice: in a new group, whose consumer learns
 * the route of its retry topic late, and then in the same group, where it knows it from the start.
 *
 * @param level asked for by the consumer; 0 leaves it to the broker: level 3, then 4.
 */
export async function testRetry(test: ClientTest, count: number, level: number): Promise<void> {
  const { program, launch, nameserver, workFolder, report } = test
  const word = program.name.replaceAll(/\W/g, '')
  const delayMs = (retry: number) =>
    levelDelayMs(level === 0 ? FIRST_RETRY_LEVEL + retry - 1 : level)
  for (const group of ['new', 'known'] as const) {
    const plan = makePlan(`${word}-retry-${group}`, [{ kind: 'plain', values: [0], count }])
    const routeMsMax = group === 'new' ? ROUTE_MS_MAX : 0
    const { events, problems } = await runClient(launch, workFolder, {
      nameserver,
      topic: `interop-${word}-retry`,
      group: `interop-${word}-retry-group`,
      plan,
      receiveCount: plan.length,
      isWarmedUp: true,
      quietMs: 2_000,
      timeoutMs: delayMs(1) + delayMs(2) + ROUTE_MS_MAX + LETTERS_MS_MAX,
      more: [`retry=${RETRY_COUNT}`, `retryLevel=${level}`],
    })
    const rules = { retryCount: RETRY_COUNT, delayMs, lateMsMax: LATE_MS_MAX, routeMsMax }
    const verdict = judgeRetry(plan, events, rules)
    const all = [...problems, ...verdict.problems, ...strangers(plan, events)]
    const name = `${program.name}: ${RETRY_COUNT} retries and a dead letter in a ${group} group`
    report.verdict(name, { ...verdict, problems: all })
  }
}
