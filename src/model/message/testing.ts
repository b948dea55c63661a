/** Builds records, for tests of this and other modules. */
import { BrokerError, type ErrorCode } from '../../core/base/index.ts'
import { encodeHost } from './host.ts'
import { type RecordDraft, recordSizeMax, sealRecord, writeRecord } from './record.ts'

interface Stamps {
  readonly queueOffset: number
  readonly commitLogOffset: number
  readonly storeTimeMs: number
}

const STAMPS: Stamps = {
  queueOffset: 7,
  commitLogOffset: 12_345,
  storeTimeMs: 1_700_000_000_005,
}

/** The record of the examples in docs/formats/commit-log.md, with changes. */
export function draftOf(changes: Partial<RecordDraft>): RecordDraft {
  return {
    topic: Buffer.from('TopicTest'),
    queueId: 1,
    flag: 0,
    sysFlag: 0,
    bornTimeMs: 1_700_000_000_000,
    bornHost: encodeHost('192.168.1.9', 50_000),
    storeHost: encodeHost('192.168.1.2', 10_911),
    reconsumeTimes: 0,
    preparedTransactionOffset: 0,
    body: Buffer.from('hello'),
    bodyStart: 0,
    bodyEnd: 5,
    properties: 'KEYS\u0001k1\u0002TAGS\u0001TagA\u0002',
    ...changes,
  }
}

/** Written into a dirty buffer, as the log's buffer is. */
export function sealedRecord(changes: Partial<RecordDraft>, stamps: Stamps = STAMPS): Buffer {
  const draft = draftOf(changes)
  const target = Buffer.alloc(recordSizeMax(draft), 0xa5)
  const size = writeRecord(target, 0, draft)
  sealRecord(target, 0, size, stamps.queueOffset, stamps.commitLogOffset, stamps.storeTimeMs)
  return target.subarray(0, size)
}

/** The code of the BrokerError that `action` throws; undefined when it throws none. */
export function codeOf(action: () => unknown): ErrorCode | undefined {
  try {
    action()
    return undefined
  } catch (error) {
    if (error instanceof BrokerError) return error.code
    throw error
  }
}
