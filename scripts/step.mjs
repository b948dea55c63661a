import { spawn } from 'node:child_process'

/**
 * One part of a test run: a program with a limit of time.
 *
 * @typedef {object} Step
 * @property {string} name
 * @property {string} command
 * @property {readonly string[]} args
 * @property {number} limitMs the program and all that it started are killed then
 * @property {Readonly<Record<string, string>>} [env]
 * @property {(ok: boolean, lastLine: string) => Counts} [count] one check, unless given
 *
 * @typedef {object} Counts
 * @property {number} passed
 * @property {number} failed
 */

/** How long what was written last may take to come through the pipe. */
const PIPE_MS_MAX = 5000

/** @type {Set<number>} */
const running = new Set()

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
  process.on(signal, () => {
    for (const pid of running) killGroup(pid)
    process.exit(130)
  })
}

/** @param {number} pid */
function killGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

/**
 * Runs a step with its output shown. Never rejects: what cannot be started has failed.
 *
 * @param {Step} step
 * @returns {Promise<{ ok: boolean, lastLine: string, ms: number }>}
 */
function execute(step) {
  return new Promise(resolve => {
    const startedMs = Date.now()
    let lastLine = ''
    let late = false
    const child = spawn(step.command, step.args, {
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...step.env },
    })
    if (child.pid !== undefined) running.add(child.pid)
    const timer = setTimeout(() => {
      late = true
      console.error(`${step.name}: killed after ${step.limitMs / 1000} s`)
      if (child.pid !== undefined) killGroup(child.pid)
    }, step.limitMs)
    const finish = (/** @type {boolean} */ ok) => {
      clearTimeout(timer)
      if (child.pid !== undefined) running.delete(child.pid)
      child.stdout.destroy()
      resolve({ ok: ok && !late, lastLine, ms: Date.now() - startedMs })
    }
    child.stdout.on('data', (/** @type {Buffer} */ chunk) => {
      process.stdout.write(chunk)
      lastLine = lastLineOf(lastLine + chunk.toString())
    })
    child.once('error', error => {
      console.error(`${step.name}: ${error.message}`)
      finish(false)
    })
    child.once('exit', code => {
      // What a step leaves behind must not hold up the next one, nor keep the pipe open.
      if (child.pid !== undefined) killGroup(child.pid)
      setTimeout(finish, PIPE_MS_MAX, code === 0).unref()
    })
    child.once('close', code => finish(code === 0))
  })
}

/** @param {string} text */
function lastLineOf(text) {
  const end = text.trimEnd()
  return end.slice(end.lastIndexOf('\n') + 1) + text.slice(end.length)
}

/**
 * Runs steps one after the other, all of them, whatever fails; prints a summary.
 *
 * @param {readonly Step[]} steps
 * @returns {Promise<Counts>}
 */
export async function runSteps(steps) {
  const total = { passed: 0, failed: 0 }
  /** @type {string[]} */
  const summary = []
  for (const step of steps) {
    console.log(`\n== ${step.name}`)
    const { ok, lastLine, ms } = await execute(step)
    const counts = countsOf(step, ok, lastLine)
    total.passed += counts.passed
    total.failed += counts.failed
    const mark = counts.failed === 0 ? 'ok    ' : 'FAILED'
    const time = `${(ms / 1000).toFixed(1)} s`.padStart(8)
    summary.push(`${mark} ${time}  ${step.name} (${counts.passed} passed, ${counts.failed} failed)`)
  }
  console.log(`\n== summary\n${summary.join('\n')}`)
  return total
}

/**
 * A step that ends with an error counts at least one failure, whatever it says.
 *
 * @param {Step} step
 * @param {boolean} ok
 * @param {string} lastLine
 * @returns {Counts}
 */
function countsOf(step, ok, lastLine) {
  const counts = step.count?.(ok, lastLine) ?? { passed: ok ? 1 : 0, failed: ok ? 0 : 1 }
  const failed = ok ? counts.failed : Math.max(counts.failed, 1)
  return { passed: counts.passed, failed }
}

/**
 * For programs whose last line is `N passed, N failed`; without one, nothing was checked.
 *
 * @param {boolean} _
 * @param {string} lastLine
 * @returns {Counts}
 */
export function countsOfLastLine(_, lastLine) {
  const match = /(\d+) passed, (\d+) failed\s*$/.exec(lastLine)
  if (match === null) return { passed: 0, failed: 1 }
  const passed = Number(match[1])
  return { passed, failed: Math.max(Number(match[2]), passed === 0 ? 1 : 0) }
}
