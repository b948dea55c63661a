import { BrokerError } from '../../core/base/index.ts'
import type { Files, Log } from '../../core/platform/index.ts'
import { RECORD_SIZE_MIN_BYTES, recordSize } from '../../model/message/index.ts'
import type { SegmentFiles } from './segment-files.ts'

/** A record ends with its topic and properties, which is text. */
const TAIL_BYTES = 16
const BLOCK_BYTES = 1024 * 1024
const HEAD_BYTES = 8

interface LogParts {
  readonly files: Files
  readonly segments: SegmentFiles
  readonly log: Log
}

/**
 * Looks whether the log is there up to `endOffset`, as the last checkpoint says, with a few small
 * reads: the files and their lengths, the first bytes of each, and the last bytes of all. What is
 * missing is logged with file and range; the rest can be served. A record that is damaged in
 * between is found when it is read.
 *
 * @throws BrokerError `STORE_DAMAGED` when the last files are not there at all
 */
export async function checkLogPresence(parts: LogParts, endOffset: number): Promise<void> {
  const { segments } = parts
  if (endOffset <= segments.firstOffset) return
  if (endOffset > segments.endOffset) {
    throw new BrokerError('STORE_DAMAGED', {
      directory: segments.directory,
      endOffset: segments.endOffset,
      checkpointOffset: endOffset,
      reason: 'the end of the commit log is missing',
      hint: 'put its last files back from a copy of the folder',
    })
  }
  for (const base of segments.bases) {
    if (base >= endOffset) break
    const end = Math.min(endOffset, base + segments.segmentBytes)
    await checkSegment(parts, { base, end, isCheckpoint: end === endOffset })
  }
}

async function checkSegment(
  parts: LogParts,
  range: { readonly base: number; readonly end: number; readonly isCheckpoint: boolean },
): Promise<void> {
  const { segments } = parts
  const { base, end, isCheckpoint } = range
  const sizeBytes = (await parts.files.sizeOf(segments.pathOf(base))) ?? 0
  // A segment has its full length before anything is written to it.
  const missingFrom =
    sizeBytes < end - base
      ? base + sizeBytes
      : ((await zerosFromStart(segments, base, end)) ??
        (isCheckpoint ? await zerosAtEnd(segments, base, end) : undefined))
  if (missingFrom === undefined) return
  const isCutOff = sizeBytes < end - base
  parts.log.error('a part of the commit log is missing; the messages there are lost', undefined, {
    file: segments.pathOf(base),
    fromOffset: missingFrom,
    toOffset: isCutOff ? end : await zerosEnd(segments, missingFrom, end),
    reason: isCutOff ? 'the file was cut off' : 'filled with zeros',
  })
}

/** `base` when the segment begins with zeros. */
async function zerosFromStart(
  segments: SegmentFiles,
  base: number,
  end: number,
): Promise<number | undefined> {
  return (await isZeroBetween(segments, base, Math.min(end, base + HEAD_BYTES))) ? base : undefined
}

/** Where the zeros begin right before `endOffset`: there a record ends, unless a segment does. */
async function zerosAtEnd(
  segments: SegmentFiles,
  base: number,
  endOffset: number,
): Promise<number | undefined> {
  if (endOffset === base + segments.segmentBytes) return undefined
  const from = Math.max(base, endOffset - TAIL_BYTES)
  if (!(await isZeroBetween(segments, from, endOffset))) return undefined
  // Hardly a record's end, but one may be like that: so the records are counted off.
  const end = await recordsEnd(segments, base, endOffset)
  const isZero = end < endOffset && (await zerosEnd(segments, end, endOffset)) === endOffset
  return isZero ? end : undefined
}

/** Where in [from, to) the first record of size 0 begins, or `to`. Records lie end to end. */
async function recordsEnd(segments: SegmentFiles, from: number, to: number): Promise<number> {
  const block = Buffer.allocUnsafeSlow(Math.min(BLOCK_BYTES, to - from))
  let at = from
  while (at < to) {
    const got = await segments.read(block.subarray(0, Math.min(block.length, to - at)), at)
    let position = 0
    while (position + 4 <= got) {
      const size = recordSize(block, position)
      if (size === 0) return at + position
      // Damage of another kind: it is found when it is read.
      if (size < RECORD_SIZE_MIN_BYTES) return to
      position += size
    }
    if (position === 0) return to
    at += position
  }
  return to
}

/** First offset of a block in [from, end) that is not all zeros, or `end`. */
async function zerosEnd(segments: SegmentFiles, from: number, end: number): Promise<number> {
  let at = from
  while (at < end && (await isZeroBetween(segments, at, Math.min(end, at + BLOCK_BYTES)))) {
    at = Math.min(end, at + BLOCK_BYTES)
  }
  return at
}

/** Whether all bytes in [from, to) can be read and are zero. */
export async function isZeroBetween(
  segments: SegmentFiles,
  from: number,
  to: number,
): Promise<boolean> {
  const bytes = Buffer.alloc(to - from)
  const got = await segments.read(bytes, from)
  return got === bytes.length && bytes.every(byte => byte === 0)
}
