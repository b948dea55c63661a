/** Decides from a plan and the events of a run whether the broker did what it should. */
import type { Events, Received, Sent } from './events.ts'
import type { PlannedMessage } from './plan.ts'

/** RocketMQ's default table, in seconds. */
const levelDelaysSec = [
  1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1_200, 1_800, 3_600, 7_200,
]

export interface Verdict {
  readonly count: number
  /** Empty when all is well. */
  readonly problems: readonly string[]
  /** Largest lateness seen, in milliseconds. */
  readonly latestMs: number
}

export interface DueRange {
  /** A receipt before this is early. */
  readonly earliestMs: number
  /** Lateness counts from here: the message was with the broker by then. */
  readonly latestMs: number
}

export function levelDelayMs(level: number): number {
  const seconds = levelDelaysSec[level - 1]
  if (seconds === undefined) throw new Error(`there is no level ${level}`)
  return seconds * 1_000
}

/** A relative time starts between the moments before the send and after its answer. */
export function dueRange(planned: PlannedMessage, sent: Sent): DueRange {
  if (sent.deliverTimeMs !== undefined) {
    const { deliverTimeMs, beforeMs, afterMs } = sent
    return {
      earliestMs: Math.max(deliverTimeMs, beforeMs),
      latestMs: Math.max(deliverTimeMs, afterMs),
    }
  }
  const delayMs = relativeDelayMs(planned)
  return { earliestMs: sent.beforeMs + delayMs, latestMs: sent.afterMs + delayMs }
}

function relativeDelayMs({ kind, value }: PlannedMessage): number {
  switch (kind) {
    case 'plain':
      return 0
    case 'level':
      return levelDelayMs(value)
    case 'delay-sec':
      return value * 1_000
    case 'delay-ms':
      return value
    case 'deliver-ms':
      throw new Error('a message with a deliver time must report it')
  }
}

/** Names each property that did not arrive as it was sent. */
export function changes(planned: PlannedMessage, received: Received): readonly string[] {
  const problems: string[] = []
  for (const part of ['tag', 'keys', 'note', 'body'] as const) {
    if (received[part] !== planned[part]) {
      const [got, want] = [shorten(received[part]), shorten(planned[part])]
      problems.push(`${planned.id} arrived with ${part} "${got}", not "${want}"`)
    }
  }
  return problems
}

/** Every planned message was sent, arrived once, whole, not early, and at most `lateMsMax` late. */
export function judgeRoundTrip(
  plan: readonly PlannedMessage[],
  events: Events,
  lateMsMax: number,
): Verdict {
  const receipts = groupById(events.received)
  const problems: string[] = []
  let latestMs = 0
  for (const planned of plan) {
    const sent = events.sent.get(planned.id)
    if (sent === undefined) {
      problems.push(`${planned.id} was not sent: ${events.failed.get(planned.id) ?? 'no answer'}`)
      continue
    }
    const [first, ...rest] = receipts.get(planned.id) ?? []
    if (first === undefined) {
      problems.push(`${planned.id} did not arrive`)
      continue
    }
    if (rest.length > 0) problems.push(`${planned.id} arrived ${rest.length + 1} times`)
    const due = dueRange(planned, sent)
    const lateMs = first.atMs - due.latestMs
    latestMs = Math.max(latestMs, lateMs)
    if (first.atMs < due.earliestMs) {
      problems.push(`${planned.id} arrived ${due.earliestMs - first.atMs} ms early`)
    }
    if (lateMs > lateMsMax) problems.push(`${planned.id} arrived ${lateMs} ms late`)
    problems.push(...changes(planned, first))
  }
  return { count: plan.length, problems, latestMs }
}

/** Receipts of messages that nobody planned, for example with a damaged body. */
export function strangers(plan: readonly PlannedMessage[], events: Events): readonly string[] {
  const planned = new Set(plan.map(({ id }) => id))
  return [...events.received, ...events.dead]
    .filter(({ id }) => !planned.has(id))
    .map(({ body }) => `"${shorten(body)}" arrived, and nobody sent it`)
}

export interface RetryRules {
  readonly retryCount: number
  /** Delay before the n-th retry, n from 1. */
  readonly delayMs: (retry: number) => number
  readonly lateMsMax: number
  /** Added for the first retry: how long a client takes to learn the retry topic's route. */
  readonly routeMsMax: number
}

/** Each message is tried once and retried `retryCount` times, each in time; then it is dead, once. */
export function judgeRetry(
  plan: readonly PlannedMessage[],
  events: Events,
  rules: RetryRules,
): Verdict {
  const receipts = groupById(events.received)
  const letters = groupById(events.dead)
  const problems: string[] = []
  let latestMs = 0
  for (const planned of plan) {
    const attempts = receipts.get(planned.id) ?? []
    const counts = attempts.map(({ reconsumeCount }) => reconsumeCount).join(', ')
    const wanted = Array.from({ length: rules.retryCount + 1 }, (_, index) => index).join(', ')
    if (counts !== wanted) problems.push(`${planned.id} had the attempts ${counts}, not ${wanted}`)
    for (const [index, attempt] of attempts.entries()) {
      problems.push(...changes(planned, attempt))
      const previous = attempts[index - 1]
      if (previous === undefined) continue
      const lateMs = attempt.atMs - previous.atMs - rules.delayMs(index)
      const lateMsMax = rules.lateMsMax + (index === 1 ? rules.routeMsMax : 0)
      latestMs = Math.max(latestMs, lateMs)
      if (lateMs < 0) problems.push(`${planned.id}: retry ${index} came ${-lateMs} ms early`)
      if (lateMs > lateMsMax) problems.push(`${planned.id}: retry ${index} came ${lateMs} ms late`)
    }
    const dead = letters.get(planned.id) ?? []
    if (dead.length !== 1) problems.push(`${planned.id} was ${dead.length} times a dead letter`)
    for (const letter of dead) problems.push(...changes(planned, letter))
  }
  return { count: plan.length, problems, latestMs }
}

/** In the order of their receipt. */
export function groupById(all: readonly Received[]): ReadonlyMap<string, readonly Received[]> {
  const groups = new Map<string, Received[]>()
  for (const received of all.toSorted((left, right) => left.atMs - right.atMs)) {
    const group = groups.get(received.id)
    if (group === undefined) groups.set(received.id, [received])
    else group.push(received)
  }
  return groups
}

function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
