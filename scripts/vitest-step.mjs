import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'

/** @typedef {import('./step.mjs').Step} Step */
/** @typedef {import('./step.mjs').Counts} Counts */

/**
 * A run of vitest whose tests are counted.
 *
 * @param {object} options
 * @param {string} options.name
 * @param {string} options.node the Node to run it with
 * @param {readonly string[]} options.args
 * @param {number} options.limitMs
 * @returns {Step}
 */
export function vitestStep({ name, node, args, limitMs }) {
  const report = `.cache/vitest-${name.replace(/\W+/g, '-')}.json`
  mkdirSync(dirname(report), { recursive: true })
  // A report of an earlier run must not be taken for this one's.
  rmSync(report, { force: true })
  return {
    name,
    command: node,
    args: [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...args,
    ],
    limitMs,
    count: () => countsOfReport(report),
  }
}

/**
 * @param {string} report
 * @returns {Counts}
 */
function countsOfReport(report) {
  try {
    /** @type {{ numPassedTests: number, numFailedTests: number, numFailedTestSuites: number, success: boolean }} */
    const { numPassedTests, numFailedTests, success } = JSON.parse(readFileSync(report, 'utf8'))
    const failed = success && numPassedTests > 0 ? numFailedTests : Math.max(numFailedTests, 1)
    return { passed: numPassedTests, failed }
  } catch {
    return { passed: 0, failed: 1 }
  }
}
