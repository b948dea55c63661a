import { assert, type BrokerError } from '../../src/core/base/index.ts'
import { SeededRandom, SimulatedWorld } from '../../src/core/platform/simulated/index.ts'
import type { TopicSettings } from '../../src/engine/broker/index.ts'
import { BrokerProcess } from './broker-process.ts'
import { checkBounds, checkRound } from './checks.ts'
import { flipBit, flipBitInIndex } from './damage.ts'
import { KeyRequests } from './key-requests.ts'
import { Ledger } from './ledger.ts'
import { type Bug, type Setting, settingOf } from './setting.ts'
import { Totals } from './totals.ts'
import { Violation } from './violation.ts'

export const TOPICS: readonly string[] = ['orders', 'bills', 'alerts', 'mails']
export const GROUP = 'readers'
const QUEUE_COUNT = 2
const PERM_OPEN = 6
const TOPIC_SETTINGS: TopicSettings = {
  readQueueCount: QUEUE_COUNT,
  writeQueueCount: QUEUE_COUNT,
  perm: PERM_OPEN,
  order: false,
  topicSysFlag: 0,
  filterType: 'SINGLE_TAG',
  attributes: {},
}
const START_COUNT_MAX = 30
const READ_LIMIT_MS = 60_000
const DAY_MS = 86_400_000

/** A broker's life under trouble, from one seed: its processes, its disk, and who uses it. */
export class Simulation {
  readonly world: SimulatedWorld
  readonly random: SeededRandom
  readonly setting: Setting
  readonly ledger: Ledger
  readonly totals = new Totals()
  readonly keys = new KeyRequests()
  /** Deliver time that many messages share. */
  hotMs = 0
  /** Topics that refuse messages for a while. */
  readonly closedTopics = new Set<string>()
  restartCount = 0
  /** The broker ended with the power: one of its writes may be torn. */
  hasLostPower = false
  #process: BrokerProcess | undefined
  #topicCount = 0

  constructor(given: { seed: number; bug: Bug; isVerbose: boolean }) {
    this.world = new SimulatedWorld({ seed: given.seed })
    this.random = new SeededRandom(given.seed).fork()
    this.setting = settingOf(this.random.fork(), given)
    this.ledger = new Ledger(this.setting.isRoomy)
  }

  get process(): BrokerProcess {
    assert(this.#process !== undefined, 'the broker runs')
    return this.#process
  }

  get nowMs(): number {
    return this.world.platform.clock.timeMs()
  }

  /** Says what comes next, when somebody wants to watch. */
  trace(text: string): void {
    if (this.setting.isVerbose) console.log(`${this.nowMs} ${text}`)
  }

  /** The first start. */
  async begin(): Promise<void> {
    await this.restart('first start')
    const { broker } = this.process.engine
    for (const topic of TOPICS) {
      await this.settled(broker.topics.update(topic, TOPIC_SETTINGS))
    }
    broker.groups.createOnUse(GROUP)
    await this.pass(100)
  }

  /** A topic that does not exist yet. */
  newTopic(): string {
    return `new-${this.#topicCount++}`
  }

  /** Names of all topics that may hold messages. */
  topics(): readonly string[] {
    const names = new Set([...this.process.engine.broker.topics.all()].map(({ name }) => name))
    for (const { topic } of this.ledger.queues.values()) names.add(topic)
    return [...names]
  }

  /** Lets uptime pass. A broker whose disk failed is started again. */
  async pass(durationMs: number): Promise<void> {
    await this.world.runFor(durationMs)
    await this.look()
  }

  /** After time has passed: whether all is as it must be. */
  async look(): Promise<void> {
    this.noteTime()
    this.check()
    checkBounds(this)
    if (this.process.hasFailed) {
      this.totals.add('disk failed')
      this.world.exit()
      await this.restart('disk failed')
    }
  }

  /** Steps the wall clock, after the readers have got what is there: retention may follow. */
  async stepClock(ms: number): Promise<void> {
    await this.readRest()
    this.noteTime()
    if (ms < 0) this.ledger.undate()
    this.ledger.calm++
    this.world.stepClock(ms)
    this.noteTime()
  }

  noteTime(): void {
    this.ledger.latestTimeMs = Math.max(this.ledger.latestTimeMs, this.nowMs)
  }

  check(): void {
    const { violation } = this.process.reader
    if (violation !== undefined) throw violation
  }

  /** The value that the promise settles with; `undefined` when it fails or the disk does. */
  async settled<T>(promise: Promise<T>, limitMs = 20_000): Promise<T | undefined> {
    let value: T | undefined
    let isSettled = false
    promise.then(
      result => {
        value = result
        isSettled = true
      },
      () => {
        isSettled = true
      },
    )
    const { process } = this
    await this.world.run(() => isSettled || process.hasFailed, limitMs)
    await this.look()
    return value
  }

  async setPermission(topic: string, perm: TopicSettings['perm']): Promise<void> {
    const { topics } = this.process.engine.broker
    const known = topics.find(topic)
    if (known === undefined) return
    const { readQueueCount, writeQueueCount, order, topicSysFlag, filterType, attributes } = known
    const settings = {
      readQueueCount,
      writeQueueCount,
      order,
      topicSysFlag,
      filterType,
      attributes,
    }
    await this.settled(topics.update(topic, { ...settings, perm }))
  }

  /** Nothing goes wrong on the disk from now on. */
  heal(): void {
    const { faults, disk } = this.world
    faults.heal()
    disk.capacityBytes = Number.POSITIVE_INFINITY
  }

  /** Power cut: of what was not synced anything may be lost. */
  cutPower(): void {
    if (this.setting.options.flush === 'async' && this.#process !== undefined) {
      this.ledger.forgetFrom(this.#process.engine.store.checkpointOffset)
    }
    this.hasLostPower = true
    this.world.crash()
  }

  /** Starts the broker on what the last one left, in spite of everything; then reads it all. */
  async restart(reason: string): Promise<void> {
    this.#process?.abandon()
    if (reason !== 'first start') this.restartCount++
    this.ledger.calm++
    if (this.random.chance(0.7)) this.heal()
    if (this.random.chance(0.15)) this.#stayDown()
    if (this.setting.flipsBits && this.random.chance(0.4)) await flipBit(this)
    if (this.setting.flipsBits && this.random.chance(0.2)) await flipBitInIndex(this)
    for (let tries = 1; ; tries++) {
      if (tries > START_COUNT_MAX) throw new Violation(0, 'the broker does not start any more')
      const isWhole = tries > 3 || this.random.chance(0.7)
      const started = await BrokerProcess.start(this, isWhole ? never : this.#interruption())
      if (started !== undefined) {
        this.#process = started
        this.hasLostPower = false
        break
      }
      this.#endStart()
    }
    this.heal()
    await this.#readAgain()
  }

  startFailed(error: BrokerError): void {
    if (error.code === 'STORE_DAMAGED') {
      throw new Violation(10, `the broker does not start: ${JSON.stringify(error.details)}`)
    }
  }

  /** Reads what could not be read when it arrived. */
  async readRest(): Promise<void> {
    const { reader } = this.process
    reader.catchUp(this.topics())
    await this.world.run(() => !reader.isBusy, READ_LIMIT_MS)
    this.check()
  }

  #stayDown(): void {
    this.totals.add('long downtime')
    this.noteTime()
    this.world.stepClock(this.random.below(DAY_MS))
    this.noteTime()
  }

  #endStart(): void {
    const { random, totals } = this
    totals.add('start interrupted')
    if (random.chance(0.5)) this.cutPower()
    else this.world.kill()
    if (random.chance(0.5)) this.heal()
  }

  /** Asked before each event: says once that the process is to die now. */
  #interruption(): () => boolean {
    let rest = this.random.below(200)
    return () => rest-- <= 0
  }

  /** Everything that was seen once must still be there. */
  async #readAgain(): Promise<void> {
    this.noteTime()
    this.ledger.round++
    const { reader } = this.process
    reader.open(this.topics())
    const done = await this.world.run(() => !reader.isBusy, READ_LIMIT_MS)
    this.check()
    if (!done || this.process.hasFailed) throw new Violation(0, 'what is there cannot be read')
    checkRound(this)
  }
}

function never(): boolean {
  return false
}
