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
  recordSysFlag,
  recordTopic,
  SYS_FLAG,
  tagsCodeOf,
} from '../../model/message/index.ts'
import type { ConsumeQueue, RecordAt, UnitBlock } from './consume-queue.ts'
import { isZeroBetween } from './log-presence.ts'
import { scanLog, type ScanResult } from './log-scan.ts'
import type { QueueTable } from './queue-table.ts'
import { lacks, type QueueTotals, totalsOf } from './queue-totals.ts'
import { RECORD_BYTES_MAX } from './record-limit.ts'
import type { SegmentFiles } from './segment-files.ts'
import type { StoreOptions } from './store-options.ts'
import {
  type AppliedRecord,
  type CheckpointParticipant,
  emptyAppliedRecord,
  type RecordApplier,
} from './topic-applier.ts'

/** A queue number beyond it is not one: Apache's limit is far below. */
const QUEUE_ID_MAX = 65_535
/** A larger jump of queue offsets is no loss of messages but a log that does not fit its queues. */
const GAP_UNITS_MAX = 1_000_000

export interface RecoveryParts {
  readonly platform: Platform
  readonly options: StoreOptions
  readonly segments: SegmentFiles
  readonly queues: QueueTable
  readonly participants: readonly CheckpointParticipant[]
  /** Shown every record that is read. */
  readonly recordAppliers: readonly RecordApplier[]
  /** The last stop was clean, and ours. */
  readonly isClean: boolean
  /** Of the queues at the last checkpoint; `undefined` when it does not say. */
  readonly totals: QueueTotals | undefined
  /** Told of each published record found: that timer has fired. */
  readonly published: (timerId: number) => void
}

const REWRITE_BYTES = 1024 * 1024

/** Log offsets below which records need not be applied again: by queues, and by participants. */
export interface KnownOffsets {
  readonly queues: number
  readonly participants: number
}

/**
 * Brings queues and timers to agreement with the log: what they do not know is applied again.
 * Returns where the log ends.
 *
 * @throws BrokerError `STORE_DAMAGED` when the log ends before what the last checkpoint knew
 */
export async function recover(parts: RecoveryParts, asked: KnownOffsets): Promise<Recovered> {
  const { segments, platform } = parts
  if (scanStart(parts, asked) > segments.endOffset) {
    throw new BrokerError('STORE_DAMAGED', {
      directory: segments.directory,
      endOffset: segments.endOffset,
      queuesOffset: asked.queues,
      reason: 'the end of the commit log is missing: its queues know of more',
    })
  }
  tellOfMissingStart(parts)
  const known = await loadQueues(parts, asked)
  await completeQueues(parts, known)
  for (const queue of parts.queues.all()) await queue.trim(segments.firstOffset)
  const fromOffset = scanStart(parts, known)
  const visitor = new ApplyAgain(parts, known)
  const result = await scanLog(segments, fromOffset, {
    visitor,
    log: platform.log,
    recordBytesMax: RECORD_BYTES_MAX,
  })
  if (known !== asked) tellOfLost(parts, visitor.newUnitCount)
  const endOffset = Math.max(result.endOffset, atLeast(parts, asked, result.endOffset))
  if (!segments.isEmpty) await segments.cut(endOffset)
  if (!parts.isClean) await writeAgain(parts, fromOffset, endOffset)
  return { ...result, endOffset, fromOffset }
}

/** What a recovery has found, and from where on it has read the log. */
export interface Recovered extends ScanResult {
  readonly fromOffset: number
}

/**
 * Finds what the queues' files know. When they hold less than the last checkpoint knew, some are
 * missing, and which is not known: then all are built again from the first record of the log.
 */
async function loadQueues(parts: RecoveryParts, known: KnownOffsets): Promise<KnownOffsets> {
  const { segments, queues, totals } = parts
  await loadUnits(parts, known.queues, parts.isClean)
  if (totals === undefined) return known
  const found = totalsOf(queues.all(), segments.firstOffset)
  if (!lacks(found, totals)) return known
  parts.platform.log.warn(
    'files of queues are missing, or what was in them; all queues are built again from the log',
    {
      directory: queues.directory,
      queues: found.queueCount,
      expectedQueues: totals.queueCount,
      units: found.unitCount - found.firstUnitCount,
      expectedUnits: totals.unitCount - totals.firstUnitCount,
      fromOffset: segments.firstOffset,
    },
  )
  await loadUnits(parts, segments.firstOffset, false)
  return { queues: segments.firstOffset, participants: known.participants }
}

async function loadUnits(
  parts: RecoveryParts,
  commitLogEnd: number,
  isClean: boolean,
): Promise<void> {
  for (const queue of parts.queues.all()) {
    await queue.load({
      commitLogMin: parts.segments.firstOffset,
      commitLogEnd,
      isClean,
      log: parts.platform.log,
      recordAt: (unit, candidate, queueOffset) =>
        recordAt(parts, unit, { queue: candidate, queueOffset }),
    })
  }
}

/** After a clean stop the log begins where it began then; else retention may have been at work. */
function tellOfMissingStart(parts: RecoveryParts): void {
  const { segments, totals } = parts
  if (!parts.isClean || totals === undefined || segments.isEmpty) return
  const { logMinOffset } = totals
  if (logMinOffset >= segments.firstOffset) return
  parts.platform.log.error('the beginning of the commit log is missing', undefined, {
    file: segments.pathOf(segments.baseOf(logMinOffset)),
    fromOffset: logMinOffset,
    toOffset: segments.firstOffset,
  })
}

/** After all queues were built again: what the log no longer has is lost to them. */
function tellOfLost(parts: RecoveryParts, newUnitCount: number): void {
  const { totals, queues, segments } = parts
  const { queueCount, unitCount } = totalsOf(queues.all(), segments.firstOffset)
  if (totals === undefined || unitCount - newUnitCount >= totals.unitCount) return
  parts.platform.log.error(
    'queues are not what they were: the log no longer has what was in them; they begin anew',
    undefined,
    {
      directory: queues.directory,
      queues: queueCount,
      expectedQueues: totals.queueCount,
      missingUnits: totals.unitCount - (unitCount - newUnitCount),
    },
  )
}

/** The log was there up to the last checkpoint: what is damaged at its end is not written over. */
function atLeast(parts: RecoveryParts, known: KnownOffsets, endOffset: number): number {
  const { segments } = parts
  if (endOffset >= known.participants || segments.isEmpty) return endOffset
  parts.platform.log.error('the end of the commit log is damaged', undefined, {
    file: segments.pathOf(segments.baseOf(endOffset)),
    fromOffset: endOffset,
    toOffset: known.participants,
  })
  return known.participants
}

/**
 * Gives queues whose end went bad after a clean stop their units back: no checkpoint covers them,
 * so the whole log is read. Without it new messages would get numbers that others have.
 */
async function completeQueues(parts: RecoveryParts, known: KnownOffsets): Promise<void> {
  const { segments, queues, platform } = parts
  if (![...queues.all()].some(queue => queue.isCutOff)) return
  // Nothing of it is news to the participants.
  const old = { ...known, participants: Infinity }
  await scanLog(segments, segments.firstOffset, {
    visitor: new ApplyAgain(
      parts,
      old,
      ({ queue, queueOffset, commitLogOffset }) =>
        commitLogOffset < known.queues && queue.isCutOff && queueOffset >= queue.nextOffset,
    ),
    log: platform.log,
    recordBytesMax: RECORD_BYTES_MAX,
  })
}

/**
 * Writes the newest part of the log again where it is. When a sync had failed, the system takes
 * what it could not write for clean: it can be read, no later sync writes it, and a power cut takes
 * it. Only the part that was not synced by then can be like that; it fits the log's memory.
 */
async function writeAgain(parts: RecoveryParts, from: number, end: number): Promise<void> {
  const { segments, options } = parts
  let offset = Math.max(from, end - options.cacheBytes)
  const block = Buffer.allocUnsafeSlow(Math.max(0, Math.min(REWRITE_BYTES, end - offset)))
  while (offset < end) {
    const got = await segments.read(block.subarray(0, Math.min(block.length, end - offset)), offset)
    if (got === 0) break
    await segments.writeAcross(block.subarray(0, got), offset)
    offset += got
  }
  await segments.sync()
}

/** Where the log is read from: what everybody knows, and what the log no longer has, lies below. */
export function scanStart(parts: RecoveryParts, known: KnownOffsets): number {
  return Math.max(Math.min(known.queues, known.participants), parts.segments.firstOffset)
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

async function recordAt(
  parts: RecoveryParts,
  unit: UnitBlock,
  place: { queue: ConsumeQueue; queueOffset: number },
): Promise<RecordAt> {
  const commitLogOffset = unit.commitLogOffset(0)
  const head = Buffer.alloc(4)
  if ((await parts.segments.read(head, commitLogOffset)) < head.length) return 'other'
  const size = recordSize(head, 0)
  if (size === 0) return (await isZeroed(parts, unit)) ? 'damaged' : 'other'
  if (size <= 0 || size > RECORD_BYTES_MAX) return 'other'
  const record = Buffer.alloc(size)
  const got = await parts.segments.read(record, commitLogOffset)
  if (checkRecord(record, 0, got).kind !== 'record') return 'damaged'
  const isOwn =
    recordTopic(record, 0) === place.queue.topic &&
    recordQueueId(record, 0) === place.queue.queueId &&
    recordQueueOffset(record, 0) === place.queueOffset
  return isOwn ? 'own' : 'other'
}

/** Where the log was filled with zeros the unit may be right: its number must not be given again. */
async function isZeroed(parts: RecoveryParts, unit: UnitBlock): Promise<boolean> {
  const from = unit.commitLogOffset(0)
  const size = unit.size(0)
  return size <= RECORD_BYTES_MAX && isZeroBetween(parts.segments, from, from + size)
}

/** Whether a record needs a unit, or its queue has it. */
type NeedsUnit = (record: Readonly<AppliedRecord>) => boolean

/** Applies each record as it was applied when it was new, and notes what has fired. */
class ApplyAgain {
  /** Units made of records that are behind the last checkpoint. */
  newUnitCount = 0
  readonly #parts: RecoveryParts
  readonly #known: KnownOffsets
  readonly #needsUnit: NeedsUnit
  #record: AppliedRecord | undefined
  #hasUnwritten = false
  #hasDamage = false

  constructor(parts: RecoveryParts, known: KnownOffsets, needsUnit?: NeedsUnit) {
    this.#parts = parts
    this.#known = known
    this.#needsUnit = needsUnit ?? (record => record.commitLogOffset >= known.queues)
  }

  record(source: Buffer, position: number, commitLogOffset: number): void {
    if (hasNoUnit(recordSysFlag(source, position))) return
    const isNew = commitLogOffset >= this.#known.participants
    const properties = recordProperties(source, position)
    if (isNew) this.#notePublished(properties)
    const queueId = recordQueueId(source, position)
    if (queueId < 0 || queueId > QUEUE_ID_MAX) return
    const queue = this.#parts.queues.get(recordTopic(source, position), queueId)
    this.#record ??= emptyAppliedRecord(queue)
    const record = this.#record
    record.queue = queue
    record.commitLogOffset = commitLogOffset
    record.sizeBytes = recordSize(source, position)
    record.queueOffset = recordQueueOffset(source, position)
    record.source = source
    record.position = position
    record.tagsCode =
      queue.applier?.tagsCodeOf(source, position) ??
      tagsCodeOf(findProperty(properties, PROPERTY.TAGS))
    if (this.#needsUnit(record)) this.#index(record)
    if (isNew) queue.applier?.apply(record)
    for (const applier of this.#parts.recordAppliers) applier.apply(record)
  }

  /** Gives the record its unit. */
  #index(record: AppliedRecord): void {
    const { queue, queueOffset, commitLogOffset } = record
    if (queueOffset < queue.nextOffset) {
      // All of its units belong to older records, so those from here on cannot be true.
      this.#parts.platform.log.warn('a queue is taken back to where the log says it was', {
        topic: queue.topic,
        queueId: queue.queueId,
        fromOffset: queueOffset,
        toOffset: queue.nextOffset,
      })
      queue.rewind(queueOffset)
    }
    if (queueOffset > queue.nextOffset) this.#passGap(queue, record)
    queue.appendUnit(commitLogOffset, record.sizeBytes, record.tagsCode)
    queue.nextOffset = queueOffset + 1
    if (commitLogOffset >= this.#known.participants) this.newUnitCount++
  }

  passedOver(isUnwritten: boolean): void {
    if (isUnwritten) this.#hasUnwritten = true
    else this.#hasDamage = true
  }

  async blockDone(): Promise<void> {
    await this.#parts.queues.writeLongTails(this.#parts.platform.log)
    for (const participant of this.#parts.participants) await participant.relieve?.()
  }

  #notePublished(properties: string): void {
    const timerId = findProperty(properties, PROPERTY.ORRERY_TIMER_ID)
    if (timerId !== undefined && /^\d{1,15}$/.test(timerId)) this.#parts.published(Number(timerId))
  }

  /** Messages of this queue are missing: from a damaged range, or before the log's first record. */
  #passGap(queue: ConsumeQueue, record: AppliedRecord): void {
    const { queueOffset, commitLogOffset } = record
    if (queue.maxOffset === 0) {
      queue.startAt(queueOffset)
      return
    }
    const gap = {
      topic: queue.topic,
      queueId: queue.queueId,
      fromOffset: queue.nextOffset,
      toOffset: queueOffset,
    }
    if (queueOffset - queue.nextOffset > GAP_UNITS_MAX) throw new BrokerError('STORE_DAMAGED', gap)
    const { log } = this.#parts.platform
    if (this.#hasUnwritten && !this.#hasDamage) {
      log.warn('a queue has numbers whose messages were never written to the log', gap)
    } else log.error('messages of a queue are missing in the log', undefined, gap)
    while (queue.nextOffset < queueOffset) queue.appendPadding(commitLogOffset)
  }
}

/** Apache's half and rolled back messages have no place in a queue, though they name one. */
function hasNoUnit(sysFlag: number): boolean {
  const kind = sysFlag & SYS_FLAG.TRANSACTION_MASK
  return kind === SYS_FLAG.TRANSACTION_PREPARED || kind === SYS_FLAG.TRANSACTION_ROLLBACK
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
