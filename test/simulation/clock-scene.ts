import { loadOptions } from '../../src/core/config/index.ts'
import { SimulatedWorld } from '../../src/core/platform/simulated/index.ts'
import { PutOutcome, PutRequest, type TopicSettings } from '../../src/engine/broker/index.ts'
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

const HOST = encodeHost('127.0.0.1', 10_911)
const PERM_READ = 4
const PERM_OPEN = 6
const READ_BYTES_MAX = 256 * 1024
/** What is loaded ten seconds ahead is there by then. */
const AHEAD_MS = 12_000
/** After a message was due, to see when it comes. */
const AFTER_MS = 3_000
export const OPEN_TOPIC = 'orders'
export const CLOSED_TOPIC = 'closed'
const TOPIC = { readQueueCount: 1, writeQueueCount: 1, order: false, topicSysFlag: 0 } as const
const SETTINGS = { ...TOPIC, filterType: 'SINGLE_TAG', attributes: {} } as const

/** Of one message: when it was to come, and when it came. */
export interface Waited {
  readonly dueMs: number
  readonly storedMs: readonly number[]
}

/** A whole engine on a simulated machine, whose clock is about to be stepped. */
export class ClockScene {
  readonly world: SimulatedWorld
  readonly #dueMs = new Map<string, number>()
  #engine: Engine | undefined

  constructor(seed: number) {
    this.world = new SimulatedWorld({ seed })
  }

  get engine(): Engine {
    if (this.#engine === undefined) throw new Error('the engine must be started')
    return this.#engine
  }

  get nowMs(): number {
    return this.world.platform.clock.timeMs()
  }

  async start(): Promise<void> {
    const { options } = loadOptions({ flags: { data: '/data', retention: '3650d' } })
    this.#engine = await this.world.finish(openEngine(options, this.world.platform, HOST))
  }

  async restart(): Promise<void> {
    this.world.kill()
    await this.start()
  }

  async open(topic: string): Promise<void> {
    await this.#update(topic, PERM_OPEN)
  }

  /** Refuses messages from now on: what is due there is parked. */
  async close(topic: string): Promise<void> {
    await this.#update(topic, PERM_READ)
  }

  /** Sends a message that is known by its name; it counts as accepted. */
  send(name: string, wish: { topic?: string; delayMs: number; level?: number }): void {
    const { topic = OPEN_TOPIC, delayMs, level } = wish
    const delay =
      level === undefined
        ? ([PROPERTY.TIMER_DELAY_MS, String(delayMs)] as const)
        : ([PROPERTY.DELAY, String(level)] as const)
    const body = Buffer.from(name)
    const request = Object.assign(new PutRequest(), {
      topic,
      queueId: 0,
      bornTimeMs: this.nowMs,
      nowMs: this.nowMs,
      bornHost: HOST,
      body,
      bodyEnd: body.length,
      properties: formatProperties([delay]),
    })
    this.engine.broker.put.put(request, new PutOutcome())
    this.#dueMs.set(name, this.nowMs + delayMs)
  }

  async pass(durationMs: number): Promise<void> {
    await this.world.runFor(durationMs)
  }

  /** Lets the time of every message come, up to `endMs`: hours in which nothing is due are jumped over. */
  async passTo(endMs: number): Promise<void> {
    const dues = [...this.#dueMs.values()].filter(dueMs => dueMs > this.nowMs && dueMs <= endMs)
    for (const dueMs of dues.toSorted((a, b) => a - b)) {
      const restMs = dueMs - this.nowMs
      if (restMs > AHEAD_MS) this.world.stepClock(restMs - AHEAD_MS)
      await this.world.runFor(Math.max(0, dueMs - this.nowMs) + AFTER_MS)
    }
  }

  /** Every message that was sent, by its name, with what has come of it. */
  async waited(): Promise<ReadonlyMap<string, Waited>> {
    const stored = new Map<string, number[]>()
    for (const topic of [OPEN_TOPIC, CLOSED_TOPIC]) await this.#read(topic, stored)
    return new Map(
      [...this.#dueMs].map(([name, dueMs]) => [name, { dueMs, storedMs: stored.get(name) ?? [] }]),
    )
  }

  async #update(topic: string, perm: TopicSettings['perm']): Promise<void> {
    await this.world.finish(this.engine.broker.topics.update(topic, { ...SETTINGS, perm }))
  }

  async #read(topic: string, into: Map<string, number[]>): Promise<void> {
    const { store } = this.engine
    const queue = store.queue(topic, 0)
    for (let fromOffset = queue.minOffset; fromOffset < queue.maxOffset;) {
      const request = { fromOffset, countMax: 32, bytesMax: READ_BYTES_MAX, accepts: undefined }
      const read = await this.world.finish(Promise.resolve(store.readQueue(queue, request)))
      for (let at = 0; at < read.bytes.length; at += recordSize(read.bytes, at)) {
        const { bytes } = read
        const name = bytes.toString('utf8', recordBodyStart(bytes, at), recordBodyEnd(bytes, at))
        into.set(name, [...(into.get(name) ?? []), recordStoreTimeMs(bytes, at)])
      }
      fromOffset = read.nextOffset
    }
  }
}
