import type { Log } from '../../core/platform/index.ts'
import type { Chunk } from './chunk.ts'
import {
  checkTimerRecord,
  isMarkSound,
  looksLikeTimerHeader,
  TIMER_HEADER_BYTES,
  timerMarkPosition,
  timerRecordStart,
} from './timer-record.ts'

/** Where a whole record lies in a block that was read. */
export interface ChunkVisitor {
  /** `source` holds a checked timer record of `size` bytes at `position`. */
  record(source: Buffer, position: number, size: number): void
  /** Called in the same step, behind the last whole record that was read. */
  end?(position: number): void
}

/**
 * Reads up to `bytesMax` of a chunk from `position` on, and at least one record. Returns the
 * position behind the last whole record. Damage is reported with file and range, and the reading
 * goes on at the next message.
 */
export async function readChunk(
  chunk: Chunk,
  range: { readonly position: number; readonly bytesMax: number },
  parts: { readonly visitor: ChunkVisitor; readonly log: Log },
): Promise<number> {
  const end = chunk.sizeBytes
  let length = Math.min(range.bytesMax, end - range.position)
  for (;;) {
    const block = Buffer.allocUnsafeSlow(length)
    await chunk.file.read(block, range.position)
    const outcome = visitBlock(chunk, { block, start: range.position }, parts)
    if (outcome.kind === 'done') {
      parts.visitor.end?.(outcome.position)
      return outcome.position
    }
    // One record larger than the block: read it whole.
    length = Math.min(outcome.needsBytes, end - range.position)
  }
}

type BlockOutcome =
  | { readonly kind: 'done'; readonly position: number }
  | { readonly kind: 'too-small'; readonly needsBytes: number }

function visitBlock(
  chunk: Chunk,
  at: { readonly block: Buffer; readonly start: number },
  parts: { readonly visitor: ChunkVisitor; readonly log: Log },
): BlockOutcome {
  const { block, start } = at
  const isLast = start + block.length === chunk.sizeBytes
  let position = 0
  while (position < block.length) {
    const check = checkTimerRecord(block, position, block.length)
    if (check.kind === 'record') {
      if (!isMarkSound(block, position)) reportMark(chunk, start + position, parts.log)
      parts.visitor.record(block, position, check.size)
      position += check.size
      continue
    }
    if (check.kind === 'cut' && !isLast) {
      if (position > 0) break
      return { kind: 'too-small', needsBytes: check.needsBytes }
    }
    const size = check.kind === 'damaged' ? check.size : undefined
    const next = size === undefined ? nextHeader(block, position + 1, isLast) : position + size
    parts.log.error('waiting messages are damaged; the range was passed over', undefined, {
      file: chunk.file.path,
      fromPosition: start + position,
      toPosition: start + next,
      reason: check.kind === 'damaged' ? check.reason : 'the file ends inside a record',
    })
    position = next
  }
  return { kind: 'done', position: start + position }
}

function reportMark(chunk: Chunk, position: number, log: Log): void {
  log.error('the mark of a waiting message is damaged; the message is served', undefined, {
    file: chunk.file.path,
    fromPosition: timerMarkPosition(position),
    toPosition: timerRecordStart(position),
  })
}

/**
 * Where a message begins, from `position` on; the end of the block when it has none. Of the last
 * bytes, in which a header may begin, the next block tells.
 */
export function nextHeader(block: Buffer, position: number, isLast: boolean): number {
  const end = block.length - TIMER_HEADER_BYTES + 1
  for (let next = position; next < end; next++) {
    if (!looksLikeTimerHeader(block, next)) continue
    const check = checkTimerRecord(block, next, block.length)
    if (check.kind === 'record' || (check.kind === 'cut' && !isLast)) return next
  }
  return isLast ? block.length : Math.max(position, end)
}
