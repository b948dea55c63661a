import type { ManifestFields } from '../store/index.ts'

/** What the manifest says of a chunk. */
export interface ChunkSection {
  readonly number: number
  readonly sizeBytes: number
  readonly count: number
  readonly dueMinMs: number
  readonly dueMaxMs: number
  /** Everything before this position has been delivered, or moved on by a split. */
  readonly doneBytes: number
  /** How many messages that were. */
  readonly doneCount: number
  /** Messages behind that position that are marked as cancelled or moved. */
  readonly removedCount: number
  /** Bytes of accept records of marked messages: what a rewriting would free. 0 in an older build. */
  readonly removedBytes: number
  /** Least timer id; 0 when it is not known, in a chunk of an older build. */
  readonly timerIdMin: number
}

/** Errors: STORE_DAMAGED. */
export function chunkSectionOf(fields: ManifestFields): ChunkSection {
  return {
    number: fields.count('number'),
    sizeBytes: fields.count('sizeBytes'),
    count: fields.count('count'),
    dueMinMs: fields.timeMs('dueMinMs'),
    dueMaxMs: fields.timeMs('dueMaxMs'),
    doneBytes: fields.count('doneBytes'),
    doneCount: fields.count('doneCount'),
    removedCount: fields.count('removedCount'),
    removedBytes: fields.has('removedBytes') ? fields.count('removedBytes') : 0,
    timerIdMin: fields.has('timerIdMin') ? fields.count('timerIdMin') : 0,
  }
}
