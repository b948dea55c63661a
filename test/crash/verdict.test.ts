import { expect, test } from 'vitest'

import type { Door, StoredRecord } from './door.ts'
import { type Kind, Ledger, topicOf } from './ledger.ts'
import { readLog } from './log-reading.ts'
import { judge } from './verdict.ts'

const DUE_MS = 1_000_000

/** A log as a broker might show it: the records of one queue, by topic. */
function doorOf(logs: Partial<Record<Kind, readonly StoredRecord[]>>): Door {
  const queues = new Map<string, readonly StoredRecord[]>()
  for (const [kind, records] of Object.entries(logs)) queues.set(`crash-${kind}`, records)
  return {
    send: () => Promise.reject(new Error('this log is only read')),
    cancel: () => Promise.reject(new Error('this log is only read')),
    move: () => Promise.reject(new Error('this log is only read')),
    queueCount: topic => Promise.resolve(queues.has(topic) ? 1 : 0),
    read: (topic, _queueId, queueOffset) => {
      const rest = (queues.get(topic) ?? []).filter(stored => stored.queueOffset >= queueOffset)
      const records = rest.slice(0, 2)
      return Promise.resolve({ records, nextOffset: (records.at(-1)?.queueOffset ?? 0) + 1 })
    },
    maxOffset: topic => Promise.resolve((queues.get(topic)?.at(-1)?.queueOffset ?? -1) + 1),
    close: () => Promise.resolve(),
  }
}

function record(queueOffset: number, body: string, storeTimeMs = DUE_MS): StoredRecord {
  return { queueOffset, storeTimeMs, body: Buffer.from(body) }
}

/** Three accepted messages of each kind, with the ids 0 to 8, and an unanswered timer message, 9. */
function filledLedger(): Ledger {
  const ledger = new Ledger()
  for (const kind of ['plain', 'level', 'timer'] as const) {
    for (let i = 0; i < 3; i++) ledger.add(kind, DUE_MS).acknowledged = true
  }
  ledger.add('timer', DUE_MS)
  return ledger
}

const PLAIN = [record(0, '0 x'), record(1, '1 '), record(2, '2 xxx')]
const LEVEL = [record(0, '3 x'), record(1, '4 x'), record(2, '5 x')]
const TIMER = [record(0, '6 x'), record(1, '7 x'), record(2, '8 x')]

async function failures(
  logs: Partial<Record<Kind, readonly StoredRecord[]>>,
  options: { readonly shown?: ReadonlyMap<string, number>; readonly ledger?: Ledger } = {},
): Promise<readonly string[]> {
  const checks = judge(
    options.ledger ?? filledLedger(),
    await readLog(doorOf(logs)),
    new Map(options.shown),
  )
  return checks.filter(({ problems }) => problems.length > 0).map(({ text }) => text)
}

test('a message that was cancelled may be missing, and must not be there', async () => {
  const ledger = filledLedger()
  for (const id of [6, 7]) Object.assign(ledger.find(id) ?? {}, { cancel: 'done' })
  Object.assign(ledger.find(8) ?? {}, { cancel: 'asked' })
  const logs = { plain: PLAIN, level: LEVEL, timer: [record(0, '7 x')] }
  expect(await failures(logs, { ledger })).toEqual([
    'no message that was cancelled is in its topic',
  ])
})

test('a log with every accepted message once passes', async () => {
  expect(await failures({ plain: PLAIN, level: LEVEL, timer: TIMER })).toEqual([])
})

test('an unanswered message may be in the log once', async () => {
  const timer = [...TIMER, record(3, '9 x')]
  expect(await failures({ plain: PLAIN, level: LEVEL, timer })).toEqual([])
})

test('an unanswered message may not be in the log twice', async () => {
  const timer = [...TIMER, record(3, '9 x'), record(4, '9 x')]
  expect(await failures({ plain: PLAIN, level: LEVEL, timer })).toEqual([
    'no message is in the log twice',
  ])
})

test('a missing accepted message is lost', async () => {
  const level = LEVEL.slice(0, 2)
  expect(await failures({ plain: PLAIN, level, timer: TIMER })).toEqual([
    'no acknowledged level message is lost',
  ])
})

test('a message stored a millisecond before its time is early', async () => {
  const timer = [record(0, '6 x', DUE_MS - 1), ...TIMER.slice(1)]
  expect(await failures({ plain: PLAIN, level: LEVEL, timer })).toEqual([
    'no message is stored in its topic before it is due',
  ])
})

test('a message received a millisecond before its time is early', async () => {
  const ledger = filledLedger()
  const entry = ledger.find(6)
  if (entry !== undefined) entry.receivedMs = DUE_MS - 1
  expect(await failures({ plain: PLAIN, level: LEVEL, timer: TIMER }, { ledger })).toEqual([
    'no message is received before it is due',
  ])
})

test('a record that a consumer was shown must stay where it was', async () => {
  const shown = new Map([[`${topicOf('plain')}/0/1`, 2]])
  expect(await failures({ plain: PLAIN, level: LEVEL, timer: TIMER }, { shown })).toEqual([
    'what a consumer was shown before a kill is still at its place',
  ])
})

test('holes, damaged bodies and unknown ids are found', async () => {
  const promise = 'the queues hold only what was sent, whole and without holes'
  const timer = [...TIMER, record(4, '9 x')]
  expect(await failures({ plain: PLAIN, level: LEVEL, timer })).toEqual([promise])
  const level = [...LEVEL, record(3, '3 xyx')]
  expect(await failures({ plain: PLAIN, level, timer: TIMER })).toEqual([promise])
  const plain = [...PLAIN, record(3, '77 x')]
  expect(await failures({ plain, level: LEVEL, timer: TIMER })).toEqual([promise])
})
