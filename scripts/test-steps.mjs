import { existsSync } from 'node:fs'
import { countsOfLastLine } from './step.mjs'
import { vitestStep } from './vitest-step.mjs'

/** @typedef {import('./step.mjs').Step} Step */

const MINUTE_MS = 60_000

/**
 * @param {string} name
 * @param {string} program a program of a package in node_modules
 * @param {readonly string[]} args
 * @returns {Step}
 */
function tool(name, program, ...args) {
  return { name, command: `node_modules/.bin/${program}`, args, limitMs: 2 * MINUTE_MS }
}

/**
 * All of `npm test`, in order. The quick checks come first; the build is what the end-to-end and
 * crash tests run.
 *
 * @returns {readonly Step[]}
 */
export function testSteps() {
  return [
    tool('format', 'oxfmt', '--check', '.'),
    tool('lint', 'oxlint', '--type-aware', '--deny-warnings'),
    tool('types', 'tsc', '-p', 'tsconfig.json'),
    { name: 'build', command: 'npm', args: ['run', '-s', 'build'], limitMs: 2 * MINUTE_MS },
    tool('build of the tools', 'tsc', '-p', 'tsconfig.tools.json'),
    tool('unused code', 'knip'),
    vitestStep({
      name: 'tests',
      node: process.execPath,
      args: [],
      limitMs: 5 * MINUTE_MS,
    }),
    ...(existsSync('test/crash/main.ts') ? [crashStep()] : []),
  ]
}

/** @returns {Step} */
function crashStep() {
  return {
    name: 'crash',
    command: process.execPath,
    args: ['build/test/crash/main.js', '--rounds', '6'],
    limitMs: 3 * MINUTE_MS,
    count: countsOfLastLine,
  }
}
