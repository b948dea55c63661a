/**
 * `npm run simulate -- --seeds N [--seed S] [--operations 500] [--jobs J] [--bug B] [--all] [--verbose]`:
 * whole brokers in simulated worlds, each from one seed. `--month [--days 30]`: one that lives for
 * long. See docs/operations/simulation.md.
 */
import { parseArgs } from 'node:util'
import { runJobs } from './jobs.ts'
import { reportLongLife } from './long-life-report.ts'
import { printReport } from './report.ts'
import { BUGS } from './setting.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    operations: { type: 'string', default: '500' },
    jobs: { type: 'string', default: '2' },
    bug: { type: 'string', default: 'none' },
    all: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    month: { type: 'boolean', default: false },
    days: { type: 'string', default: '30' },
  },
})
if (values.month) {
  const seed = wholeNumber('seed', values.seed, 0)
  const isWell = await reportLongLife({ seed, days: wholeNumber('days', values.days, 1) })
  process.exit(isWell ? 0 : 1)
}
const bug = BUGS.find(name => name === values.bug)
if (bug === undefined) throw new Error(`--bug takes one of ${BUGS.join(', ')}`)
const isHunt = bug !== 'none'
const plan = {
  firstSeed: wholeNumber('seed', values.seed, 0),
  seedCount: wholeNumber('seeds', isHunt && values.seeds === '100' ? '1000' : values.seeds, 1),
  operations: wholeNumber('operations', values.operations, 1),
  bug,
  goesOn: values.all,
  isVerbose: values.verbose,
}
const startMs = performance.now()
const outcome = await runJobs(plan, wholeNumber('jobs', values.jobs, 1))
const passed = printReport(plan, outcome, (performance.now() - startMs) / 1000)
process.exit(passed ? 0 : 1)

function wholeNumber(name: string, text: string, least: number): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new Error(`--${name} takes a whole number of at least ${least}, not ${text}`)
}
