import { assert, operatingError } from '../../../core/base/index.ts'
import { makeDurableDirectory, type Platform, type Timer } from '../../../core/platform/index.ts'
import {
  checkRecord,
  findProperty,
  PROPERTY,
  recordProperties,
} from '../../../model/message/index.ts'
import type { CheckpointParticipant } from '../../store/index.ts'
import type { BulkChanges } from '../bulk-changes.ts'
import { Chunk } from '../chunk.ts'
import { readChunk } from '../chunk-reader.ts'
import type { FiredIds } from '../fired-ids.ts'
import type { TimerRef } from '../ladder/chunk-search.ts'
import { PagePool } from '../page-pool.ts'
import type { PendingRemovals } from '../pending-removals.ts'
import type { Publisher } from '../publisher.ts'
import type { RecoveredRemovals } from '../recovered-removals.ts'
import {
  TIMER_HEADER_BYTES,
  timerDeliverTimeMs,
  timerIdOf,
  timerRecordStart,
} from '../timer-record.ts'
import { ParkedQueue } from './parked-queue.ts'
import { type ParkedSection, parkedSectionOf } from './parked-section.ts'
import { NONE, type ParkedPlace, ParkedTable } from './parked-table.ts'

const RETRY_LOOK_MS = 500
const RETRY_COUNT_MAX = 256
const CHUNK_BYTES_ROTATE = 16 * 1024 * 1024
const READ_BYTES = 1024 * 1024
/** More than this in memory is written early. */
const STAGED_BYTES_LONG = 4 * 1024 * 1024
/** More than this, and nothing is delivered or accepted until some is written. */
const STAGED_BYTES_MAX = 16 * 1024 * 1024
/** Pause after a write has failed. */
const FAILED_PAUSE_MS = 500

/** A message as it was accepted, for `park` and `keepLate`. */
export interface ParkedMessage {
  readonly timerId: number
  readonly deliverTimeMs: number
  readonly source: Buffer
  readonly position: number
  readonly recordBytes: number
}

/**
 * Messages that the fire position has passed and that are not delivered: their topic refuses them,
 * or they came in for a time before it (late, or after the clock went back). Each is tracked by id
 * in files of its own, so that it holds up nobody. See docs/formats/timer-chunk.md.
 */
export class ParkedStore implements CheckpointParticipant {
  readonly name = 'parked'
  readonly #platform: Platform
  readonly #directory: string
  readonly #publisher: Publisher
  readonly #fired: FiredIds
  readonly #recovered: RecoveredRemovals
  readonly #removals: PendingRemovals
  readonly #bulk: BulkChanges
  readonly #pool = new PagePool()
  readonly #chunks = new Map<number, Chunk>()
  /** Ids in a chunk that are delivered: kept until the whole chunk goes. */
  readonly #gone = new Map<number, Set<number>>()
  /** Messages of a chunk that still wait: the chunk goes when there is none. */
  readonly #liveCounts = new Map<number, number>()
  /** What topics refuse: by topic, and by its slot of the table. */
  readonly #refused = new Map<string, ParkedQueue>()
  readonly #table = new ParkedTable()
  readonly #queues: ParkedQueue[] = []
  readonly #late = new Map<number, ParkedPlace>()
  #open: Chunk | undefined
  #nextNumber = 1
  #condemned: Chunk[] = []
  #lostCount = 0
  #timer: Timer | undefined
  #retrying: Promise<void> | undefined
  #writing: Promise<void> | undefined
  #isPaused = false
  #isStopped = false

  constructor(parts: {
    platform: Platform
    directory: string
    publisher: Publisher
    fired: FiredIds
    recovered: RecoveredRemovals
    removals: PendingRemovals
    bulk: BulkChanges
  }) {
    this.#platform = parts.platform
    this.#directory = parts.directory
    this.#publisher = parts.publisher
    this.#fired = parts.fired
    this.#recovered = parts.recovered
    this.#removals = parts.removals
    this.#bulk = parts.bulk
  }

  /** Messages that wait although their time has come. */
  get refusedCount(): number {
    let count = 0
    for (const queue of this.#refused.values()) count += queue.count
    return count
  }

  /** Messages that could not be delivered because their bytes are damaged. */
  get lostCount(): number {
    return this.#lostCount
  }

  /** Messages are parked faster than they can be written. */
  get isCongested(): boolean {
    return this.#pool.stagedBytes > STAGED_BYTES_MAX
  }

  /**
   * Opens what the manifest names. Messages whose time is still to come are returned: they belong
   * into the window.
   */
  async load(section: unknown, nowMs: number): Promise<readonly ParkedPlace[]> {
    const { files } = this.#platform
    await makeDurableDirectory(files, this.#directory)
    const known = parkedSectionOf(section)
    this.#nextNumber = known.nextNumber
    const named = new Set<string>()
    const waiting: ParkedPlace[] = []
    for (const chunkSection of known.chunks) {
      const path = this.#path(chunkSection.number)
      named.add(path)
      const chunk = await Chunk.load(this.#platform, this.#pool, { path, section: chunkSection })
      this.#chunks.set(chunk.number, chunk)
      this.#gone.set(chunk.number, new Set(chunkSection.gone))
      await this.#loadChunk(chunk, nowMs, waiting)
    }
    // Without a manifest nobody knows what may go.
    const names = section === undefined ? [] : await files.list(this.#directory)
    for (const name of names) {
      const path = `${this.#directory}/${name}`
      if (!named.has(path)) await files.remove(path)
    }
    return waiting
  }

  start(): void {
    this.#timer = this.#platform.timers.after(RETRY_LOOK_MS, () => {
      this.#retrying = this.#retryAll()
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    await this.#retrying
    await this.#writing
  }

  /** Keeps a message whose topic refused it; it is tried again until it is taken. */
  park(message: ParkedMessage): void {
    const place = this.#late.get(message.timerId) ?? this.#append(message)
    this.#late.delete(message.timerId)
    const topic = realTopicOf(message.source, message.position)
    this.#refuse(topic, place)
  }

  /** Keeps a message of the window that is due before the fire position. */
  keepLate(message: ParkedMessage): void {
    if (!this.#late.has(message.timerId)) this.#late.set(message.timerId, this.#append(message))
  }

  /** A message kept with `keepLate` was delivered or had fired before. */
  lateDone(timerId: number): void {
    if (this.#late.size === 0) return
    const place = this.#late.get(timerId)
    if (place === undefined) return
    this.#late.delete(timerId)
    this.#markGone(place)
  }

  /** Whether a message of the window is kept here. */
  isLate(timerId: number): boolean {
    return this.#late.has(timerId)
  }

  /** A message that waits here, whether for its time or for its topic. */
  find(timerId: number): ParkedPlace | undefined {
    const late = this.#late.get(timerId)
    if (late !== undefined) return late
    const slot = this.#table.find(timerId)
    return slot === NONE ? undefined : this.#table.at(slot)
  }

  /** Messages that their topics refuse, of those that `accepts` says yes to. */
  visitRefused(accepts: (ref: TimerRef) => boolean, see: (place: ParkedPlace) => void): void {
    for (const queue of this.#refused.values()) queue.visit(accepts, see)
  }

  /**
   * The accept record of a message if it still waits here when it is read; undefined when it has
   * gone.
   */
  async readWaiting(timerId: number): Promise<Buffer | undefined> {
    const place = this.find(timerId)
    if (place === undefined) return undefined
    try {
      return await this.read(place)
    } catch (error) {
      // Gone meanwhile, and its file with it.
      if (this.find(timerId) === undefined) return undefined
      throw error
    }
  }

  /** The accept record of a message that waits here. */
  async read(place: ParkedPlace): Promise<Buffer> {
    const chunk = this.#chunks.get(place.chunkNumber)
    assert(chunk !== undefined, 'a parked message has a chunk')
    const record = Buffer.allocUnsafe(place.recordBytes)
    await chunk.file.read(record, timerRecordStart(place.position))
    return record
  }

  /** The message is done with; does nothing when it does not wait here. */
  remove(timerId: number): void {
    this.lateDone(timerId)
    const slot = this.#table.find(timerId)
    if (slot === NONE) return
    const place = this.#table.at(slot)
    this.#queues[slot]?.remove(slot)
    this.#markGone(place)
  }

  /** The accept record of a message kept with `keepLate`. */
  async readLate(timerId: number): Promise<Buffer | undefined> {
    const place = this.#late.get(timerId)
    return place === undefined ? undefined : this.read(place)
  }

  async prepare(): Promise<void> {
    this.#isPaused = true
    await this.#retrying
    await this.#publisher.drained()
  }

  snapshot(): ParkedSection {
    this.#isPaused = false
    for (const chunk of [...this.#chunks.values()]) {
      if (this.#liveCounts.get(chunk.number) === 0) this.#condemn(chunk)
    }
    const chunks = [...this.#chunks.values()].map(chunk => ({
      ...chunk.section(),
      gone: [...(this.#gone.get(chunk.number) ?? [])],
    }))
    return { nextNumber: this.#nextNumber, chunks }
  }

  async write(): Promise<void> {
    const made: Chunk[] = []
    for (const chunk of this.#chunks.values()) {
      if (!chunk.file.isDurable) {
        await chunk.file.write()
        await chunk.file.sync()
      }
      if (!chunk.file.isNamed) made.push(chunk)
    }
    if (made.length === 0) return
    await this.#platform.files.syncDirectory(this.#directory)
    for (const chunk of made) chunk.file.markNamed()
  }

  async relieve(): Promise<void> {
    for (const chunk of this.#chunks.values()) await chunk.file.write()
  }

  async committed(): Promise<void> {
    for (const chunk of this.#condemned.splice(0)) await chunk.remove()
  }

  async #loadChunk(chunk: Chunk, nowMs: number, waiting: ParkedPlace[]): Promise<void> {
    const gone = this.#gone.get(chunk.number)
    let liveCount = 0
    let position = chunk.takenBytes
    const visitor = {
      record: (source: Buffer, at: number, size: number): void => {
        const place = {
          timerId: timerIdOf(source, at),
          deliverTimeMs: timerDeliverTimeMs(source, at),
          chunkNumber: chunk.number,
          position: position + at,
          recordBytes: size - TIMER_HEADER_BYTES,
        }
        if (gone?.has(place.timerId) === true) return
        liveCount++
        if (place.deliverTimeMs > nowMs) {
          this.#late.set(place.timerId, place)
          waiting.push(place)
        } else {
          this.#refuse(realTopicOf(source, timerRecordStart(at)), place)
        }
      },
    }
    while (position < chunk.sizeBytes) {
      const range = { position, bytesMax: READ_BYTES }
      position = await readChunk(chunk, range, { visitor, log: this.#platform.log })
    }
    chunk.endPart(chunk.beginPart(), position, chunk.count)
    this.#liveCounts.set(chunk.number, liveCount)
    // One that is damaged and gone is not lost.
    this.#lostCount += Math.max(0, chunk.count - liveCount - (gone?.size ?? 0))
  }

  #queueOf(topic: string): ParkedQueue {
    let queue = this.#refused.get(topic)
    if (queue === undefined) {
      queue = new ParkedQueue(this.#table, this.#platform.clock.uptimeMs())
      this.#refused.set(topic, queue)
    }
    return queue
  }

  #refuse(topic: string, place: ParkedPlace): void {
    const queue = this.#queueOf(topic)
    this.#queues[queue.push(place)] = queue
  }

  #append(message: ParkedMessage): ParkedPlace {
    let chunk = this.#open
    if (chunk === undefined || chunk.sizeBytes >= CHUNK_BYTES_ROTATE) {
      const number = this.#nextNumber++
      chunk = Chunk.create(this.#platform.files, this.#pool, { path: this.#path(number), number })
      this.#chunks.set(number, chunk)
      this.#gone.set(number, new Set())
      this.#open = chunk
    }
    const position = chunk.sizeBytes
    chunk.append(message, message.source, message.position, message.recordBytes)
    this.#liveCounts.set(chunk.number, (this.#liveCounts.get(chunk.number) ?? 0) + 1)
    if (this.#pool.stagedBytes > STAGED_BYTES_LONG) this.#writeEarly()
    return {
      timerId: message.timerId,
      deliverTimeMs: message.deliverTimeMs,
      chunkNumber: chunk.number,
      position,
      recordBytes: message.recordBytes,
    }
  }

  #writeEarly(): void {
    if (this.#writing !== undefined || this.#isStopped) return
    const isOver = (): void => {
      this.#writing = undefined
      this.#publisher.announceRelief()
    }
    this.#writing = this.relieve().then(isOver, (error: unknown) => {
      this.#platform.log.error('parked messages could not be written yet', operatingError(error))
      this.#platform.timers.after(FAILED_PAUSE_MS, isOver)
    })
  }

  #markGone(place: ParkedPlace): void {
    this.#gone.get(place.chunkNumber)?.add(place.timerId)
    this.#liveCounts.set(place.chunkNumber, (this.#liveCounts.get(place.chunkNumber) ?? 0) - 1)
  }

  #condemn(chunk: Chunk): void {
    this.#chunks.delete(chunk.number)
    this.#gone.delete(chunk.number)
    this.#liveCounts.delete(chunk.number)
    this.#condemned.push(chunk)
    if (this.#open === chunk) this.#open = undefined
  }

  async #retryAll(): Promise<void> {
    for (const [topic, queue] of this.#refused) {
      if (this.#isPaused || this.#isStopped) break
      if (queue.count === 0) this.#refused.delete(topic)
      else if (queue.retryAtUptimeMs <= this.#platform.clock.uptimeMs()) {
        await this.#retryGuarded(topic, queue)
      }
    }
    if (!this.#isStopped) this.start()
  }

  /** What fails for one topic is tried again after a pause, and holds up no other. */
  async #retryGuarded(topic: string, queue: ParkedQueue): Promise<void> {
    try {
      await this.#retry(queue)
    } catch (error) {
      const reason = operatingError(error)
      const commitLogOffset = queue.first()?.timerId ?? -1
      const facts = { topic, commitLogOffset }
      this.#platform.log.error('a parked message failed; it is tried again', reason, facts)
      // The others of the topic may be readable.
      queue.rotate()
      queue.backOff(this.#platform.clock.uptimeMs())
    }
  }

  async #retry(queue: ParkedQueue): Promise<void> {
    for (let count = 0; count < RETRY_COUNT_MAX; count++) {
      const place = queue.first()
      if (place === undefined || this.#isPaused || this.#isStopped) return
      if (place.deliverTimeMs > this.#platform.clock.timeMs()) {
        // The clock went back: it waits for its time again, and holds up nobody.
        queue.rotate()
        continue
      }
      const isRemoved = this.#recovered.take(place.timerId) !== undefined
      const isDone = this.#fired.take(place.timerId) || isRemoved
      if (!isDone) {
        const record = await this.read(place)
        // Removed while it was read, or decided to be: then it is looked at again later.
        if (queue.first()?.timerId !== place.timerId) continue
        if (this.#removals.find(place.timerId) !== undefined) return
        if (place.deliverTimeMs > this.#platform.clock.timeMs()) continue
        if (checkRecord(record, 0, record.length).kind !== 'record') {
          this.#lose(queue, place)
          continue
        }
        const cancel = this.#bulk.cancelOf(place, record, 0)
        if (cancel !== undefined) {
          cancel.count++
        } else {
          const outcome = this.#publisher.deliver(record, 0, place.timerId)
          if (outcome === 'busy') return
          if (outcome === 'refused') {
            queue.backOff(this.#platform.clock.uptimeMs())
            return
          }
          queue.taken()
        }
      }
      queue.remove(queue.firstSlot)
      this.#markGone(place)
    }
  }

  /** Its bytes went bad after it was loaded. */
  #lose(queue: ParkedQueue, place: ParkedPlace): void {
    this.#lostCount++
    this.#platform.log.error('a parked message is damaged; it is lost', undefined, {
      file: this.#path(place.chunkNumber),
      fromPosition: place.position,
      commitLogOffset: place.timerId,
    })
    queue.remove(queue.firstSlot)
    this.#markGone(place)
  }

  #path(number: number): string {
    return `${this.#directory}/${number}`
  }
}

function realTopicOf(source: Buffer, position: number): string {
  return findProperty(recordProperties(source, position), PROPERTY.REAL_TOPIC) ?? ''
}
