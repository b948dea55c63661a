import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { SeedResult } from './play.ts'
import type { Bug } from './setting.ts'
import { Totals } from './totals.ts'

export interface Plan {
  readonly firstSeed: number
  readonly seedCount: number
  readonly operations: number
  readonly bug: Bug
  /** Plays all seeds, also after a violation. */
  readonly goesOn: boolean
  readonly isVerbose: boolean
}

export interface Outcome {
  readonly seedCount: number
  readonly totals: Totals
  readonly faults: Totals
  /** Seeds with a violation, in the order in which they were found. */
  readonly failures: readonly SeedResult[]
}

/** Plays the seeds in child processes; stops at the first violation. */
export async function runJobs(plan: Plan, jobCount: number): Promise<Outcome> {
  const totals = new Totals()
  const faults = new Totals()
  let seedCount = 0
  const failures: SeedResult[] = []
  let nextSeed = plan.firstSeed
  const endSeed = plan.firstSeed + plan.seedCount
  const take = (): number | undefined => {
    const isOver = failures.length > 0 && !plan.goesOn
    return !isOver && nextSeed < endSeed ? nextSeed++ : undefined
  }
  const done = (result: SeedResult): void => {
    seedCount++
    totals.addAll(Object.entries(result.counts))
    faults.addAll(Object.entries(result.faults))
    if (result.violation !== undefined) failures.push(result)
  }
  const jobs = Array.from({ length: jobCount }, () => runJob(plan, take, done))
  await Promise.all(jobs)
  return { seedCount, totals, faults, failures }
}

/** One child process, which gets one seed after the other. */
function runJob(
  plan: Plan,
  take: () => number | undefined,
  done: (result: SeedResult) => void,
): Promise<void> {
  const path = fileURLToPath(new URL('job.js', import.meta.url))
  const child = fork(path)
  return new Promise((resolve, reject) => {
    const next = (): void => {
      const seed = take()
      if (seed === undefined) child.disconnect()
      else child.send({ ...plan, seed })
    }
    child.on('message', result => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- job.ts sends nothing else
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own child process sent it
      done(result as SeedResult)
      next()
    })
    child.on('error', reject)
    child.on('exit', code => {
      if (code === 0) resolve()
      else reject(new Error(`a job ended with exit code ${code}`))
    })
    next()
  })
}
