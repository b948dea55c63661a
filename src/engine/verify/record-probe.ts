import { readInt64Loose } from '../../core/base/index.ts'
import {
  checkRecord,
  RECORD_COMMIT_LOG_OFFSET,
  RECORD_SIZE_MIN_BYTES,
  recordSize,
  recordStoreTimeMs,
} from '../../model/message/index.ts'
import { RECORD_BYTES_MAX } from '../store/index.ts'
import type { EntryReader } from './entry-reader.ts'
import type { SegmentReader } from './segment-reader.ts'

const SIZE_BYTES = 4

/** Looks up in the log whether an item that was not expected is one of a record. */
export class RecordProbe {
  readonly #log: SegmentReader
  readonly #entries: EntryReader

  constructor(log: SegmentReader, entries: EntryReader) {
    this.#log = log
    this.#entries = entries
  }

  /** Store time of the whole record at `offset` that is found by `keyHash`. */
  async storeTimeOf(keyHash: number, offset: number): Promise<number | undefined> {
    const log = this.#log
    if (offset < log.firstOffset || offset >= log.endOffset) return undefined
    const rest = log.baseOf(offset) + log.segmentBytes - offset
    if (rest < RECORD_SIZE_MIN_BYTES) return undefined
    const head = Buffer.alloc(SIZE_BYTES)
    await log.read(head, offset)
    const size = recordSize(head, 0)
    if (size < RECORD_SIZE_MIN_BYTES || size > Math.min(rest, RECORD_BYTES_MAX)) return undefined
    const record = Buffer.allocUnsafe(size)
    await log.read(record, offset)
    if (checkRecord(record, 0, size).kind !== 'record') return undefined
    if (readInt64Loose(record, RECORD_COMMIT_LOG_OFFSET) !== offset) return undefined
    this.#entries.read(record, 0)
    const { hashes } = this.#entries
    for (let index = 0; index < hashes.count; index++) {
      if (hashes.at(index) === keyHash) return recordStoreTimeMs(record, 0)
    }
    return undefined
  }
}
