import { operatingError } from '../../../core/base/index.ts'
import type { Platform, Timer } from '../../../core/platform/index.ts'
import {
  checkRecord,
  findProperty,
  PROPERTY,
  recordCommitLogOffset,
  recordProperties,
  recordQueueOffset,
  recordStoreTimeMs,
  SCHEDULE_TOPIC,
} from '../../../model/message/index.ts'
import {
  type AppliedRecord,
  type CheckpointParticipant,
  type ConsumeQueue,
  type Store,
  type TopicApplier,
  type UnitBlock,
} from '../../store/index.ts'
import type { FiredIds } from '../fired-ids.ts'
import type { ParkedStore } from '../parked/parked-store.ts'
import type { Publisher } from '../publisher.ts'
import { DelayOffsetsFile } from './delay-offsets-file.ts'
import { LevelQueue } from './level-queue.ts'
import { type LevelsSection, levelsSectionOf } from './levels-section.ts'

const BATCH_COUNT_MAX = 512
const BATCH_BYTES_MAX = 1024 * 1024
/** Pause after the log took nothing, or could not be read. */
const RETRY_MS = 50

/**
 * The delay levels of RocketMQ 4. A level's messages wait in one queue of `SCHEDULE_TOPIC_XXXX`
 * with their deliver time in place of the tags code; the head of each is watched, with one timer
 * for the earliest. Order within a level is kept and nothing is ever skipped: what its topic
 * refuses is parked, what the log refuses is tried again.
 */
export class LevelStore implements CheckpointParticipant, TopicApplier {
  readonly name = 'levels'
  readonly #platform: Platform
  readonly #store: Store
  readonly #publisher: Publisher
  readonly #parked: ParkedStore
  readonly #fired: FiredIds
  readonly #levelsMs: readonly number[]
  /** In force when the records were accepted that recovery applies again. */
  #levelsMsBefore: readonly number[]
  readonly #file: DelayOffsetsFile
  readonly #levels = new Map<number, LevelQueue>()
  readonly #knownOffsets = new Map<number, number>()
  readonly #running = new Set<Promise<void>>()
  #exported: ReadonlyMap<number, number> = new Map()
  /** What the newest durable manifest says: a restart goes back to it. */
  #durable: ReadonlyMap<number, number> = new Map()
  #timer: Timer | undefined
  #wakeAtMs = Infinity
  #isTableKnown = false
  #isStarted = false
  #isPaused = false
  #lostCount = 0

  constructor(parts: {
    platform: Platform
    store: Store
    publisher: Publisher
    parked: ParkedStore
    fired: FiredIds
    levelsMs: readonly number[]
    delayOffsetPath: string
  }) {
    this.#platform = parts.platform
    this.#store = parts.store
    this.#publisher = parts.publisher
    this.#parked = parts.parked
    this.#fired = parts.fired
    this.#levelsMs = parts.levelsMs
    this.#levelsMsBefore = parts.levelsMs
    this.#file = new DelayOffsetsFile(parts.platform.files, parts.delayOffsetPath)
  }

  /** Another table is in force than the manifest says: what is accepted by it must find it. */
  get needsCheckpoint(): boolean {
    return !this.#isTableKnown
  }

  get waitingCount(): number {
    let count = 0
    for (const level of this.#levels.values()) count += level.waitingCount
    return count
  }

  /** Messages that could not be delivered because the log no longer has them whole. */
  get lostCount(): number {
    return this.#lostCount
  }

  /** Reads how far each level has got: from the manifest, or from Apache's file after it ran. */
  async load(section: unknown): Promise<void> {
    const known = levelsSectionOf(section)
    if (known !== undefined) this.#levelsMsBefore = known.levelsMs
    this.#isTableKnown = known?.levelsMs.join() === this.#levelsMs.join()
    const offsets = this.#store.isForeign
      ? await this.#file.read()
      : new Map(Object.entries(known?.offsets ?? {}).map(([key, value]) => [Number(key), value]))
    for (const [level, offset] of offsets) this.#knownOffsets.set(level, offset)
    this.#durable = offsets
  }

  /** After recovery: begins to deliver. */
  start(): void {
    this.#openLevels()
    this.#levelsMsBefore = this.#levelsMs
    this.#isStarted = true
    this.#wake()
  }

  async stop(): Promise<void> {
    this.#isStarted = false
    this.#timer?.cancel()
    await this.#idle()
  }

  /** Deliver time of a record that is read back from the log. */
  tagsCodeOf(source: Buffer, position: number): number {
    const level = Number(findProperty(recordProperties(source, position), PROPERTY.DELAY) ?? 1)
    const levelMs = this.#levelsMsBefore[level - 1] ?? this.#levelsMsBefore.at(-1) ?? 1000
    return recordStoreTimeMs(source, position) + levelMs
  }

  apply(record: AppliedRecord): void {
    if (!this.#isStarted) return
    const level = this.#levelOf(record.queue)
    if (level.nextOffset !== record.queueOffset) return
    level.headDueMs = record.tagsCode
    this.#wakeBy(level.headDueMs)
  }

  /**
   * Log offset of the oldest message that waits, or would again after a crash now; Infinity when
   * none does. Holds up retention.
   */
  async oldestWaitingOffset(): Promise<number> {
    let oldest = Infinity
    for (const { level, queue } of this.#levels.values()) {
      const from = Math.max(queue.minOffset, this.#durable.get(level) ?? 0)
      if (from >= queue.maxOffset) continue
      const units = await queue.readUnits(from, 1)
      oldest = Math.min(oldest, units.commitLogOffset(0))
    }
    return oldest
  }

  async prepare(): Promise<void> {
    this.#isPaused = true
    await this.#idle()
    await this.#publisher.drained()
  }

  snapshot(): LevelsSection {
    this.#isPaused = false
    if (!this.#isStarted) this.#openLevels()
    if (this.#isStarted) this.#platform.timers.soon(() => this.#wake())
    this.#exported = new Map(
      [...this.#levels.values()].map(level => [level.level, level.nextOffset]),
    )
    return { offsets: Object.fromEntries(this.#exported), levelsMs: this.#levelsMs }
  }

  async write(): Promise<void> {
    await this.#file.write(this.#exported)
  }

  committed(): Promise<void> {
    this.#isTableKnown = true
    this.#durable = this.#exported
    return Promise.resolve()
  }

  /** Recovery has found the queues: from here on each level has its place. */
  #openLevels(): void {
    for (const queue of this.#store.queuesOf(SCHEDULE_TOPIC)) this.#levelOf(queue)
    for (const [level, offset] of this.#knownOffsets) {
      this.#levelOf(this.#store.queue(SCHEDULE_TOPIC, level - 1)).nextOffset = offset
    }
    this.#knownOffsets.clear()
    for (const level of this.#levels.values()) this.#correct(level)
  }

  #levelOf(queue: ConsumeQueue): LevelQueue {
    const number = queue.queueId + 1
    let level = this.#levels.get(number)
    if (level === undefined) {
      level = new LevelQueue(number, queue, queue.minOffset)
      this.#levels.set(number, level)
    }
    return level
  }

  /** What was read from a file may lie outside what the queue has. */
  #correct(level: LevelQueue): void {
    const { minOffset, maxOffset } = level.queue
    const corrected = Math.min(Math.max(level.nextOffset, minOffset), maxOffset)
    if (corrected === level.nextOffset) return
    this.#platform.log.warn('the progress of a delay level was outside its queue', {
      level: level.level,
      offset: level.nextOffset,
      corrected,
    })
    level.nextOffset = corrected
  }

  async #idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }

  #wakeBy(timeMs: number): void {
    if (!this.#isStarted || timeMs >= this.#wakeAtMs) return
    this.#timer?.cancel()
    this.#wakeAtMs = timeMs
    this.#timer = this.#platform.timers.at(timeMs, () => {
      this.#wakeAtMs = Infinity
      this.#wake()
    })
  }

  /** Starts to deliver each level whose head is due; the next timer follows from the others. */
  #wake(): void {
    if (!this.#isStarted || this.#isPaused) return
    const nowMs = this.#platform.clock.timeMs()
    for (const level of this.#levels.values()) {
      if (level.isDelivering || level.waitingCount === 0) continue
      if (level.headDueMs > nowMs) this.#wakeBy(level.headDueMs)
      else this.#run(level)
    }
  }

  #run(level: LevelQueue): void {
    level.isDelivering = true
    const running = this.#deliverLevel(level)
      .catch((error: unknown) => {
        const facts = { level: level.level }
        this.#platform.log.error('a delay level could not be read', operatingError(error), facts)
        this.#tryAgain()
      })
      .finally(() => {
        level.isDelivering = false
        this.#running.delete(running)
        this.#wake()
      })
    this.#running.add(running)
  }

  #tryAgain(): void {
    this.#wakeBy(this.#platform.clock.timeMs() + RETRY_MS)
  }

  /** Delivers batches until the head is not due, the log is busy or a checkpoint wants a pause. */
  async #deliverLevel(level: LevelQueue): Promise<void> {
    while (this.#isStarted && !this.#isPaused) {
      const due = await this.#findDue(level)
      if (due.count === 0) return
      if (this.#publisher.isCongested) {
        await this.#publisher.drained()
        if (this.#publisher.isCongested) {
          level.headDueMs = this.#platform.clock.timeMs() + RETRY_MS
          return
        }
      }
      const read = await this.#store.readQueue(level.queue, {
        fromOffset: level.nextOffset,
        countMax: due.count,
        bytesMax: BATCH_BYTES_MAX,
        accepts: undefined,
      })
      // The clock may have gone back meanwhile.
      if (due.lastMs > this.#platform.clock.timeMs()) continue
      if (!this.#deliverBatch(level, read.bytes)) {
        level.headDueMs = this.#platform.clock.timeMs() + RETRY_MS
        return
      }
      if (read.removed) this.#passMissing(level, level.nextOffset + 1)
      else if (read.count === 0) this.#passMissing(level, read.nextOffset)
    }
  }

  /** How many messages from the head on are due; notes when the first other one is. */
  async #findDue(level: LevelQueue): Promise<{ count: number; lastMs: number }> {
    const from = level.nextOffset
    let units = await level.queue.readUnits(from, BATCH_COUNT_MAX)
    const missingCount = paddingCount(units)
    if (missingCount > 0) {
      // A read passes them over, and would take what follows for due.
      this.#passMissing(level, from + missingCount)
      units = await level.queue.readUnits(level.nextOffset, BATCH_COUNT_MAX)
    }
    const nowMs = this.#platform.clock.timeMs()
    let count = 0
    let lastMs = -Infinity
    while (count < units.count && units.tagsCode(count) <= nowMs) {
      if (units.isPadding(count)) break
      lastMs = Math.max(lastMs, units.tagsCode(count))
      count++
    }
    if (count < units.count) level.headDueMs = units.tagsCode(count)
    else level.headDueMs = level.waitingCount === 0 ? Infinity : 0
    return { count, lastMs }
  }

  /** Returns false when the log is busy: what was not taken stays where it is. */
  #deliverBatch(level: LevelQueue, bytes: Buffer): boolean {
    let position = 0
    while (position < bytes.length) {
      const check = checkRecord(bytes, position, bytes.length)
      if (check.kind !== 'record') {
        this.#lost(level, 'damaged')
        level.nextOffset++
        return true
      }
      if (!this.#deliverOne(bytes, position, check.size)) return false
      level.nextOffset = recordQueueOffset(bytes, position) + 1
      position += check.size
    }
    return true
  }

  #deliverOne(bytes: Buffer, position: number, size: number): boolean {
    const timerId = recordCommitLogOffset(bytes, position)
    if (this.#fired.take(timerId)) return true
    const outcome = this.#publisher.deliver(bytes, position, timerId)
    if (outcome === 'busy') return false
    if (outcome === 'refused') {
      this.#parked.park({
        timerId,
        deliverTimeMs: this.#platform.clock.timeMs(),
        source: bytes,
        position,
        recordBytes: size,
      })
    }
    return true
  }

  /** Messages that the log no longer has, or never had whole. */
  #passMissing(level: LevelQueue, nextOffset: number): void {
    while (level.nextOffset < nextOffset) {
      this.#lost(level, 'missing')
      level.nextOffset++
    }
  }

  #lost(level: LevelQueue, reason: string): void {
    this.#lostCount++
    this.#platform.log.error('a delayed message is not in the log any more', undefined, {
      level: level.level,
      queueOffset: level.nextOffset,
      reason,
    })
  }
}

/** How many units from the first on stand for messages that are not there. */
function paddingCount(units: UnitBlock): number {
  let count = 0
  while (count < units.count && units.isPadding(count)) count++
  return count
}
