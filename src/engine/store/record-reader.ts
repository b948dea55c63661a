import { checkRecord, recordCommitLogOffset, recordSize } from '../../model/message/index.ts'
import type { CommitLog } from './commit-log.ts'
import { RECORD_BYTES_MAX } from './record-limit.ts'

const SIZE_BYTES = 4

/** A copy of the record that begins at `commitLogOffset`; `undefined` when none is whole there. */
export async function readRecord(
  log: CommitLog,
  commitLogOffset: number,
): Promise<Buffer | undefined> {
  const head = Buffer.alloc(SIZE_BYTES)
  if ((await log.read(head, commitLogOffset)) < head.length) return undefined
  const size = recordSize(head, 0)
  if (size <= 0 || size > RECORD_BYTES_MAX) return undefined
  const record = Buffer.alloc(size)
  const got = await log.read(record, commitLogOffset)
  if (checkRecord(record, 0, got).kind !== 'record') return undefined
  return recordCommitLogOffset(record, 0) === commitLogOffset ? record : undefined
}
