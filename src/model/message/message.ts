import { BrokerError } from '../../core/base/index.ts'
import type { Host } from './host.ts'
import { offsetMessageId, storeHostHex } from './message-id.ts'
import { parseProperties } from './properties.ts'
import { bodyDamage, layoutDamage } from './record-check.ts'
import * as fields from './record-fields.ts'

/** A stored message, decoded. For clients, tools and tests; too costly for the broker's own path. */
export interface Message {
  /** The id by place: where it is stored. What users call its id is the property UNIQ_KEY. */
  readonly offsetMessageId: string
  readonly topic: string
  readonly queueId: number
  readonly queueOffset: number
  readonly commitLogOffset: number
  /** Of the whole record. */
  readonly sizeBytes: number
  readonly flag: number
  readonly sysFlag: number
  readonly bornTimeMs: number
  readonly bornHost: Host
  readonly storeTimeMs: number
  readonly storeHost: Host
  readonly reconsumeTimes: number
  readonly preparedTransactionOffset: number
  /** As stored: compressed when `sysFlag` says so. A view of the bytes that were decoded. */
  readonly body: Buffer
  /** Without the record's checksum. */
  readonly properties: ReadonlyMap<string, string>
}

/**
 * Decodes the record at `position`. Checks its sizes and the body's checksum, not that of the
 * record: a broker may send a message under another topic than it is stored.
 *
 * Errors: MESSAGE_INVALID.
 */
export function decodeRecord(source: Buffer, position: number): Message {
  const damage = layoutDamage(source, position, source.length) ?? bodyDamage(source, position)
  if (damage !== undefined) {
    throw new BrokerError('MESSAGE_INVALID', { problem: damage, position })
  }
  const commitLogOffset = fields.recordCommitLogOffset(source, position)
  const storeHost = fields.recordStoreHostBytes(source, position)
  const bodyStart = fields.recordBodyStart(source, position)
  return {
    offsetMessageId: offsetMessageId(storeHostHex(storeHost), commitLogOffset),
    topic: fields.recordTopic(source, position),
    queueId: fields.recordQueueId(source, position),
    queueOffset: fields.recordQueueOffset(source, position),
    commitLogOffset,
    sizeBytes: fields.recordSize(source, position),
    flag: fields.recordFlag(source, position),
    sysFlag: fields.recordSysFlag(source, position),
    bornTimeMs: fields.recordBornTimeMs(source, position),
    bornHost: fields.recordBornHost(source, position),
    storeTimeMs: fields.recordStoreTimeMs(source, position),
    storeHost: fields.recordStoreHost(source, position),
    reconsumeTimes: fields.recordReconsumeTimes(source, position),
    preparedTransactionOffset: fields.recordPreparedOffset(source, position),
    body: source.subarray(bodyStart, bodyStart + fields.recordBodySize(source, position)),
    properties: parseProperties(fields.recordProperties(source, position)),
  }
}

/**
 * Decodes records that lie one after the other and fill `source`: the body of a pull response.
 *
 * Errors: MESSAGE_INVALID.
 */
export function decodeRecords(source: Buffer): Message[] {
  const messages: Message[] = []
  let position = 0
  while (position < source.length) {
    const message = decodeRecord(source, position)
    messages.push(message)
    position += message.sizeBytes
  }
  return messages
}
