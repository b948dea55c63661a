import { checkRecord, recordCommitLogOffset } from '../../model/message/index.ts'
import type { CommitLog } from './commit-log.ts'
import { type ConsumeQueue, PADDING_SIZE } from './consume-queue.ts'
import { RECORD_BYTES_MAX } from './record-limit.ts'

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
  /** True when a record was not in the log any more, or not whole: the read ended before it. */
  readonly removed: boolean
}

/** As Apache: a read looks at no more units than this, so that a rare tag holds up nobody. */
const UNITS_SCANNED_MAX = 800
/** Records nearer to each other than this are read from disk together. */
const GAP_BYTES_MAX = 16 * 1024
const RUN_BYTES_MAX = 1024 * 1024
/** Reads of more bytes share one budget: only messages that are larger than a pull make them. */
const LARGE_READ_BYTES = 256 * 1024

/** Units as a block that was read, or the queue's tail, gives them. */
interface UnitColumns {
  commitLogOffset(index: number): number
  size(index: number): number
  tagsCode(index: number): number
}

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

  /** Looks at the next unit; returns false when the read is full. */
  consider(unit: UnitColumns, index: number, request: QueueReadRequest): boolean {
    const size = unit.size(index)
    const isWanted =
      size !== PADDING_SIZE &&
      (request.accepts === undefined || request.accepts(unit.tagsCode(index)))
    if (isWanted) {
      if (this.offsets.length >= request.countMax) return false
      // A size that no record has ends the read there, whatever it claims.
      const sizeBytes = size > 0 && size <= RECORD_BYTES_MAX ? size : 0
      if (this.offsets.length > 0 && this.bytes + sizeBytes > request.bytesMax) return false
      this.offsets.push(unit.commitLogOffset(index))
      this.sizes.push(sizeBytes)
      this.queueOffsets.push(this.nextOffset)
      this.bytes += sizeBytes
    }
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
  const selection = new Selection(request.fromOffset)
  selectFromTail(queue, request, selection)
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

function selectFromTail(
  queue: ConsumeQueue,
  request: QueueReadRequest,
  selection: Selection,
): void {
  const tail = queue.tail
  const end = Math.min(queue.maxOffset, request.fromOffset + UNITS_SCANNED_MAX)
  for (let offset = request.fromOffset; offset < end; offset++) {
    if (!selection.consider(tail, offset, request)) break
  }
}

async function readFromDisk(
  log: CommitLog,
  queue: ConsumeQueue,
  request: QueueReadRequest,
): Promise<QueueRead> {
  const isSelective = request.accepts !== undefined
  const countMax = isSelective ? UNITS_SCANNED_MAX : Math.min(request.countMax, UNITS_SCANNED_MAX)
  const units = await queue.readUnits(request.fromOffset, countMax)
  const selection = new Selection(request.fromOffset)
  for (let index = 0; index < units.count; index++) {
    if (!selection.consider(units, index, request)) break
  }
  return readRecords(log, selection)
}

function readRecords(log: CommitLog, selection: Selection): Promise<QueueRead> {
  if (selection.bytes <= LARGE_READ_BYTES) return readRuns(log, selection)
  return log.largeReads.run(selection.bytes, () => readRuns(log, selection))
}

/** Reads the chosen records, neighbours together. */
async function readRuns(log: CommitLog, selection: Selection): Promise<QueueRead> {
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
    for (; index < runEnd; index++) {
      const size = sizes[index] ?? 0
      const from = (offsets[index] ?? 0) - start
      const isThere = from + size <= got && isRecordAt(run, from, { size, start })
      if (!isThere) {
        const offset = start + from
        if (offset >= log.minOffset) log.reportUnreadable(offset, size)
        return shortened(selection, bytes, { position, count: index })
      }
      run.copy(bytes, position, from, from + size)
      position += size
    }
  }
  return { bytes, count: offsets.length, nextOffset: selection.nextOffset, removed: false }
}

/** Whether the record that the unit names lies at `position` of what was read from `start` on. */
function isRecordAt(run: Buffer, position: number, unit: { size: number; start: number }): boolean {
  const check = checkRecord(run, position, position + unit.size)
  return (
    check.kind === 'record' &&
    check.size === unit.size &&
    recordCommitLogOffset(run, position) === unit.start + position
  )
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
