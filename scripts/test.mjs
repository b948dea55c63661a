// npm test: everything that needs npm and Debian only.
import { runSteps } from './step.mjs'
import { testSteps } from './test-steps.mjs'

const { passed, failed } = await runSteps(testSteps())
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
