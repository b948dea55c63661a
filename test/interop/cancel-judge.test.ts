import { expect, test } from 'vitest'
import { type CancelPair, type CancelWay, judgeCancels, makeCancelPairs } from './cancel-judge.ts'
import { parseEvents } from './events.ts'
import type { PlannedMessage } from './plan.ts'

const SENT_AT_MS = 1_000_000
const DELIVER_AT_MS = SENT_AT_MS + 5_000
const LATE_MS_MAX = 2_000

function onePair(way: CancelWay): CancelPair {
  const [pair] = makeCancelPairs('one', [way], 1)
  if (pair === undefined) throw new Error('there is no pair')
  return pair
}

function sent({ id }: PlannedMessage): string {
  return ['sent', id, SENT_AT_MS, SENT_AT_MS + 5, DELIVER_AT_MS].join('\t')
}

function received({ tag, keys, note, body }: PlannedMessage): string {
  const body64 = Buffer.from(body).toString('base64')
  return ['received', DELIVER_AT_MS + 1, 0, tag, keys, note, body64].join('\t')
}

function cancelled({ id }: PlannedMessage, atMs = SENT_AT_MS + 100, answeredKey = 'K1'): string {
  return ['cancelled', id, atMs, 'K1', answeredKey].join('\t')
}

function refused({ id }: PlannedMessage, atMs: number, reason = 'CODE: 604 DESC: late'): string {
  return ['not-cancelled', id, atMs, reason].join('\t')
}

/** Both messages of the pair were sent. */
function problemsOf(pair: CancelPair, lines: readonly string[]): readonly string[] {
  const events = parseEvents([sent(pair.target), sent(pair.neighbour), ...lines])
  return judgeCancels([pair], events, LATE_MS_MAX).problems
}

test('a cancelled message that stays away beside one that comes is all right', () => {
  const pair = onePair('handle')
  expect(problemsOf(pair, [cancelled(pair.target), received(pair.neighbour)])).toEqual([])
  const mark = onePair('mark')
  const answer = cancelled(mark.target, SENT_AT_MS, '')
  expect(problemsOf(mark, [answer, received(mark.neighbour)])).toEqual([])
})

test('a cancelled message that comes all the same is a problem, and so is a lost neighbour', () => {
  const pair = onePair('five-fields')
  const { target, neighbour } = pair
  expect(problemsOf(pair, [cancelled(target), received(target), received(neighbour)])).toEqual([
    'one-five-fields-0 arrived 1 times',
  ])
  expect(problemsOf(pair, [cancelled(target)])).toEqual(['one-five-fields-1 did not arrive'])
})

test('a cancel that was refused, not answered, or answered for another message is a problem', () => {
  const pair = onePair('handle')
  const { target, neighbour } = pair
  const problems = (...lines: readonly string[]) =>
    problemsOf(pair, [...lines, received(neighbour)])
  expect(problems(refused(target, SENT_AT_MS))).toEqual([
    'one-handle-0 was not cancelled: CODE: 604 DESC: late',
  ])
  expect(problems()).toEqual(['one-handle-0 was not cancelled: no answer'])
  expect(problems(cancelled(target, SENT_AT_MS, 'K2'))).toEqual([
    'one-handle-0 has the unique key K1, and K2 was cancelled',
  ])
})

test('a cancel answered only when the message was due proves nothing', () => {
  const pair = onePair('handle')
  const lines = [cancelled(pair.target, DELIVER_AT_MS), received(pair.neighbour)]
  expect(problemsOf(pair, lines)).toEqual(['one-handle-0 was cancelled 0 ms after its time'])
})

test('a message that was never sent is a problem, not one that was cancelled', () => {
  const pair = onePair('mark')
  const lines = [sent(pair.neighbour), received(pair.neighbour), 'failed\tone-mark-0\tfull']
  expect(judgeCancels([pair], parseEvents(lines), LATE_MS_MAX).problems).toEqual([
    'one-mark-0 was not sent: full',
  ])
})

test('too late is right only with 604, after the message came, and once', () => {
  const pair = onePair('handle-late')
  const { target, neighbour } = pair
  const problems = (...lines: readonly string[]) =>
    problemsOf(pair, [...lines, received(neighbour)])
  const afterMs = DELIVER_AT_MS + 50
  expect(problems(received(target), refused(target, afterMs))).toEqual([])
  expect(problems(received(target))).toEqual([
    'one-handle-late-0: the late cancel was not answered',
  ])
  expect(problems(received(target), cancelled(target, afterMs))).toEqual([
    'one-handle-late-0 was cancelled after it had arrived',
  ])
  expect(problems(received(target), refused(target, afterMs, 'CODE: 16'))).toEqual([
    'one-handle-late-0 was refused for another reason: CODE: 16',
  ])
  expect(problems(received(target), refused(target, DELIVER_AT_MS))).toEqual([
    'one-handle-late-0 was refused before it arrived',
  ])
  expect(problems(received(target), received(target), refused(target, afterMs))).toEqual([
    'one-handle-late-0 arrived 2 times',
  ])
})

test('pairs are for the same time, with ids of their own, and the late ones come last', () => {
  const pairs = makeCancelPairs('p', ['handle-late', 'handle', 'five-fields'], 3)
  expect(pairs.map(({ way }) => way)).toEqual([
    ...Array.from({ length: 3 }, () => 'handle'),
    ...Array.from({ length: 3 }, () => 'five-fields'),
    ...Array.from({ length: 3 }, () => 'handle-late'),
  ])
  const messages = pairs.flatMap(({ target, neighbour }) => [target, neighbour])
  expect(new Set(messages.map(({ id }) => id)).size).toBe(18)
  expect(pairs.every(({ target, neighbour }) => target.value === neighbour.value)).toBe(true)
})
