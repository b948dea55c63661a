import { setTimeout as sleep } from 'node:timers/promises'

import { attacks, CHECKPOINT_INTERVALS_MS } from './attacks.ts'
import { CrashingBroker } from './broker.ts'
import { openDoor } from './client-door.ts'
import { Consumer, type Cursors, type Shown } from './consumer.ts'
import type { Door } from './door.ts'
import { Ledger } from './ledger.ts'
import { Load } from './load.ts'
import { type LogReading, readLog } from './log-reading.ts'
import { LogTail } from './log-tail.ts'
import { type Moment, MomentTally } from './moments.ts'
import { SeededRandom } from './seeded-random.ts'
import { lostEntries } from './verdict.ts'

const SENDER_COUNT = 4
/** Beside a burst, which should have the machine. */
const SENDER_COUNT_AT_BURST = 1
/** Of a start whose length is not known yet, from the lock of the folder on. */
const RECOVERY_MS_FIRST = 60
const CHECKPOINT_INTERVAL_MS = 5000
/** Being late is no fault here, being lost is. */
const DELIVERY_LIMIT_MS = 60_000
/** Long enough for a message that fires a second time after a start to show. */
const QUIET_MS = 3000

export interface Outcome {
  /** What the kills of the rounds have hit. */
  readonly tally: MomentTally
  readonly ledger: Ledger
  readonly shown: Shown
  readonly reading: LogReading
  /** Sends that failed, by the error's text. */
  readonly refusals: ReadonlyMap<string, number>
  readonly startMsMax: number
}

/** All rounds on one folder, then the delivery of all that waits. */
export class CrashRun {
  readonly #broker: CrashingBroker
  readonly #random: SeededRandom
  readonly #ledger = new Ledger()
  readonly #shown: Shown = new Map()
  readonly #cursors: Cursors = new Map()
  readonly #refusals = new Map<string, number>()
  readonly #tally = new MomentTally()
  readonly #tail: LogTail
  #recoveryMs = RECOVERY_MS_FIRST
  #startMsMax = 0

  constructor(directory: string, seed: number) {
    this.#broker = new CrashingBroker(directory)
    this.#random = new SeededRandom(seed)
    this.#tail = new LogTail(this.#broker.dataDirectory)
  }

  async play(roundCount: number): Promise<Outcome> {
    for (let round = 1; round <= roundCount; round++) {
      const moment = this.#tally.next(this.#random)
      const before = this.#ledger.entries.length
      const isHit =
        moment === 'recovery' ? await this.#killInRecovery() : await this.#killUnderLoad(moment)
      this.#tally.add(moment, isHit)
      const sentCount = this.#ledger.entries.length - before
      console.log(`kill ${round}: ${moment}${isHit ? '' : ', missed'}; ${sentCount} sent`)
    }
    await this.#deliverAll()
    // Once more, with everything delivered: nothing may fire a second time.
    await this.#broker.kill()
    await this.#killInRecovery()
    const door = await this.#start(CHECKPOINT_INTERVAL_MS)
    await sleep(QUIET_MS)
    const reading = await readLog(door)
    await door.close()
    await this.#broker.kill()
    return {
      tally: this.#tally,
      ledger: this.#ledger,
      shown: this.#shown,
      reading,
      refusals: this.#refusals,
      startMsMax: this.#startMsMax,
    }
  }

  /** Leaves no process behind, whatever happened. */
  async close(): Promise<void> {
    await this.#broker.kill().catch(() => undefined)
  }

  async #killUnderLoad(moment: Exclude<Moment, 'recovery'>): Promise<boolean> {
    const door = await this.#start(CHECKPOINT_INTERVALS_MS[moment])
    const consumer = new Consumer(door, this.#ledger, this.#shown, this.#cursors)
    const load = this.#load(door, moment === 'load' ? SENDER_COUNT : SENDER_COUNT_AT_BURST)
    const attack = { broker: this.#broker, load, random: this.#random, tail: this.#tail }
    const isHit = await attacks[moment](attack)
    await door.close()
    await Promise.all([load.stop(), consumer.stop()])
    return isHit
  }

  #load(door: Door, senderCount: number): Load {
    const parts = { door, ledger: this.#ledger, random: this.#random, refusals: this.#refusals }
    return new Load(parts, senderCount)
  }

  /** Again before the broker has recovered from the last time. */
  async #killInRecovery(): Promise<boolean> {
    const isHit = await this.#broker.startAndKill(this.#random.between(0, this.#recoveryMs))
    // On a busy machine recovery takes longer: cover all of it, and not much more.
    this.#recoveryMs = Math.max(5, Math.round(this.#recoveryMs * (isHit ? 1.1 : 0.7)))
    return isHit
  }

  /** Waits until every acknowledged message is in its topic, or the time for that is over. */
  async #deliverAll(): Promise<void> {
    const door = await this.#start(CHECKPOINT_INTERVAL_MS)
    const consumer = new Consumer(door, this.#ledger, this.#shown, this.#cursors)
    const lastDueMs = this.#ledger.lastDueMs()
    // Unanswered messages may be there too and are due by then; only after that is it complete.
    await sleep(Math.max(0, lastDueMs - Date.now()) + QUIET_MS)
    while (Date.now() < lastDueMs + DELIVERY_LIMIT_MS) {
      const missing = lostEntries(this.#ledger, await readLog(door)).length
      if (missing === 0) break
      console.log(`${missing} acknowledged messages are not delivered yet`)
      await sleep(2000)
    }
    await consumer.stop()
    await door.close()
  }

  async #start(checkpointIntervalMs: number): Promise<Door> {
    const startedMs = performance.now()
    const { nameserver } = await this.#broker.start(checkpointIntervalMs)
    this.#startMsMax = Math.max(this.#startMsMax, performance.now() - startedMs)
    return openDoor(nameserver)
  }
}
