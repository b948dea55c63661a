import type { CommitLog } from './commit-log.ts'
import { type ConsumeQueue, PADDING_SIZE, type UnitBlock } from './consume-queue.ts'

export interface QueueReadRequest {
  /** From the queue's `minOffset` to its `maxOffset`. */
  readonly fromOffset: number
  readonly countMax: number
  /** At least one message is returned whatever its size. */
  readonly bytesMax: number
  /** Which messages are wanted, by tags code; `undefined`: all. */
  readonly accepts: ((tagsCode: number) => boolean) | undefined
}

export interface QueueRead {
  /** The records one after the other; nobody changes them any more. */
  readonly bytes: Buffer
  readonly count: number
  /** Behind the last unit that was looked at; where to go on. */
  readonly nextOffset: number
  /** True when a record was not in the log any more: the read ended before it. */
  readonly removed: boolean
}

/** As Apache: a read looks at no more units than this, so that a rare tag holds up nobody. */
const UNITS_SCANNED_MAX = 800
/** Records nearer to each other than this are read from disk together. */
const GAP_BYTES_MAX = 16 * 1024
const RUN_BYTES_MAX = 1024 * 1024

/** Units that a read has chosen, and how far it has looked. */
class Selection {
  readonly offsets: number[] = []
  readonly sizes: number[] = []
  /** Of each, its place in the queue. */
  readonly queueOffsets: number[] = []
  bytes = 0
  nextOffset: number

  constructor(fromOffset: number) {
    this.nextOffset = fromOffset
  }

  /** Returns false when the read is full. */
  consider(
    unit: { offset: number; size: number; tagsCode: number },
    request: QueueReadRequest,
  ): boolean {
    const isWanted =
      unit.size !== PADDING_SIZE &&
      (request.accepts === undefined || request.accepts(unit.tagsCode))
    if (!isWanted) {
      this.nextOffset++
      return true
    }
    if (this.offsets.length >= request.countMax) return false
    if (this.offsets.length > 0 && this.bytes + unit.size > request.bytesMax) return false
    this.offsets.push(unit.offset)
    this.sizes.push(unit.size)
    this.queueOffsets.push(this.nextOffset)
    this.bytes += unit.size
    this.nextOffset++
    return true
  }
}

/**
 * Reads consecutive messages of a queue: at once when units and records are in memory (what has
 * just arrived), else from disk.
 */
export function readQueue(
  log: CommitLog,
  queue: ConsumeQueue,
  request: QueueReadRequest,
): QueueRead | Promise<QueueRead> {
  if (!queue.isInTail(request.fromOffset)) return readFromDisk(log, queue, request)
  const selection = selectFromTail(queue, request)
  const isInMemory = selection.offsets.every(offset => log.isInMemory(offset))
  if (!isInMemory) return readRecords(log, selection)
  const bytes = Buffer.allocUnsafe(selection.bytes)
  let position = 0
  for (const [index, offset] of selection.offsets.entries()) {
    const size = selection.sizes[index] ?? 0
    const start = log.memoryPosition(offset)
    log.memory.copy(bytes, position, start, start + size)
    position += size
  }
  return {
    bytes,
    count: selection.offsets.length,
    nextOffset: selection.nextOffset,
    removed: false,
  }
}

function selectFromTail(queue: ConsumeQueue, request: QueueReadRequest): Selection {
  const selection = new Selection(request.fromOffset)
  const end = Math.min(queue.maxOffset, request.fromOffset + UNITS_SCANNED_MAX)
  for (let offset = request.fromOffset; offset < end; offset++) {
    const unit = {
      offset: queue.tailCommitLogOffset(offset),
      size: queue.tailSize(offset),
      tagsCode: queue.tailTagsCode(offset),
    }
    if (!selection.consider(unit, request)) break
  }
  return selection
}

async function readFromDisk(
  log: CommitLog,
  queue: ConsumeQueue,
  request: QueueReadRequest,
): Promise<QueueRead> {
  const countMax = request.accepts === undefined ? request.countMax : UNITS_SCANNED_MAX
  const units = await queue.readUnits(request.fromOffset, countMax)
  return readRecords(log, selectFromBlock(units, request))
}

function selectFromBlock(units: UnitBlock, request: QueueReadRequest): Selection {
  const selection = new Selection(request.fromOffset)
  for (let index = 0; index < units.count; index++) {
    const unit = {
      offset: units.commitLogOffset(index),
      size: units.size(index),
      tagsCode: units.tagsCode(index),
    }
    if (!selection.consider(unit, request)) break
  }
  return selection
}

/** Reads the chosen records, neighbours together. */
async function readRecords(log: CommitLog, selection: Selection): Promise<QueueRead> {
  const { offsets, sizes } = selection
  const bytes = Buffer.allocUnsafe(selection.bytes)
  let position = 0
  let index = 0
  while (index < offsets.length) {
    const runEnd = endOfRun(offsets, sizes, index)
    const start = offsets[index] ?? 0
    const end = (offsets[runEnd - 1] ?? 0) + (sizes[runEnd - 1] ?? 0)
    const run = Buffer.allocUnsafe(end - start)
    const got = start >= log.minOffset ? await log.read(run, start) : 0
    if (got < run.length) return shortened(selection, bytes, { position, count: index })
    for (; index < runEnd; index++) {
      const size = sizes[index] ?? 0
      const from = (offsets[index] ?? 0) - start
      run.copy(bytes, position, from, from + size)
      position += size
    }
  }
  return { bytes, count: offsets.length, nextOffset: selection.nextOffset, removed: false }
}

function endOfRun(offsets: readonly number[], sizes: readonly number[], from: number): number {
  const start = offsets[from] ?? 0
  let end = start + (sizes[from] ?? 0)
  let index = from + 1
  while (index < offsets.length) {
    const next = offsets[index] ?? 0
    const nextEnd = next + (sizes[index] ?? 0)
    const isNear = next >= end && next - end <= GAP_BYTES_MAX
    if (!isNear || nextEnd - start > RUN_BYTES_MAX) break
    end = nextEnd
    index++
  }
  return index
}

/** Ends before the record that is gone; what lies behind it may still be there. */
function shortened(
  selection: Selection,
  bytes: Buffer,
  read: { position: number; count: number },
): QueueRead {
  const goneOffset = selection.queueOffsets[read.count] ?? selection.nextOffset
  return {
    bytes: bytes.subarray(0, read.position),
    count: read.count,
    nextOffset: read.count === 0 ? goneOffset + 1 : goneOffset,
    removed: true,
  }
}
