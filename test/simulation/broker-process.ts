import { BrokerError } from '../../src/core/base/index.ts'
import type { SimulatedWorld } from '../../src/core/platform/simulated/index.ts'
import { encodeHost } from '../../src/model/message/index.ts'
import { type Engine, openEngine } from '../../src/server/index.ts'
import { platformWithBug } from './bugs.ts'
import { Reader } from './reader.ts'
import { Sender } from './sender.ts'
import type { Simulation } from './simulation.ts'
import { Violation } from './violation.ts'

const STORE_HOST = encodeHost('127.0.0.1', 10_911)
/** No start and no stop takes longer than this, whatever is slow. */
const LIMIT_MS = 120_000

/** One life of the broker under test, with who sends to it and reads from it. */
export class BrokerProcess {
  readonly engine: Engine
  readonly sender: Sender
  readonly reader: Reader
  readonly #world: SimulatedWorld
  /** The disk failed: it takes nothing more and must end. */
  #hasFailed = false

  private constructor(engine: Engine, simulation: Simulation) {
    const { world, ledger, random, totals, setting } = simulation
    this.engine = engine
    this.#world = world
    const nowMs = (): number => world.platform.clock.timeMs()
    engine.store.onFailed(() => {
      this.#hasFailed = true
    })
    const answersEarly = setting.bug === 'early-answer'
    const { brokerName } = setting.options
    const parts = { engine, ledger, random, totals, nowMs, answersEarly, brokerName }
    this.sender = new Sender(parts)
    const toleratesDamage = setting.flipsBits
    this.reader = new Reader({ store: engine.store, ledger, toleratesDamage, nowMs })
  }

  /**
   * Starts a broker; `undefined` when it cannot, or when it was killed before it was ready:
   * `isInterrupted` is asked again and again.
   */
  static async start(
    simulation: Simulation,
    isInterrupted: () => boolean,
  ): Promise<BrokerProcess | undefined> {
    const { world, setting, totals } = simulation
    const platform = platformWithBug(world.platform, setting.bug)
    let engine: Engine | undefined
    let failure: unknown
    openEngine(setting.options, platform, STORE_HOST).then(
      opened => {
        engine = opened
      },
      (error: unknown) => {
        failure = error
      },
    )
    let isOver = false
    const done = await world.run(() => {
      isOver = isInterrupted()
      return isOver || engine !== undefined || failure !== undefined
    }, LIMIT_MS)
    if (!done) throw new Violation(0, 'the broker does not start')
    if (failure !== undefined) {
      if (!(failure instanceof BrokerError)) throw failure
      totals.add(`start failed ${failure.code}`)
      simulation.startFailed(failure)
      return undefined
    }
    if (engine === undefined) return undefined
    return new BrokerProcess(engine, simulation)
  }

  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /** Nothing that it does from now on is observed. */
  abandon(): void {
    this.sender.close()
    this.reader.close()
  }

  /** Stops cleanly; false when it was killed before it was done. */
  async stop(isInterrupted: () => boolean): Promise<boolean> {
    let isStopped = false
    let failure: unknown
    this.engine.stop().then(
      () => {
        isStopped = true
      },
      (error: unknown) => {
        failure = error
      },
    )
    let isOver = false
    const done = await this.#world.run(() => {
      isOver = isInterrupted()
      return isOver || isStopped || failure !== undefined || this.#hasFailed
    }, LIMIT_MS)
    if (!done) throw new Violation(0, 'the broker does not stop')
    if (failure !== undefined && !(failure instanceof BrokerError)) throw failure
    return isStopped && failure === undefined
  }
}
