import { BrokerError } from '../../core/base/index.ts'
import { forEachBatchItem, tagsCodeOf } from '../../model/message/index.ts'
import { checkLate, checkSupported } from './accepted-properties.ts'
import { keyInvalid } from './keyed-draft.ts'
import type { PropertyScan } from './property-scan.ts'
import type { PutRequest } from './put-request.ts'

/** Most messages in a batch: what one request can ask for must be done in one go. */
const MESSAGE_COUNT_MAX = 50_000

/** What a record has beside body and properties: fixed fields, hosts, topic, checksum. */
const RECORD_OVERHEAD_BYTES = 400
/** The log asks for twice the room that a record takes at its worst: properties of 3 bytes each. */
const MARGIN_BYTES = 262_144

/** The messages of a batch, as columns; filled again for every batch. */
export interface BatchParts {
  readonly flags: number[]
  readonly bodyStarts: number[]
  readonly bodyEnds: number[]
  readonly properties: string[]
  readonly tagsCodes: number[]
}

/**
 * Checks all messages of a batch and takes them apart. `complete` makes the properties that are
 * stored out of those that were sent, which `scan` has read; what it throws refuses the batch.
 *
 * Errors: MESSAGE_INVALID, NOT_SUPPORTED, those of `checkLate`.
 */
export function collectBatch(
  request: PutRequest,
  parts: BatchParts,
  scan: PropertyScan,
  complete: (properties: string) => string,
): void {
  clear(parts)
  checkPlain(scan, request.properties)
  forEachBatchItem(request.body, request.bodyStart, request.bodyEnd, item => {
    if (parts.flags.length === MESSAGE_COUNT_MAX) {
      throw new BrokerError('MESSAGE_INVALID', {
        problem: 'the batch holds too many messages',
        messageCountMax: MESSAGE_COUNT_MAX,
      })
    }
    checkPlain(scan, item.properties)
    parts.flags.push(item.flag)
    parts.bodyStarts.push(item.bodyStart)
    parts.bodyEnds.push(item.bodyEnd)
    parts.tagsCodes.push(tagsCodeOf(scan.tags))
    parts.properties.push(complete(item.properties))
  })
}

/** Room in the log that the messages of a batch need, somewhat more than they take. */
export function batchRecordBytes(parts: BatchParts): number {
  let sizeBytes = 0
  let largestBytes = 0
  for (const [index, properties] of parts.properties.entries()) {
    const bodyBytes = (parts.bodyEnds[index] ?? 0) - (parts.bodyStarts[index] ?? 0)
    const recordBytes = RECORD_OVERHEAD_BYTES + bodyBytes + Buffer.byteLength(properties)
    sizeBytes += recordBytes
    largestBytes = Math.max(largestBytes, recordBytes)
  }
  return sizeBytes + largestBytes + MARGIN_BYTES
}

function clear(parts: BatchParts): void {
  parts.flags.length = 0
  parts.bodyStarts.length = 0
  parts.bodyEnds.length = 0
  parts.properties.length = 0
  parts.tagsCodes.length = 0
}

function checkPlain(scan: PropertyScan, properties: string): void {
  scan.read(properties)
  checkSupported(scan)
  if (scan.ownKey !== undefined) throw keyInvalid('a message of a batch has none')
  checkLate(scan)
  if (!scan.hasDelay) return
  throw new BrokerError('MESSAGE_INVALID', {
    problem: 'a message of a batch cannot have a delay; send it by itself',
  })
}
