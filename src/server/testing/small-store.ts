/** A small store with everything in it, made by the whole engine on a simulated disk. */
import { loadOptions, type Options } from '../../core/config/index.ts'
import { readWholeFile } from '../../core/platform/index.ts'
import type { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { PutOutcome, PutRequest } from '../../engine/broker/index.ts'
import {
  decodeRecord,
  encodeBatch,
  encodeHost,
  encodeRecallHandle,
  findProperty,
  formatProperties,
  PROPERTY,
  recordProperties,
  recordSize,
} from '../../model/message/index.ts'
import { type Engine, openEngine } from '../engine.ts'

const HOST = encodeHost('127.0.0.1', 10_911)
const SECOND_MS = 1000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const TOPIC = { readQueueCount: 1, writeQueueCount: 1, order: false, topicSysFlag: 0 } as const
const SETTINGS = { ...TOPIC, filterType: 'SINGLE_TAG', attributes: {} } as const
const FAR_MS = Number.MAX_SAFE_INTEGER
const PERM_READ = 4
const PERM_OPEN = 6

/** Bodies longer than this fill the log's segments faster than headers do. */
const BODY_BYTES_MAX = 900

export function smallOptions(): Options {
  const { options } = loadOptions({
    flags: { data: '/data', defaultTopicQueueNums: '1', maxMessageSize: '16384' },
  })
  const { log, timer } = options
  return {
    ...options,
    // Whatever the clock is set to, what was delivered can still be read.
    retention: 10_000 * DAY_MS,
    log: { ...log, segmentBytes: 32 * 1024, cacheBytes: 1024 * 1024 },
    timer: { ...timer, loadBytes: 24 * 1024 },
  }
}

/** One life of an engine, from start to stop, and what was sent to it. */
export class EngineRun {
  /** By number: what must come to consumers one day. */
  readonly expected: Set<number> = new Set()
  readonly engine: Engine
  readonly #world: SimulatedWorld
  readonly #request = new PutRequest()
  readonly #outcome = new PutOutcome()
  #number = 0

  private constructor(engine: Engine, world: SimulatedWorld) {
    this.engine = engine
    this.#world = world
  }

  static async start(world: SimulatedWorld): Promise<EngineRun> {
    return new EngineRun(
      await world.finish(openEngine(smallOptions(), world.platform, HOST)),
      world,
    )
  }

  async open(topic: string, perm: 4 | 6 = PERM_OPEN): Promise<void> {
    await this.#world.finish(this.engine.broker.topics.update(topic, { ...SETTINGS, perm }))
  }

  /** Returns the recall handle; empty for a message that has none. */
  send(topic: string, delay: readonly (readonly [string, string])[] = []): string {
    const number = this.#number++
    const request = this.#fill(topic, Buffer.alloc((number * 97) % BODY_BYTES_MAX, `${number} `))
    const tags = number % 3 === 0 ? [[PROPERTY.TAGS, `tag-${number % 2}`] as const] : []
    request.properties = formatProperties([[PROPERTY.KEYS, String(number)], ...tags, ...delay])
    this.engine.broker.put.put(request, this.#outcome)
    this.expected.add(number)
    const { deliverTimeMs, uniqueKey, commitLogOffset } = this.#outcome
    if (deliverTimeMs < 0) return ''
    const place = { brokerName: smallOptions().brokerName, timerId: commitLogOffset }
    return encodeRecallHandle({ topic, deliverTimeMs, uniqueKey, ...place })
  }

  sendIn(topic: string, delayMs: number): string {
    return this.send(topic, [[PROPERTY.TIMER_DELAY_MS, String(delayMs)]])
  }

  sendBatch(topic: string, count: number): void {
    const items = Array.from({ length: count }, () => {
      const number = this.#number++
      this.expected.add(number)
      const properties = formatProperties([[PROPERTY.KEYS, String(number)]])
      return { flag: 0, body: Buffer.from(`${number} of a batch`), properties }
    })
    const request = this.#fill(topic, encodeBatch(items))
    request.properties = ''
    this.engine.broker.put.putBatch(request, this.#outcome)
  }

  /** Cancels the message with number `number`. */
  async cancel(number: number, id: string): Promise<void> {
    const answer = await this.#world.finish(this.engine.scheduled.cancel({ id }))
    if (answer !== 'cancelled') throw new Error(`the cancel was answered with ${answer}`)
    this.expected.delete(number)
  }

  /** Gives a waiting message another deliver time. */
  async move(id: string, deliverTimeMs: number): Promise<void> {
    const answer = await this.#world.finish(this.engine.scheduled.move({ id }, deliverTimeMs))
    if (answer.kind !== 'moved') throw new Error(`the move was answered with ${answer.kind}`)
  }

  get sentCount(): number {
    return this.#number
  }

  async stop(): Promise<void> {
    await this.#world.finish(this.engine.stop())
    this.#world.exit()
  }

  /** How often each number has come to the consumers of a topic. */
  async delivered(topic: string): Promise<Map<number, number>> {
    const counts = new Map<number, number>()
    const { store } = this.engine
    const queue = store.queue(topic, 0)
    for (let fromOffset = queue.minOffset; fromOffset < queue.maxOffset;) {
      const request = { fromOffset, countMax: 32, bytesMax: 256 * 1024, accepts: undefined }
      const read = await this.#world.finish(Promise.resolve(store.readQueue(queue, request)))
      for (let at = 0; at < read.bytes.length; at += recordSize(read.bytes, at)) {
        decodeRecord(read.bytes, at)
        const number = Number(findProperty(recordProperties(read.bytes, at), PROPERTY.KEYS))
        counts.set(number, (counts.get(number) ?? 0) + 1)
      }
      if (read.nextOffset <= fromOffset) throw new Error(`reading ends at ${fromOffset}`)
      fromOffset = read.nextOffset
    }
    return counts
  }

  /** Numbers of the messages that a search by the key of one of them finds. */
  async found(topic: string, number: number): Promise<readonly number[]> {
    const query = { topic, key: String(number), by: 'any', fromMs: 0, toMs: FAR_MS } as const
    const searching = this.engine.messageIndex?.search({ ...query, countMax: 64 })
    const records = await this.#world.finish(Promise.resolve(searching ?? []))
    return records.map(record => {
      return Number(findProperty(recordProperties(record, 0), PROPERTY.KEYS))
    })
  }

  #fill(topic: string, body: Buffer): PutRequest {
    const request = this.#request
    request.topic = topic
    request.queueId = 0
    request.bornTimeMs = this.#world.platform.clock.timeMs()
    request.nowMs = request.bornTimeMs
    request.bornHost = HOST
    request.body = body
    request.bodyEnd = body.length
    return request
  }
}

export const OPEN_TOPIC = 'orders'
export const CLOSED_TOPIC = 'closed'

/**
 * Plain messages and batches, levels and deliver times that are delivered and that wait, some of
 * them parked, moved or cancelled before and after a checkpoint. Returns the numbers of those that must
 * come one day.
 */
export async function makeStore(world: SimulatedWorld): Promise<ReadonlySet<number>> {
  const run = await EngineRun.start(world)
  await run.open(OPEN_TOPIC)
  await run.open(CLOSED_TOPIC)
  const cancelled: [number, string][] = []
  const moved: string[] = []
  for (let round = 0; round < 4; round++) {
    for (let count = 0; count < 8; count++) run.send(OPEN_TOPIC)
    run.sendBatch(OPEN_TOPIC, 5)
    for (const level of [1, 2, 17, 18]) run.send(OPEN_TOPIC, [[PROPERTY.DELAY, String(level)]])
    run.sendIn(CLOSED_TOPIC, 9 * SECOND_MS)
    run.send(CLOSED_TOPIC, [[PROPERTY.DELAY, '3']])
    for (const delayMs of [300, 4_000, 20_000, 2 * HOUR_MS, 5 * HOUR_MS, 3 * DAY_MS, 90 * DAY_MS]) {
      for (let count = 0; count < 5; count++) {
        const number = run.sentCount
        const handle = run.sendIn(OPEN_TOPIC, delayMs + 1000 * count)
        if (count === round && delayMs > SECOND_MS * 10) cancelled.push([number, handle])
        if (count === 4 && delayMs > SECOND_MS * 10) moved.push(handle)
      }
    }
    if (round % 2 === 1)
      for (const [number, id] of cancelled.splice(0)) await run.cancel(number, id)
    await world.runFor(3_100)
    for (const id of moved.splice(0, 3)) {
      await run.move(id, world.platform.clock.timeMs() + (round + 4) * HOUR_MS)
    }
  }
  // The messages of the first round have come to it; the rest is parked.
  await run.open(CLOSED_TOPIC, PERM_READ)
  await world.runFor(11_000)
  run.sendIn(OPEN_TOPIC, HOUR_MS)
  await world.runFor(100)
  await run.stop()
  return run.expected
}

/** Every file of the data folder with its content, but for those of a database. */
export async function filesOn(world: SimulatedWorld): Promise<ReadonlyMap<string, Buffer>> {
  const { files } = world.outside
  const found = new Map<string, Buffer>()
  const walk = async (path: string): Promise<void> => {
    // Only the database itself can read them.
    if (path.endsWith('/orrery/moved') || path.endsWith('/orrery/keys')) return
    const content = await readWholeFile(files, path)
    if (content !== undefined) found.set(path, content)
    else for (const name of await files.list(path)) await walk(`${path}/${name}`)
  }
  await world.finish(walk('/data'))
  return found
}
