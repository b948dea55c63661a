import {
  findProperty,
  isAcceptQueue,
  PROPERTY,
  recordCommitLogOffset,
  recordProperties,
  recordQueueId,
  recordStoreTimeMs,
  recordTopic,
  TIMER_TOPIC,
} from '../../../model/message/index.ts'
import type { IndexPlace } from './index-batch.ts'
import { mayLieBetween } from './index-layout.ts'

/** What a search looks for. */
export interface MessageQuery {
  readonly topic: string
  readonly key: string
  /** `any`: the unique key, or a word of the keys. */
  readonly by: 'any' | 'uniqueKey'
  /** Stored at this time or later, in milliseconds since 1970. */
  readonly fromMs: number
  /** Stored at this time or earlier. */
  readonly toMs: number
  readonly countMax: number
}

/** What is found together at most, unless one message alone is larger. */
const FOUND_BYTES_MAX = 8 * 1024 * 1024

/** The first records at these places that the query finds, in the order of the log. */
export async function recordsAt(
  places: AsyncIterable<IndexPlace>,
  query: MessageQuery,
  store: { readRecord(commitLogOffset: number): Promise<Buffer | undefined> },
): Promise<readonly Buffer[]> {
  const found = new Map<number, Buffer>()
  if (query.countMax < 1) return []
  let bytes = 0
  for await (const place of places) {
    if (found.has(place.commitLogOffset)) continue
    if (!place.isFirst && !mayLieBetween(place, query.fromMs, query.toMs)) continue
    const record = await store.readRecord(place.commitLogOffset)
    if (record === undefined || !isFoundBy(query, record)) continue
    bytes += record.length
    if (bytes > FOUND_BYTES_MAX && found.size > 0) break
    found.set(place.commitLogOffset, record)
    if (found.size >= query.countMax) break
  }
  return [...found.values()].toSorted(
    (a, b) => recordCommitLogOffset(a, 0) - recordCommitLogOffset(b, 0),
  )
}

/** Whether the record is one: hashes of different keys can be the same. */
function isFoundBy(query: MessageQuery, record: Buffer): boolean {
  const storeTimeMs = recordStoreTimeMs(record, 0)
  if (storeTimeMs < query.fromMs || storeTimeMs > query.toMs) return false
  const properties = recordProperties(record, 0)
  const topic = isAccept(record)
    ? findProperty(properties, PROPERTY.REAL_TOPIC)
    : recordTopic(record, 0)
  if (topic !== query.topic) return false
  if (findProperty(properties, PROPERTY.UNIQ_KEY) === query.key) return true
  if (query.by === 'uniqueKey') return false
  const words = findProperty(properties, PROPERTY.KEYS)?.split(' ') ?? []
  return query.key !== '' && words.includes(query.key)
}

/** Without those that were accepted for later when what was delivered of them is there too. */
export function withoutFulfilled(records: readonly Buffer[]): readonly Buffer[] {
  const delivered = new Set<string | undefined>()
  for (const record of records) if (!isAccept(record)) delivered.add(uniqueKeyOf(record))
  return records.filter(record => !isAccept(record) || !delivered.has(uniqueKeyOf(record)))
}

/** A message that waits for its deliver time, or has waited. */
function isAccept(record: Buffer): boolean {
  return recordTopic(record, 0) === TIMER_TOPIC && isAcceptQueue(recordQueueId(record, 0))
}

function uniqueKeyOf(record: Buffer): string | undefined {
  return findProperty(recordProperties(record, 0), PROPERTY.UNIQ_KEY)
}
