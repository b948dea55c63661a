/** A store with its timers on a simulated disk, and what it is measured against. */
import { BrokerError } from '../../core/base/index.ts'
import type { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import {
  appendProperty,
  encodeHost,
  findProperty,
  PROPERTY,
  type RecordDraft,
  recordBodyEnd,
  recordBodyStart,
  recordProperties,
  recordSize,
  recordStoreTimeMs,
  SCHEDULE_TOPIC,
  TIMER_CANCEL_QUEUE,
  TIMER_MOVE_QUEUE,
  TIMER_TOPIC,
} from '../../model/message/index.ts'
import { Store, type StoreOptions } from '../store/index.ts'
import type { DueOutcome, DueSink } from './due-sink.ts'
import type { TimerRef } from './ladder/chunk-search.ts'
import { type TimerOptions, TimerStores } from './timer-stores.ts'

export const DIRECTORY = '/data'
const HOST = encodeHost('127.0.0.1', 10_911)
const NOTHING = Buffer.alloc(0)

/** Small, so that a few thousand messages reach every limit. */
const STORE_OPTIONS: StoreOptions = {
  directory: DIRECTORY,
  segmentBytes: 1024 * 1024,
  cacheBytes: 256 * 1024,
  unappliedBytesMax: 64 * 1024,
  recordBytesMax: 16 * 1024,
  flush: 'sync',
  diskFreeBytesMin: 0,
  retentionMs: 1_000 * 86_400_000,
  checkpointIntervalMs: 5_000,
  checkpointBytes: 1024 * 1024 * 1024,
}

const TIMER_OPTIONS: TimerOptions = {
  directory: DIRECTORY,
  levelsMs: [1_000, 5_000, 10_000, 30_000],
  windowCountMax: 2_000,
  windowBytesMax: 512 * 1024,
  loadBytesMax: 128 * 1024,
  overdueRateMax: 0,
  stagingBytesMax: 4 * 1024 * 1024,
  logMemoryBytes: 64 * 1024,
  listStepBytes: 32 * 1024,
}

/** A message as it was published. */
export interface Published {
  readonly key: number
  readonly timerId: number
  readonly storeTimeMs: number
  readonly queueOffset: number
  readonly bodyBytes: number
}

/** A message that was accepted. */
export interface Accepted {
  readonly key: number
  readonly topic: string
  readonly deliverTimeMs: number
  readonly commitLogOffset: number
  /** When it was durable; undefined when the process died before. */
  acknowledgedAtMs: number | undefined
  /** What cancels were answered; `asked` while one is not, or when the process died before. */
  cancels: ('asked' | RemovalAnswer)[]
  /** Its deliver time, and those of moves that were not answered. */
  mayBeDueMs: number[]
}

/** `absent`: delivered, or never there. `done`: by this call. */
export type RemovalAnswer = 'done' | 'cancelled' | 'claimed' | 'absent'

/**
 * Publishes to plain topics. What `refused` names is refused; `isBusy` makes the log busy, and so
 * do more bodies in a millisecond than `bytesPerMsMax`.
 */
export class TestSink implements DueSink {
  readonly refused: Set<string> = new Set()
  isBusy = false
  bytesPerMsMax: number = Infinity
  deliveredCount = 0
  #nowMs = 0
  #nowBytes = 0
  readonly #store: Store
  readonly #world: SimulatedWorld

  constructor(store: Store, world: SimulatedWorld) {
    this.#store = store
    this.#world = world
  }

  deliver(source: Buffer, position: number, timerId: number): DueOutcome {
    const properties = recordProperties(source, position)
    const topic = findProperty(properties, PROPERTY.REAL_TOPIC) ?? ''
    if (this.isBusy || !this.#hasRoom()) return 'busy'
    if (this.refused.has(topic)) return 'refused'
    const draft = draftOf(
      topic,
      appendProperty(properties, PROPERTY.ORRERY_TIMER_ID, String(timerId)),
    )
    draft.body = source
    draft.bodyStart = recordBodyStart(source, position)
    draft.bodyEnd = recordBodyEnd(source, position)
    try {
      const queue = this.#store.queue(topic, 0)
      this.#store.appendDue(draft, queue, 0, this.#world.platform.clock.timeMs())
    } catch (error) {
      if (error instanceof BrokerError) return 'busy'
      throw error
    }
    this.deliveredCount++
    this.#nowBytes += draft.bodyEnd - draft.bodyStart
    return 'appended'
  }

  #hasRoom(): boolean {
    const nowMs = this.#world.platform.clock.timeMs()
    if (nowMs !== this.#nowMs) this.#nowBytes = 0
    this.#nowMs = nowMs
    return this.#nowBytes < this.bytesPerMsMax
  }
}

/** One run of the process under test, from start to crash or stop. */
export class TestBroker {
  readonly store: Store
  readonly timers: TimerStores
  readonly sink: TestSink
  readonly #world: SimulatedWorld
  readonly #levelsMs: readonly number[]

  private constructor(parts: {
    world: SimulatedWorld
    store: Store
    timers: TimerStores
    sink: TestSink
    levelsMs: readonly number[]
  }) {
    this.#world = parts.world
    this.store = parts.store
    this.timers = parts.timers
    this.sink = parts.sink
    this.#levelsMs = parts.levelsMs
  }

  static async open(
    world: SimulatedWorld,
    changes: { store?: Partial<StoreOptions>; timers?: Partial<TimerOptions> } = {},
    prepare: (sink: TestSink) => void = () => undefined,
  ): Promise<TestBroker> {
    const { platform } = world
    const opening = async (): Promise<TestBroker> => {
      const store = await Store.open({ ...STORE_OPTIONS, ...changes.store }, platform)
      await store.findForeign()
      const sink = new TestSink(store, world)
      prepare(sink)
      const options = { ...TIMER_OPTIONS, ...changes.timers }
      const timers = await TimerStores.create(platform, options, { store, sink })
      await store.recover(timerId => timers.notePublished(timerId))
      await store.start()
      timers.start()
      return new TestBroker({ world, store, timers, sink, levelsMs: options.levelsMs })
    }
    return world.finish(opening())
  }

  async stop(): Promise<void> {
    const stopping = async (): Promise<void> => {
      await this.timers.stop()
      await this.store.stop()
      await this.timers.close()
    }
    await this.#world.finish(stopping())
    this.#world.exit()
  }

  /** Accepts a message for a deliver time. */
  accept(message: {
    key: number
    deliverTimeMs: number
    topic?: string
    bodyBytes?: number
  }): Accepted {
    const { key, deliverTimeMs, topic = 'Target', bodyBytes = 20 } = message
    const outMs = appendProperty('', PROPERTY.TIMER_OUT_MS, String(deliverTimeMs))
    const draft = draftOf(TIMER_TOPIC, propertiesOf(key, topic) + outMs, bodyBytes)
    return this.#append(draft, 0, { key, topic, deliverTimeMs })
  }

  /** Accepts a message for a delay level. */
  acceptLevel(message: { key: number; level: number; topic?: string }): Accepted {
    const { key, level, topic = 'Target' } = message
    const deliverTimeMs = this.#nowMs + (this.#levelsMs[level - 1] ?? 0)
    const ofLevel = appendProperty('', PROPERTY.DELAY, String(level))
    const draft = draftOf(SCHEDULE_TOPIC, propertiesOf(key, topic) + ofLevel, 20)
    return this.#append(draft, level - 1, { key, topic, deliverTimeMs })
  }

  /** Asks to cancel a message of the ladder, and notes the answer when there is one. */
  async cancel(message: Accepted): Promise<RemovalAnswer> {
    const place = message.cancels.push('asked') - 1
    const answer = await this.#remove(message, ({ timerId, deliverTimeMs }) => {
      const text = appendProperty('', PROPERTY.ORRERY_CANCELS, `${timerId} ${deliverTimeMs}`)
      return { draft: draftOf(TIMER_TOPIC, text), queueId: TIMER_CANCEL_QUEUE, tagsCode: timerId }
    })
    message.cancels[place] = answer === 'done' ? 'cancelled' : answer
    return answer === 'done' ? 'cancelled' : answer
  }

  /** Asks to move a message of the ladder, and notes its new time when that is answered. */
  async move(message: Accepted, deliverTimeMs: number): Promise<RemovalAnswer> {
    message.mayBeDueMs.push(deliverTimeMs)
    const answer = await this.#remove(message, (ref, record) => {
      const at = `${ref.timerId} ${ref.deliverTimeMs}`
      const replaces = appendProperty('', PROPERTY.ORRERY_REPLACES, at)
      const first = appendProperty(replaces, PROPERTY.ORRERY_FIRST, `${message.commitLogOffset} 0`)
      const dueMs = appendProperty(first, PROPERTY.TIMER_OUT_MS, String(deliverTimeMs))
      const text = propertiesOf(message.key, message.topic) + dueMs
      const draft = draftOf(
        TIMER_TOPIC,
        text,
        recordBodyEnd(record, 0) - recordBodyStart(record, 0),
      )
      return { draft, queueId: TIMER_MOVE_QUEUE, tagsCode: deliverTimeMs }
    })
    if (answer === 'done') message.mayBeDueMs = [deliverTimeMs]
    return answer
  }

  /** Removes a message that waits by appending what `change` makes of it. */
  async #remove(
    message: Accepted,
    change: (
      ref: TimerRef,
      record: Buffer,
    ) => { readonly draft: RecordDraft; readonly queueId: number; readonly tagsCode: number },
  ): Promise<RemovalAnswer> {
    for (;;) {
      const first = { timerId: message.commitLogOffset, deliverTimeMs: message.deliverTimeMs }
      const ref = (await this.timers.movedTo(first.timerId)) ?? first
      const outcome = await this.timers.find(ref, state => {
        if (state.kind === 'removing') return { after: state.changeOffset, by: state.removal }
        if (state.kind !== 'waiting') return state.kind
        const { draft, queueId, tagsCode } = change(ref, state.record)
        draft.queueId = queueId
        const queue = this.store.queue(TIMER_TOPIC, queueId)
        const changeOffset = this.store.appendDue(draft, queue, tagsCode, this.#nowMs)
        const removal = queueId === TIMER_CANCEL_QUEUE ? 'cancelled' : 'moved'
        const { timerId } = ref
        this.timers.beginRemoval({ timerId, removal, changeOffset, place: state.place })
        return changeOffset
      })
      if (typeof outcome === 'string') return outcome
      if (typeof outcome === 'number') {
        await this.store.whenApplied(outcome)
        return 'done'
      }
      await this.store.whenApplied(outcome.after)
      if (outcome.by === 'cancelled') return 'cancelled'
    }
  }

  get #nowMs(): number {
    return this.#world.platform.clock.timeMs()
  }

  #append(
    draft: RecordDraft,
    queueId: number,
    facts: { key: number; topic: string; deliverTimeMs: number },
  ): Accepted {
    const queue = this.store.queue(draft.topic.toString(), queueId)
    draft.queueId = queueId
    const offset = this.store.append(draft, queue, facts.deliverTimeMs, this.#nowMs)
    const accepted: Accepted = {
      ...facts,
      commitLogOffset: offset,
      acknowledgedAtMs: undefined,
      cancels: [],
      mayBeDueMs: [facts.deliverTimeMs],
    }
    this.store.whenApplied(offset).then(
      () => {
        accepted.acknowledgedAtMs = this.#nowMs
      },
      () => undefined,
    )
    return accepted
  }

  /** All that was published to a topic, in its order. */
  async published(topic = 'Target'): Promise<Published[]> {
    const queue = this.store.findQueue(topic, 0)
    const found: Published[] = []
    if (queue === undefined) return found
    let fromOffset = queue.minOffset
    while (fromOffset < queue.maxOffset) {
      const request = { fromOffset, countMax: 500, bytesMax: 1024 * 1024, accepts: undefined }
      const reading = Promise.resolve(this.store.readQueue(queue, request))
      const read = await this.#world.finish(reading)
      let position = 0
      for (let index = 0; index < read.count; index++) {
        found.push(publishedAt(read.bytes, position, fromOffset + index))
        position += recordSize(read.bytes, position)
      }
      fromOffset = read.nextOffset
    }
    return found
  }
}

function publishedAt(bytes: Buffer, position: number, queueOffset: number): Published {
  const found = recordProperties(bytes, position)
  return {
    key: Number(findProperty(found, PROPERTY.KEYS)),
    timerId: Number(findProperty(found, PROPERTY.ORRERY_TIMER_ID)),
    storeTimeMs: recordStoreTimeMs(bytes, position),
    queueOffset,
    bodyBytes: recordBodyEnd(bytes, position) - recordBodyStart(bytes, position),
  }
}

function propertiesOf(key: number, topic: string): string {
  const named = appendProperty('', PROPERTY.KEYS, String(key))
  return appendProperty(appendProperty(named, PROPERTY.REAL_TOPIC, topic), PROPERTY.REAL_QID, '0')
}

function draftOf(topic: string, text: string, bodyBytes = 0): RecordDraft {
  return {
    topic: Buffer.from(topic),
    queueId: 0,
    flag: 0,
    sysFlag: 0,
    bornTimeMs: 0,
    bornHost: HOST,
    storeHost: HOST,
    reconsumeTimes: 0,
    preparedTransactionOffset: 0,
    body: bodyBytes === 0 ? NOTHING : Buffer.alloc(bodyBytes, 7),
    bodyStart: 0,
    bodyEnd: bodyBytes,
    properties: text,
  }
}

/** Files that the timers have left on the disk. */
export async function timerFiles(world: SimulatedWorld): Promise<string[]> {
  const { files } = world.outside
  const found: string[] = []
  const walk = async (directory: string): Promise<void> => {
    for (const name of await files.list(directory)) {
      const path = `${directory}/${name}`
      if ((await files.sizeOf(path)) === undefined) await walk(path)
      else found.push(path)
    }
  }
  await world.finish(walk(`${DIRECTORY}/orrery/ladder`))
  await world.finish(walk(`${DIRECTORY}/orrery/parked`))
  return found
}

/**
 * What is wrong with what was published, by the model: each accepted message once, none early, and
 * none that was cancelled.
 */
export function mistakes(
  accepted: readonly Accepted[],
  published: readonly Published[],
): readonly string[] {
  const found: string[] = []
  const byKey = new Map(accepted.map(message => [message.key, message]))
  const times = new Map<number, number>()
  for (const message of published) {
    times.set(message.key, (times.get(message.key) ?? 0) + 1)
    const wanted = byKey.get(message.key)
    if (wanted === undefined) found.push(`${message.key} was never accepted`)
    else if (message.storeTimeMs < Math.min(...wanted.mayBeDueMs)) {
      found.push(`${message.key} is early: ${message.storeTimeMs}, not ${wanted.mayBeDueMs.join()}`)
    }
  }
  for (const [key, count] of times) if (count > 1) found.push(`${key} fired ${count} times`)
  for (const message of accepted) {
    const isPublished = times.has(message.key)
    if (message.cancels.includes('cancelled')) {
      if (isPublished) found.push(`${message.key} was cancelled and is delivered`)
    } else if (
      !isPublished &&
      message.acknowledgedAtMs !== undefined &&
      !message.cancels.includes('asked')
    ) {
      found.push(`${message.key} is lost (due ${message.deliverTimeMs})`)
    }
  }
  return found
}
