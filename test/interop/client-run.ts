/** One run of a client's test program. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Launch } from './client-programs.ts'
import { run } from './command.ts'
import { type Events, parseEvents } from './events.ts'
import { formatPlan, type PlannedMessage } from './plan.ts'

export interface ClientRun {
  readonly nameserver: string
  readonly topic: string
  readonly group: string
  /** Empty: send nothing. */
  readonly plan: readonly PlannedMessage[]
  /** How many different messages to wait for; 0: no consumer. */
  readonly receiveCount: number
  /** Send a first message and wait for it, so that the consumer is ready when the plan is sent. */
  readonly isWarmedUp: boolean
  /** How long to listen for what should not come. */
  readonly quietMs: number
  readonly timeoutMs: number
  readonly more?: readonly string[]
}

export interface ClientOutcome {
  readonly events: Events
  /** Empty when the program itself ran as it should. */
  readonly problems: readonly string[]
}

/** A program may start slowly and stop slowly on a busy machine. */
const GRACE_MS = 45_000

export async function runClient(
  launch: Launch,
  workFolder: string,
  request: ClientRun,
): Promise<ClientOutcome> {
  const { nameserver, topic, group, plan, receiveCount, quietMs, timeoutMs } = request
  const args = [`nameserver=${nameserver}`, `topic=${topic}`, `group=${group}`]
  args.push(`receive=${receiveCount}`, `quietMs=${quietMs}`, `timeoutMs=${timeoutMs}`)
  args.push(`warmup=${request.isWarmedUp ? 1 : 0}`, ...(request.more ?? []))
  const [first] = plan
  if (first !== undefined) {
    const planFile = join(workFolder, `${first.id}.tsv`)
    writeFileSync(planFile, formatPlan(plan))
    args.push(`send=${planFile}`)
  }
  const outcome = await run(launch(args), timeoutMs + quietMs + GRACE_MS)
  const events = parseEvents(outcome.lines)
  const problems: string[] = []
  if (outcome.isTimedOut) problems.push('the program did not end and was killed')
  else if (outcome.exitCode !== 0) {
    problems.push(`the program ended with ${outcome.exitCode}: ${outcome.complaints}`)
  }
  return { events, problems }
}
