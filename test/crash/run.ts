import { setTimeout as sleep } from 'node:timers/promises'

import { CrashingBroker } from './broker.ts'
import { openDoor } from './client-door.ts'
import { Consumer, type Cursors, type Shown } from './consumer.ts'
import type { Door } from './door.ts'
import { Ledger } from './ledger.ts'
import { Load } from './load.ts'
import { type LogReading, readLog } from './log-reading.ts'
import { SeededRandom } from './seeded-random.ts'
import { lostEntries } from './verdict.ts'

const LOAD_MS_MIN = 200
const LOAD_MS_MAX = 2500
/** Every so many rounds the broker is killed again while it recovers. */
const RECOVERY_KILL_EVERY = 3
const RECOVERY_MS_MIN = 50
const RECOVERY_MS_MAX = 300
/** Being late is no fault here, being lost is. */
const DELIVERY_LIMIT_MS = 60_000
/** Long enough for a message that fires a second time after a start to show. */
const QUIET_MS = 3000

export interface Outcome {
  readonly roundCount: number
  readonly killCount: number
  readonly recoveryKillCount: number
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
  #killCount = 0
  #recoveryKillCount = 0
  #startMsLast = 0
  #startMsMax = 0

  constructor(directory: string, seed: number) {
    this.#broker = new CrashingBroker(directory)
    this.#random = new SeededRandom(seed)
  }

  async play(roundCount: number): Promise<Outcome> {
    for (let round = 1; round <= roundCount; round++) {
      if (round % RECOVERY_KILL_EVERY === 2) await this.#killDuringRecovery()
      await this.#round(round)
    }
    await this.#deliverAll()
    // Once more, with everything delivered: nothing may fire a second time.
    await this.#kill()
    await this.#killDuringRecovery()
    const door = await this.#start()
    await sleep(QUIET_MS)
    const reading = await readLog(door)
    await door.close()
    await this.#broker.kill()
    return {
      roundCount,
      killCount: this.#killCount,
      recoveryKillCount: this.#recoveryKillCount,
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

  async #round(round: number): Promise<void> {
    const door = await this.#start()
    const before = this.#ledger.entries.length
    const consumer = new Consumer(door, this.#ledger, this.#shown, this.#cursors)
    const load = new Load(door, this.#ledger, this.#random, this.#refusals)
    const loadMs = this.#random.between(LOAD_MS_MIN, LOAD_MS_MAX)
    await sleep(loadMs)
    await this.#kill()
    await door.close()
    await Promise.all([load.stop(), consumer.stop()])
    const sent = this.#ledger.entries.slice(before)
    const accepted = sent.filter(({ acknowledged }) => acknowledged).length
    console.log(
      `round ${round}: killed after ${loadMs} ms; ${sent.length} sent, ${accepted} accepted`,
    )
  }

  async #killDuringRecovery(): Promise<void> {
    const count = this.#random.between(1, 3)
    for (let i = 0; i < count; i++) {
      // On a busy machine recovery has hardly begun by then: cover all of a start.
      const mostMs = Math.max(RECOVERY_MS_MAX, Math.round(this.#startMsLast))
      const afterMs = this.#random.between(RECOVERY_MS_MIN, mostMs)
      await this.#broker.startAndKill(afterMs)
      this.#recoveryKillCount++
      console.log(`killed ${afterMs} ms after its start`)
    }
  }

  /** Waits until every acknowledged message is in its topic, or the time for that is over. */
  async #deliverAll(): Promise<void> {
    const door = await this.#start()
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

  async #start(): Promise<Door> {
    const startedMs = performance.now()
    const { nameserver } = await this.#broker.start()
    this.#startMsLast = performance.now() - startedMs
    this.#startMsMax = Math.max(this.#startMsMax, this.#startMsLast)
    return openDoor(nameserver)
  }

  async #kill(): Promise<void> {
    await this.#broker.kill()
    this.#killCount++
  }
}
