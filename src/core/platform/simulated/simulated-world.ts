import { assert } from '../../base/index.ts'
import type { Platform } from '../platform.ts'
import { Faults } from './faults.ts'
import { microtasksDone, microtasksDoneSoon } from './microtasks.ts'
import { Scheduler } from './scheduler.ts'
import { SeededRandom } from './seeded-random.ts'
import { type DiskNode, SimulatedDisk } from './simulated-disk.ts'
import { SimulatedFiles } from './simulated-files.ts'
import { SimulatedKeyValueStores } from './simulated-key-values.ts'
import { type LogLine, SimulatedLog } from './simulated-log.ts'
import { SimulatedNetwork, WorldNetwork } from './simulated-network.ts'
import { SimulatedProcess } from './simulated-process.ts'
import { SimulatedClock, SimulatedTimers, WorldClock } from './simulated-time.ts'

export interface SimulatedWorldOptions {
  /** Any safe integer. The same seed and the same program give the same run. */
  readonly seed: number
  /** Time at the beginning, milliseconds since 1970. 2026-01-01 when left out. */
  readonly startTimeMs?: number
  /**
   * Timers call back in the millisecond that they were asked for, and a call on the disk takes 10
   * microseconds. False when left out: both take some time more, by chance.
   */
  readonly isPrompt?: boolean
}

/** A prompt world, which lives for long, gives the program around it a turn after so many events. */
const EVENTS_PER_TURN = 64
/** A day: what has not come by then never comes. */
const LIMIT_MS = 86_400_000
const START_TIME_MS = 1_767_225_600_000

/**
 * A computer with its disk, clock and network in memory, on which one process is tested.
 *
 * Nothing happens by itself: `run`, `runFor` and `finish` let events happen one after the other,
 * and with them the time pass. `platform` belongs to the process under test and is replaced by
 * `crash`, `kill` and `exit`; `outside` belongs to another process, which never dies and whose
 * disk calls never fail: for clients, and for looking at the disk.
 */
export class SimulatedWorld {
  readonly disk: SimulatedDisk
  readonly faults: Faults
  readonly network: WorldNetwork
  readonly outside: Platform
  /** Lines of all processes, in order. */
  readonly logLines: LogLine[] = []
  readonly #scheduler = new Scheduler()
  readonly #random: SeededRandom
  readonly #clock: WorldClock
  readonly #isPrompt: boolean
  readonly #locks = new Map<DiskNode, SimulatedProcess>()
  #process: SimulatedProcess
  #platform: Platform

  constructor(options: SimulatedWorldOptions) {
    this.#random = new SeededRandom(options.seed)
    this.#clock = new WorldClock(this.#scheduler, options.startTimeMs ?? START_TIME_MS)
    this.#isPrompt = options.isPrompt === true
    this.faults = new Faults(this.#random.fork())
    this.disk = new SimulatedDisk(this.#random.fork(), this.faults)
    this.network = new WorldNetwork(this.#random.fork(), this.faults)
    this.outside = this.#platformOf(new SimulatedProcess(this.#scheduler), undefined)
    this.#process = new SimulatedProcess(this.#scheduler)
    this.#platform = this.#platformOf(this.#process, this.faults)
  }

  /** Of the process that is alive now. */
  get platform(): Platform {
    return this.#platform
  }

  /** Milliseconds since the world began, with fraction; never stepped. */
  get uptimeMs(): number {
    return this.#scheduler.uptimeMs
  }

  /** A digest of all that has happened: equal for equal runs. */
  get trace(): number {
    return this.#scheduler.trace
  }

  /**
   * Lets events happen until `done` says so: true; or until there are none, or `limitMs` of
   * uptime have passed: false.
   */
  async run(done: () => boolean, limitMs: number = LIMIT_MS): Promise<boolean> {
    const endMs = this.#scheduler.uptimeMs + limitMs
    for (let count = 0; ; count++) {
      const isTurn = !this.#isPrompt || count % EVENTS_PER_TURN === 0
      await (isTurn ? microtasksDone() : microtasksDoneSoon())
      if (done()) return true
      const dueMs = this.#scheduler.nextDueMs()
      if (dueMs === undefined || dueMs > endMs) return false
      this.#scheduler.runNext()
    }
  }

  /** Lets this much uptime pass. */
  async runFor(durationMs: number): Promise<void> {
    const endMs = this.#scheduler.uptimeMs + durationMs
    await this.run(() => false, durationMs)
    this.#scheduler.advanceTo(endMs)
  }

  /**
   * Lets events happen until the promise settles, and returns or throws what it settles with.
   * That it does not within `limitMs` of uptime is a broken invariant.
   */
  async finish<T>(promise: Promise<T>, limitMs: number = LIMIT_MS): Promise<T> {
    let settled = false
    const settle = (): void => {
      settled = true
    }
    promise.then(settle, settle)
    const done = await this.run(() => settled, limitMs)
    assert(done, 'the promise must settle in time')
    return promise
  }

  /** Steps the wall clock, forwards or (negative) backwards. */
  stepClock(ms: number): void {
    this.faults.count('clockStep')
    this.#clock.step(ms)
  }

  /**
   * The machine sleeps: nothing happens, time passes, and so does uptime where the system counts
   * it on in sleep. Linux does not.
   */
  sleep(ms: number, given: { readonly isUptimeCounted: boolean }): void {
    if (given.isUptimeCounted) this.#scheduler.lose(ms)
    else this.#clock.step(ms)
  }

  /** A power cut: of what was not synced anything may be lost, torn or kept. */
  crash(): void {
    this.faults.count('powerCut')
    this.#process.die()
    this.disk.cutPower()
    this.#start()
  }

  /** SIGKILL: what was written is kept; calls under way have happened, not happened, or in part. */
  kill(): void {
    this.faults.count('kill')
    this.#process.die()
    this.#start()
  }

  /** The process has stopped by itself; the next one starts. */
  exit(): void {
    this.#process.die()
    this.#start()
  }

  #start(): void {
    this.#process = new SimulatedProcess(this.#scheduler)
    this.#platform = this.#platformOf(this.#process, this.faults)
  }

  #platformOf(process: SimulatedProcess, faults: Faults | undefined): Platform {
    const clock = new SimulatedClock(this.#clock, this.#scheduler, process)
    const files = new SimulatedFiles({
      scheduler: this.#scheduler,
      process,
      disk: this.disk,
      locks: this.#locks,
      random: this.#random.fork(),
      faults,
      isPrompt: this.#isPrompt,
    })
    const timing = { random: this.#random.fork(), isPrompt: this.#isPrompt }
    return {
      files,
      keyValues: new SimulatedKeyValueStores(files),
      clock,
      timers: new SimulatedTimers(this.#clock, process, timing),
      network: new SimulatedNetwork(this.network, process),
      random: this.#random.fork(),
      log: new SimulatedLog(this.logLines, clock, process),
    }
  }
}
