import { expect, test } from 'vitest'
import { type Events, parseEvents } from './events.ts'
import { judgeRetry, judgeRoundTrip, strangers } from './judge.ts'
import { formatPlan, makePlan, type PlannedMessage, roundTripShares } from './plan.ts'

const SENT_AT_MS = 1_000_000
const LATE_MS_MAX = 2_000

interface Receipt {
  readonly message: PlannedMessage
  readonly atMs: number
  readonly reconsumeCount?: number
  readonly event?: 'received' | 'dead'
}

function receiptLine({ message, atMs, reconsumeCount = 0, event = 'received' }: Receipt): string {
  const body = Buffer.from(message.body).toString('base64')
  const { tag, keys, note } = message
  return [event, atMs, reconsumeCount, tag, keys, note, body].join('\t')
}

function sentLine(message: PlannedMessage): string {
  return ['sent', message.id, SENT_AT_MS, SENT_AT_MS + 5, -1].join('\t')
}

/** One message with level 1, which is due a second after it was sent. */
function oneMessage(): PlannedMessage {
  const [message] = makePlan('one', [{ kind: 'level', values: [1], count: 1 }])
  if (message === undefined) throw new Error('the plan is empty')
  return message
}

function problemsOf(message: PlannedMessage, lines: readonly string[]): readonly string[] {
  return judgeRoundTrip([message], parseEvents(lines), LATE_MS_MAX).problems
}

test('a message that arrives once, whole and in time is all right', () => {
  const message = oneMessage()
  const lines = [sentLine(message), receiptLine({ message, atMs: SENT_AT_MS + 1_000 })]
  expect(problemsOf(message, lines)).toEqual([])
})

test('a message one millisecond early is a problem', () => {
  const message = oneMessage()
  const lines = [sentLine(message), receiptLine({ message, atMs: SENT_AT_MS + 999 })]
  expect(problemsOf(message, lines)).toEqual(['one-0 arrived 1 ms early'])
})

test('lateness counts from the answer, and more than allowed is a problem', () => {
  const message = oneMessage()
  const at = (atMs: number) =>
    problemsOf(message, [sentLine(message), receiptLine({ message, atMs })])
  expect(at(SENT_AT_MS + 3_005)).toEqual([])
  expect(at(SENT_AT_MS + 3_006)).toEqual(['one-0 arrived 2001 ms late'])
})

test('an absolute deliver time counts as it was asked for, unless it was over already', () => {
  const [message] = makePlan('at', [{ kind: 'deliver-ms', values: [700], count: 1 }])
  if (message === undefined) throw new Error('the plan is empty')
  const sentFor = (deliverMs: number) => `sent\tat-0\t${SENT_AT_MS}\t${SENT_AT_MS}\t${deliverMs}`
  const problems = (deliverMs: number, atMs: number) =>
    problemsOf(message, [sentFor(deliverMs), receiptLine({ message, atMs })])
  expect(problems(SENT_AT_MS + 700, SENT_AT_MS + 699)).toEqual(['at-0 arrived 1 ms early'])
  expect(problems(SENT_AT_MS + 700, SENT_AT_MS + 700)).toEqual([])
  expect(problems(SENT_AT_MS - 5_000, SENT_AT_MS + 1)).toEqual([])
})

test('what is lost, doubled, refused or never sent is a problem', () => {
  const message = oneMessage()
  const receipt = receiptLine({ message, atMs: SENT_AT_MS + 1_000 })
  expect(problemsOf(message, [sentLine(message)])).toEqual(['one-0 did not arrive'])
  expect(problemsOf(message, [sentLine(message), receipt, receipt])).toEqual([
    'one-0 arrived 2 times',
  ])
  expect(problemsOf(message, ['failed\tone-0\tstore full'])).toEqual([
    'one-0 was not sent: store full',
  ])
  expect(problemsOf(message, [])).toEqual(['one-0 was not sent: no answer'])
})

test.each(['tag', 'keys', 'note'] as const)('a changed %s is a problem', part => {
  const message = oneMessage()
  const changed = { ...message, [part]: 'other' }
  const lines = [sentLine(message), receiptLine({ message: changed, atMs: SENT_AT_MS + 1_000 })]
  expect(problemsOf(message, lines)).toEqual([
    `one-0 arrived with ${part} "other", not "${message[part]}"`,
  ])
})

test('a body cut short is a problem, and one nobody sent is a stranger', () => {
  const message = oneMessage()
  const cut = { ...message, body: message.body.slice(0, -1) }
  const lines = [sentLine(message), receiptLine({ message: cut, atMs: SENT_AT_MS + 1_000 })]
  expect(problemsOf(message, lines)).toHaveLength(1)
  const foreign = { ...message, body: 'what|is this' }
  const events = parseEvents([receiptLine({ message: foreign, atMs: SENT_AT_MS })])
  expect(strangers([message], events)).toEqual(['"what|is this" arrived, and nobody sent it'])
})

const rules = {
  retryCount: 2,
  delayMs: () => 1_000,
  lateMsMax: LATE_MS_MAX,
  routeMsMax: 50_000,
}

function retried(message: PlannedMessage, timesMs: readonly number[], deadCount: number): Events {
  const attempts = timesMs.map((atMs, reconsumeCount) =>
    receiptLine({ message, atMs, reconsumeCount }),
  )
  const letter = receiptLine({ message, atMs: SENT_AT_MS, event: 'dead' })
  return parseEvents([...attempts, ...Array.from({ length: deadCount }, () => letter)])
}

test('two retries in time and one dead letter are all right', () => {
  const message = oneMessage()
  const events = retried(message, [0, 1_000, 2_000], 1)
  expect(judgeRetry([message], events, rules)).toEqual({ count: 1, problems: [], latestMs: 0 })
})

test('only the first retry may wait for the route of its topic', () => {
  const message = oneMessage()
  expect(judgeRetry([message], retried(message, [0, 53_000, 54_000], 1), rules).problems).toEqual(
    [],
  )
  expect(judgeRetry([message], retried(message, [0, 1_000, 5_000], 1), rules).problems).toEqual([
    'one-0: retry 2 came 3000 ms late',
  ])
})

test('a retry too early, too few, too many, and a missing or doubled dead letter are problems', () => {
  const message = oneMessage()
  const problems = (timesMs: readonly number[], deadCount: number) =>
    judgeRetry([message], retried(message, timesMs, deadCount), rules).problems
  expect(problems([0, 999, 2_000], 1)).toEqual(['one-0: retry 1 came 1 ms early'])
  expect(problems([0, 1_000], 1)).toEqual(['one-0 had the attempts 0, 1, not 0, 1, 2'])
  expect(problems([0, 1_000, 2_000, 3_000], 1)).toEqual([
    'one-0 had the attempts 0, 1, 2, 3, not 0, 1, 2',
  ])
  expect(problems([0, 1_000, 2_000], 0)).toEqual(['one-0 was 0 times a dead letter'])
  expect(problems([0, 1_000, 2_000], 2)).toEqual(['one-0 was 2 times a dead letter'])
})

test('a plan of 1,000 has every kind, interleaved, with ids of their own', () => {
  const plan = makePlan('p', roundTripShares(1_000))
  expect(plan).toHaveLength(1_000)
  expect(new Set(plan.map(({ id }) => id)).size).toBe(1_000)
  const firstTwenty = new Set(plan.slice(0, 20).map(({ kind }) => kind))
  expect(firstTwenty).toEqual(new Set(['plain', 'level', 'delay-sec', 'delay-ms', 'deliver-ms']))
})

test('a plan is written with seven columns in each line', () => {
  const lines = formatPlan(makePlan('p', roundTripShares(100))).split('\n')
  expect(lines.pop()).toBe('')
  expect(new Set(lines.map(line => line.split('\t').length))).toEqual(new Set([7]))
})
