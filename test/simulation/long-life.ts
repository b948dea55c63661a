import { loadOptions, type Options } from '../../src/core/config/index.ts'
import { SeededRandom, SimulatedWorld } from '../../src/core/platform/simulated/index.ts'
import { PutOutcome, PutRequest } from '../../src/engine/broker/index.ts'
import type { ConsumeQueue } from '../../src/engine/store/index.ts'
import {
  encodeHost,
  formatProperties,
  PROPERTY,
  recordBodyEnd,
  recordBodyStart,
  recordSize,
  recordStoreTimeMs,
} from '../../src/model/message/index.ts'
import { type Engine, openEngine } from '../../src/server/index.ts'
import { timerLeftovers } from './checks.ts'
import { DeliveryLedger } from './delivery-ledger.ts'
import { Violation } from './violation.ts'

const MIB = 1024 * 1024
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const HOST = encodeHost('127.0.0.1', 10_911)
const TOPIC = 'reminders'
const DELAY_MS_MIN = 1000
const BODY_BYTES = 60
/** A message takes no more where it waits: body, names, properties and the fields of a record. */
const RECORD_BYTES = 400
const READ_COUNT_MAX = 64
const READ_BYTES_MAX = 256 * 1024
/** The body of a message begins with its number, in so many digits. */
const NUMBER_DIGITS = 10
/** After the last delivery everything must have gone by then: a checkpoint, and what it removes. */
const END_MS = 3 * 60_000

/**
 * Bound on the disk: what waits, written twice while a partition is split or its file still has
 * what fired, and a fixed part: log and queues of an hour, whose files go as a whole, and manifests.
 */
const DISK_FACTOR = 2
const DISK_FIXED_BYTES = 48 * MIB

/** An hour of the log, in small segments. So small a budget that days and hours are split. */
const FLAGS = {
  data: '/data',
  retention: '1h',
  maxMessageSize: '64KiB',
  checkpointIntervalMs: '60s',
  messageIndexEnable: 'false',
  'log.segmentBytes': '1MiB',
  'log.cacheBytes': '4MiB',
  'log.unappliedBytes': '1MiB',
  'timer.loadBytes': '1MiB',
} as const

export interface LongLifePlan {
  readonly seed: number
  /** Days in which messages are sent; delays are as long at most. */
  readonly days: number
  readonly sendEveryMs: number
  /** Told after every simulated day. */
  readonly onDay?: (life: LongLife) => void
}

/**
 * A broker that lives for long without trouble, on a prompt machine: every message must be stored
 * in its topic in the very millisecond for which it was sent, and nothing may pile up.
 */
export class LongLife {
  readonly ledger: DeliveryLedger
  diskBytesMax = 0
  /** Largest part of its bound that the disk was used to. */
  diskShareMax = 0
  readonly #world: SimulatedWorld
  readonly #random: SeededRandom
  readonly #plan: LongLifePlan
  readonly #options: Options
  readonly #request = new PutRequest()
  readonly #outcome = new PutOutcome()
  readonly #nextOffsets = new Map<ConsumeQueue, number>()
  readonly #body = Buffer.alloc(BODY_BYTES, 0x20)
  #engine: Engine | undefined
  #violation: unknown
  #lookedAtMs = 0

  constructor(plan: LongLifePlan) {
    this.#plan = plan
    this.#world = new SimulatedWorld({ seed: plan.seed, isPrompt: true })
    this.#random = new SeededRandom(plan.seed)
    this.ledger = new DeliveryLedger(Math.ceil((plan.days * DAY_MS) / plan.sendEveryMs))
    this.#options = loadOptions({ flags: FLAGS }).options
  }

  get dayCount(): number {
    return Math.floor(this.#world.uptimeMs / DAY_MS)
  }

  /** Sends for all the days, then lets everything be delivered. Throws a violation. */
  async live(): Promise<void> {
    const opening = openEngine(this.#options, this.#world.platform, HOST)
    this.#engine = await this.#world.finish(opening)
    this.#engine.store.onArrival(queue => this.#take(queue))
    const { days, sendEveryMs } = this.#plan
    const count = (days * DAY_MS) / sendEveryMs
    for (let index = 0; index < count; index++) {
      this.#send()
      await this.#pass(sendEveryMs)
    }
    while (this.ledger.waitingCount > 0) {
      const restMs = this.ledger.lastDueMs - this.#nowMs
      if (restMs < -END_MS) throw new Violation(1, `${this.ledger.waitingCount} never came`)
      await this.#pass(Math.min(HOUR_MS, Math.max(1000, restMs + 1)))
    }
    await this.#pass(END_MS)
    const leftovers = await timerLeftovers(this.#world, this.#options.data, this.#engine)
    if (leftovers.length > 0) throw new Violation(5, leftovers.join('; '))
    await this.#world.finish(this.#engine.stop())
  }

  get #nowMs(): number {
    return this.#world.platform.clock.timeMs()
  }

  async #pass(durationMs: number): Promise<void> {
    const dayCount = this.dayCount
    await this.#world.runFor(durationMs)
    if (this.#violation !== undefined) throw this.#violation
    if (this.#nowMs - this.#lookedAtMs >= HOUR_MS) this.#lookAtDisk()
    if (this.dayCount !== dayCount) this.#plan.onDay?.(this)
  }

  #lookAtDisk(): void {
    this.#lookedAtMs = this.#nowMs
    const usedBytes = this.#world.disk.usedBytes()
    const boundBytes = DISK_FACTOR * this.ledger.waitingBytes + DISK_FIXED_BYTES
    this.diskBytesMax = Math.max(this.diskBytesMax, usedBytes)
    this.diskShareMax = Math.max(this.diskShareMax, usedBytes / boundBytes)
    if (usedBytes > boundBytes) {
      throw new Violation(5, `${usedBytes} bytes are on the disk, and ${boundBytes} permitted`)
    }
  }

  #send(): void {
    const engine = this.#engine
    if (engine === undefined) return
    const nowMs = this.#nowMs
    const delayMsMax = this.#plan.days * DAY_MS
    const ratio = delayMsMax / DELAY_MS_MIN
    const delayMs = Math.floor(DELAY_MS_MIN * ratio ** this.#random.fraction())
    const request = this.#request
    const number = this.ledger.sentCount
    this.#body.write(String(number).padStart(NUMBER_DIGITS, '0'), 'latin1')
    request.topic = TOPIC
    request.queueId = 0
    request.bornTimeMs = nowMs
    request.bornHost = HOST
    request.body = this.#body
    request.bodyEnd = BODY_BYTES
    request.nowMs = nowMs
    // Both ways to say it come to the same.
    const [name, value] =
      number % 2 === 0
        ? [PROPERTY.TIMER_DELAY_MS, delayMs]
        : [PROPERTY.TIMER_DELIVER_MS, nowMs + delayMs]
    request.properties = formatProperties([[name, String(value)]])
    engine.broker.put.put(request, this.#outcome)
    this.ledger.add(nowMs + delayMs, RECORD_BYTES)
  }

  #take(queue: ConsumeQueue): void {
    if (queue.topic !== TOPIC || this.#violation !== undefined) return
    try {
      this.#read(queue)
    } catch (error) {
      this.#violation = error
    }
  }

  #read(queue: ConsumeQueue): void {
    for (;;) {
      const fromOffset = this.#nextOffsets.get(queue) ?? 0
      if (fromOffset >= queue.maxOffset) return
      const read = this.#engine?.store.readQueue(queue, {
        fromOffset,
        countMax: READ_COUNT_MAX,
        bytesMax: READ_BYTES_MAX,
        accepts: undefined,
      })
      if (read === undefined) return
      if (read instanceof Promise) throw new Violation(0, 'what has just arrived is not in memory')
      this.#nextOffsets.set(queue, read.nextOffset)
      const { bytes } = read
      for (let at = 0; at < bytes.length; at += recordSize(bytes, at)) {
        const body = bytes.toString('latin1', recordBodyStart(bytes, at), recordBodyEnd(bytes, at))
        const number = Number(body.slice(0, NUMBER_DIGITS))
        this.ledger.delivered(number, recordStoreTimeMs(bytes, at), RECORD_BYTES)
      }
    }
  }
}
