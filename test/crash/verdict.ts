import type { Shown } from './consumer.ts'
import { KINDS, type Entry, type Ledger } from './ledger.ts'
import type { LogReading } from './log-reading.ts'

export interface Check {
  readonly text: string
  /** What is wrong, in words; empty when the check passed. */
  readonly problems: readonly string[]
}

/** Acknowledged messages that the log does not hold, and that are not cancelled, as far as is known. */
export function lostEntries(ledger: Ledger, reading: LogReading): readonly Entry[] {
  return ledger.entries.filter(({ id, acknowledged, cancel }) => {
    const mustBeThere = acknowledged && (cancel === 'no' || cancel === 'refused')
    return mustBeThere && !reading.copies.has(id)
  })
}

/** The promises, each held against what the log holds at the end and what the consumer saw. */
export function judge(ledger: Ledger, reading: LogReading, shown: Shown): readonly Check[] {
  const { entries } = ledger
  const lost = lostEntries(ledger, reading)
  const copiesOf = (
    entry: Entry,
  ): LogReading['copies'] extends ReadonlyMap<number, infer C> ? C : never =>
    reading.copies.get(entry.id) ?? []
  const checks: Check[] = KINDS.map(kind => ({
    text: `no acknowledged ${kind} message is lost`,
    problems: lost.filter(entry => entry.kind === kind && entry.cancel === 'no').map(describe),
  }))
  checks.push(
    {
      text: 'no message is stored in its topic before it is due',
      problems: entries.flatMap(entry =>
        copiesOf(entry)
          .filter(copy => copy.storeTimeMs < entry.dueMs)
          .map(copy => `${describe(entry)} stored ${entry.dueMs - copy.storeTimeMs} ms early`),
      ),
    },
    {
      text: 'no message is received before it is due',
      problems: entries
        .filter(({ receivedMs, dueMs }) => receivedMs !== undefined && receivedMs < dueMs)
        .map(describe),
    },
    {
      text: 'no message that was cancelled is in its topic',
      problems: entries
        .filter(entry => entry.cancel === 'done' && copiesOf(entry).length > 0)
        .map(describe),
    },
    {
      text: 'what was too late to cancel is in its topic',
      problems: lost.filter(entry => entry.cancel === 'refused').map(describe),
    },
    {
      text: 'no message is in the log twice',
      problems: entries
        .filter(entry => copiesOf(entry).length > 1)
        .map(
          entry =>
            `${describe(entry)} at ${copiesOf(entry)
              .map(copy => copy.key)
              .join(', ')}`,
        ),
    },
    {
      text: 'what a consumer was shown before a kill is still at its place',
      problems: [...shown]
        .filter(([key, id]) => reading.places.get(key) !== id)
        .map(([key, id]) => `${id} was at ${key}, now ${reading.places.get(key) ?? 'nothing'}`),
    },
    {
      text: 'the queues hold only what was sent, whole and without holes',
      problems: [
        ...reading.strangers.map(key => `stranger at ${key}`),
        ...reading.holes.map(key => `hole at ${key}`),
        ...[...reading.copies.keys()]
          .filter(id => ledger.find(id) === undefined)
          .map(id => `${id} was never sent`),
      ],
    },
  )
  return checks
}

function describe({ id, kind, dueMs, acknowledged, receivedMs }: Entry): string {
  const answered = acknowledged ? 'acknowledged' : 'unanswered'
  return `${kind} ${id} (${answered}, due ${dueMs}, received ${receivedMs ?? 'never'})`
}
