import type { Outcome, Plan } from './jobs.ts'
import { OPERATION_NAMES } from './operations.ts'

/** The network has no part in the simulation, and no sync is left out but for a bug. */
const NOT_HERE = new Set(['connectionCut', 'splitChunk', 'ignoredDatasync'])
/** So few seeds need not show everything. */
const SEEDS_FOR_TOTALS = 1000

/** Prints totals and what was found. True when all is as it should be. */
export function printReport(plan: Plan, outcome: Outcome, seconds: number): boolean {
  const { totals, faults, seedCount, failures } = outcome
  const operations = OPERATION_NAMES.map(name => {
    return [name, totals.counts.get(`operation ${name}`) ?? 0] as const
  })
  const kinds = [...faults.counts].filter(([name]) => !NOT_HERE.has(name))
  const others = [...totals.counts].filter(([name]) => !name.startsWith('operation '))
  print('operations', operations)
  print('faults', kinds)
  print('what happened', others)
  const pace = (seedCount / seconds).toFixed(1)
  console.log(`${seedCount} seeds in ${seconds.toFixed(1)} s, ${pace} seeds/s`)
  if (plan.bug !== 'none') return reportHunt(plan, outcome)
  for (const { seed, violation } of failures) {
    console.log(`seed ${seed}: ${violation}`)
    console.log(`repeat: ${commandOf(plan, seed)}`)
  }
  if (failures.length > 0) return false
  const missing = [...operations, ...kinds].filter(([, count]) => count === 0)
  if (seedCount >= SEEDS_FOR_TOTALS && missing.length > 0) {
    console.log(`never happened: ${missing.map(([name]) => name).join(', ')}`)
    return false
  }
  console.log('no violation')
  return true
}

function reportHunt(plan: Plan, { failures, seedCount }: Outcome): boolean {
  const [failure] = failures
  if (failure === undefined) {
    console.log(`the bug ${plan.bug} was not found in ${seedCount} seeds`)
    return false
  }
  console.log(`found ${plan.bug} after ${seedCount} seeds, with seed ${failure.seed}:`)
  console.log(`  ${failure.violation}`)
  console.log(`repeat: ${commandOf(plan, failure.seed)} --bug ${plan.bug}`)
  return true
}

function commandOf(plan: Plan, seed: number): string {
  return `npm run simulate -- --seeds 1 --seed ${seed} --operations ${plan.operations}`
}

function print(title: string, counts: readonly (readonly [string, number])[]): void {
  const sorted = counts.toSorted(([a], [b]) => (a < b ? -1 : 1))
  console.log(`${title}: ${sorted.map(([name, count]) => `${name} ${count}`).join(', ')}`)
}
