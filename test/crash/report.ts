import { KINDS, type Kind } from './ledger.ts'
import { MomentTally } from './moments.ts'
import type { Outcome } from './run.ts'
import { type Check, judge } from './verdict.ts'

const PROBLEMS_SHOWN = 10

/** Prints totals, checks, and last `N passed, N failed`. True when all passed. */
export function printReport(outcome: Outcome): boolean {
  const totals = totalsOf(outcome)
  console.log([...totals].map(([name, count]) => `${name} ${count}`).join(', '))
  console.log(`slowest start ${Math.round(outcome.startMsMax)} ms`)
  for (const [text, count] of outcome.refusals) console.log(`${count} sends failed: ${text}`)
  printMoments(outcome.tally)
  const verdict = judge(outcome.ledger, outcome.reading, outcome.shown)
  const checks = [...verdict, notZero(totals), everyMoment(outcome.tally)]
  for (const check of checks) printCheck(check)
  const failed = checks.filter(({ problems }) => problems.length > 0).length
  console.log(`${checks.length - failed} passed, ${failed} failed`)
  return failed === 0
}

function printMoments({ scores, killCount }: MomentTally): void {
  console.log(`\n${killCount} kills     aimed at   hit`)
  for (const [moment, { aimedCount, hitCount }] of scores) {
    console.log(`  ${moment.padEnd(12)}${pad(aimedCount)}${pad(hitCount)}`)
  }
  console.log('')
}

function pad(count: number): string {
  return String(count).padStart(8)
}

function printCheck({ text, problems }: Check): void {
  console.log(`${problems.length === 0 ? 'ok    ' : 'FAILED'} ${text}`)
  for (const problem of problems.slice(0, PROBLEMS_SHOWN)) console.log(`       ${problem}`)
  const more = problems.length - PROBLEMS_SHOWN
  if (more > 0) console.log(`       and ${more} more`)
}

/** A run that did not do one of these shows nothing. */
function totalsOf(outcome: Outcome): ReadonlyMap<string, number> {
  const { entries } = outcome.ledger
  const accepted = (kind: Kind): number =>
    entries.filter(entry => entry.kind === kind && entry.acknowledged).length
  return new Map([
    ['kills', outcome.tally.killCount],
    ...KINDS.map(kind => [`accepted ${kind}`, accepted(kind)] as const),
    ['cancelled', entries.filter(({ cancel }) => cancel === 'done').length],
    ['moved', entries.filter(({ dueMs, sentDueMs }) => dueMs !== sentDueMs).length],
    ['unanswered', entries.filter(({ acknowledged }) => !acknowledged).length],
    ['received by the consumer', entries.filter(entry => entry.receivedMs !== undefined).length],
    ['records read at the end', outcome.reading.places.size],
  ])
}

function notZero(totals: ReadonlyMap<string, number>): Check {
  const empty = [...totals].filter(([, count]) => count === 0).map(([name]) => name)
  return { text: 'no total is zero', problems: empty.map(name => `${name}: none`) }
}

function everyMoment({ scores, killCount }: MomentTally): Check {
  const least = MomentTally.hitCountMin(killCount)
  const rare = [...scores].filter(([, { hitCount }]) => hitCount < least)
  return {
    text: `every moment was hit by at least ${least} kills`,
    problems: rare.map(([moment, { hitCount }]) => `${moment}: ${hitCount}`),
  }
}
