import { recordKey } from './consumer.ts'
import type { Door } from './door.ts'
import { idOf, KINDS, type Kind, topicOf } from './ledger.ts'

/** One copy of a message in the log of its topic. */
export interface Copy {
  readonly key: string
  readonly storeTimeMs: number
}

/** Everything that the queues of our topics hold. */
export interface LogReading {
  readonly copies: ReadonlyMap<number, readonly Copy[]>
  /** Which id lies at a place. */
  readonly places: ReadonlyMap<string, number>
  /** Records whose body is not one that we wrote. */
  readonly strangers: readonly string[]
  /** Places below a queue's end that gave no record. */
  readonly holes: readonly string[]
}

/** Reads every queue from 0 to its end with plain pulls. */
export async function readLog(door: Door): Promise<LogReading> {
  const reading = {
    copies: new Map<number, Copy[]>(),
    places: new Map<string, number>(),
    strangers: [] as string[],
    holes: [] as string[],
  }
  for (const kind of KINDS) await readTopic(door, kind, reading)
  return reading
}

interface Collected {
  readonly copies: Map<number, Copy[]>
  readonly places: Map<string, number>
  readonly strangers: string[]
  readonly holes: string[]
}

async function readTopic(door: Door, kind: Kind, into: Collected): Promise<void> {
  const topic = topicOf(kind)
  const queueCount = await door.queueCount(topic)
  for (let queueId = 0; queueId < queueCount; queueId++) {
    const end = await door.maxOffset(topic, queueId)
    let offset = 0
    while (offset < end) {
      const page = await door.read(topic, queueId, offset)
      for (const record of page.records) {
        for (; offset < record.queueOffset; offset++)
          into.holes.push(recordKey(topic, queueId, offset))
        offset = record.queueOffset + 1
        const key = recordKey(topic, queueId, record.queueOffset)
        const id = idOf(record.body)
        if (id === undefined) {
          into.strangers.push(key)
          continue
        }
        into.places.set(key, id)
        const copies = into.copies.get(id) ?? []
        copies.push({ key, storeTimeMs: record.storeTimeMs })
        into.copies.set(id, copies)
      }
      if (page.records.length === 0) {
        into.holes.push(recordKey(topic, queueId, offset))
        offset = Math.max(offset + 1, page.nextOffset)
      }
    }
  }
}
