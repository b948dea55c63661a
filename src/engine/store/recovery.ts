import { assert, BrokerError } from '../../core/base/index.ts'
import type { Platform } from '../../core/platform/index.ts'
import {
  checkRecord,
  findProperty,
  PROPERTY,
  recordProperties,
  recordQueueId,
  recordQueueOffset,
  recordSize,
  recordTopic,
  tagsCodeOf,
} from '../../model/message/index.ts'
import type { ConsumeQueue } from './consume-queue.ts'
import { scanLog, type ScanResult } from './log-scan.ts'
import type { QueueTable } from './queue-table.ts'
import type { SegmentFiles } from './segment-files.ts'
import type { StoreOptions } from './store-options.ts'
import type { AppliedRecord, CheckpointParticipant } from './topic-applier.ts'

export interface RecoveryParts {
  readonly platform: Platform
  readonly options: StoreOptions
  readonly segments: SegmentFiles
  readonly queues: QueueTable
  readonly participants: readonly CheckpointParticipant[]
  /** Told of each published record found: that timer has fired. */
  readonly published: (timerId: number) => void
}

/**
 * Brings queues and timers to agreement with the log: what is below `fromOffset` is in the files
 * already, everything behind it is applied again. Returns where the log ends.
 */
export async function recover(parts: RecoveryParts, fromOffset: number): Promise<ScanResult> {
  for (const queue of parts.queues.all()) {
    await queue.load({
      commitLogMin: parts.segments.firstOffset,
      commitLogEnd: fromOffset,
      isRecordOf: (offset, candidate, queueOffset) =>
        isRecordOf(parts, offset, { queue: candidate, queueOffset }),
    })
  }
  const result = await scanLog(parts.segments, fromOffset, {
    visitor: new ApplyAgain(parts),
    log: parts.platform.log,
    recordBytesMax: parts.options.recordBytesMax,
  })
  if (!parts.segments.isEmpty) await parts.segments.cut(result.endOffset)
  return result
}

/**
 * Where recovery starts in a folder that another broker had open: behind the last record that its
 * queues know. After an unclean stop of that broker, at the log's first record.
 */
export async function offsetKnownToQueues(
  parts: RecoveryParts,
  isAborted: boolean,
): Promise<number> {
  let known = parts.segments.firstOffset
  if (isAborted) return known
  for (const queue of parts.queues.all()) known = Math.max(known, await queue.lastRecordEnd())
  return known
}

async function isRecordOf(
  parts: RecoveryParts,
  commitLogOffset: number,
  unit: { queue: ConsumeQueue; queueOffset: number },
): Promise<boolean> {
  // The log may have lost its oldest segments since; such units are trimmed, not doubted.
  if (commitLogOffset < parts.segments.firstOffset) return true
  const head = Buffer.alloc(4)
  if ((await parts.segments.read(head, commitLogOffset)) < head.length) return false
  const size = recordSize(head, 0)
  if (size <= 0 || size > parts.options.recordBytesMax) return false
  const record = Buffer.alloc(size)
  const got = await parts.segments.read(record, commitLogOffset)
  if (checkRecord(record, 0, got).kind !== 'record') return true // damaged, yet the unit may be right
  return (
    recordTopic(record, 0) === unit.queue.topic &&
    recordQueueId(record, 0) === unit.queue.queueId &&
    recordQueueOffset(record, 0) === unit.queueOffset
  )
}

/** Applies each record as it was applied when it was new, and notes what has fired. */
class ApplyAgain {
  readonly #parts: RecoveryParts
  readonly #record: AppliedRecord = {
    queue: undefined as never,
    commitLogOffset: 0,
    sizeBytes: 0,
    tagsCode: 0,
    queueOffset: 0,
    source: Buffer.alloc(0),
    position: 0,
  }

  constructor(parts: RecoveryParts) {
    this.#parts = parts
  }

  record(source: Buffer, position: number, commitLogOffset: number): void {
    const properties = recordProperties(source, position)
    this.#notePublished(properties)
    const queue = this.#parts.queues.get(
      recordTopic(source, position),
      recordQueueId(source, position),
    )
    const queueOffset = recordQueueOffset(source, position)
    if (queueOffset < queue.nextOffset) return // the queue knows it already
    if (queueOffset > queue.nextOffset) this.#passGap(queue, queueOffset)
    const record = this.#record
    record.queue = queue
    record.commitLogOffset = commitLogOffset
    record.sizeBytes = recordSize(source, position)
    record.queueOffset = queueOffset
    record.source = source
    record.position = position
    record.tagsCode =
      queue.applier?.tagsCodeOf(source, position) ??
      tagsCodeOf(findProperty(properties, PROPERTY.TAGS))
    queue.appendUnit(commitLogOffset, record.sizeBytes, record.tagsCode)
    queue.nextOffset = queueOffset + 1
    queue.applier?.apply(record)
  }

  async blockDone(): Promise<void> {
    for (const queue of this.#parts.queues.all()) if (queue.isTailLong) await queue.writeTail()
    for (const participant of this.#parts.participants) await participant.relieve()
  }

  #notePublished(properties: string): void {
    const timerId = findProperty(properties, PROPERTY.ORRERY_TIMER_ID)
    if (timerId !== undefined) this.#parts.published(Number(timerId))
  }

  /** Messages of this queue are missing: from a damaged range, or before the log's first record. */
  #passGap(queue: ConsumeQueue, queueOffset: number): void {
    if (queue.maxOffset === 0) {
      queue.startAt(queueOffset)
      return
    }
    this.#parts.platform.log.error('messages of a queue are missing in the log', undefined, {
      topic: queue.topic,
      queueId: queue.queueId,
      fromOffset: queue.nextOffset,
      toOffset: queueOffset,
    })
    for (let offset = queue.nextOffset; offset < queueOffset; offset++) queue.appendPadding()
  }
}

/** A store that was made with another segment length cannot be read with this one. */
export async function checkSegmentLength(parts: RecoveryParts): Promise<void> {
  const { segments, options } = parts
  assert(options.segmentBytes % 4096 === 0, 'segmentBytes must be a multiple of 4096')
  const names = await parts.platform.files.list(segments.directory)
  const files = names.filter(name => /^\d{20}$/.test(name))
  if (files.length === segments.bases.length) return
  throw new BrokerError('STORE_DAMAGED', {
    directory: segments.directory,
    hint: 'the segments have another length; set log.segmentBytes to the one the store was made with',
  })
}
