/**
 * `npm run test:crash -- [--rounds N] [--seed S] [--keep]`: a real broker is killed with SIGKILL in
 * the middle of all that it does, started again on its folder, and at the end its log is compared
 * with what it had acknowledged. See docs/operations/crash-test.md.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { printReport } from './report.ts'
import { CrashRun } from './run.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    keep: { type: 'boolean', default: false },
  },
})
const rounds = wholeNumber('rounds', values.rounds, 1)
const seed = wholeNumber('seed', values.seed, 0)
const directory = mkdtempSync(join(tmpdir(), 'orrery-crash-'))
console.log(
  `${rounds} rounds, seed ${seed}; repeat: npm run test:crash -- --rounds ${rounds} --seed ${seed}`,
)

let passed = false
const run = new CrashRun(directory, seed)
try {
  passed = printReport(await run.play(rounds))
} catch (error) {
  console.error(error)
  console.log('0 passed, 1 failed')
} finally {
  await run.close()
}
if (passed && !values.keep) rmSync(directory, { recursive: true, force: true })
else console.log(`the broker's folder and log are kept in ${directory}`)
process.exit(passed ? 0 : 1)

function wholeNumber(name: string, text: string, least: number): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new Error(`--${name} takes a whole number of at least ${least}, not ${text}`)
}
