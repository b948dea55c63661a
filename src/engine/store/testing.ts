/** Runs stores on a simulated disk, for tests. */
import { BrokerError, type ErrorCode } from '../../core/base/index.ts'
import type { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import {
  decodeRecord,
  encodeHost,
  type RecordDraft,
  recordSize,
  tagsCodeOf,
} from '../../model/message/index.ts'
import type { QueueRead } from './queue-reader.ts'
import type { StoreOptions } from './store-options.ts'
import { Store } from './store.ts'

const HOST = encodeHost('127.0.0.1', 10_911)

/** Small, so that a few hundred messages reach every limit. */
export const STORE_OPTIONS: StoreOptions = {
  directory: '/srv/orrery/data',
  segmentBytes: 64 * 1024,
  cacheBytes: 64 * 1024,
  unappliedBytesMax: 32 * 1024,
  recordBytesMax: 16 * 1024,
  flush: 'sync',
  diskFreeBytesMin: 0,
  retentionMs: 1_000 * 86_400_000,
  checkpointIntervalMs: 5_000,
  checkpointBytes: 2 ** 40,
}

export interface Sent {
  readonly topic: string
  readonly queueId: number
  readonly queueOffset: number
  readonly body: string
  readonly commitLogOffset: number
}

export function messageOf(topic: string, body: string, properties = ''): RecordDraft {
  const bytes = Buffer.from(body)
  return {
    topic: Buffer.from(topic),
    queueId: 0,
    flag: 0,
    sysFlag: 0,
    bornTimeMs: 1,
    bornHost: HOST,
    storeHost: HOST,
    reconsumeTimes: 0,
    preparedTransactionOffset: 0,
    body: bytes,
    bodyStart: 0,
    bodyEnd: bytes.length,
    properties,
  }
}

/** Opens, recovers and starts a store in the world's process. */
export async function startStore(
  world: SimulatedWorld,
  changes: Partial<StoreOptions> = {},
): Promise<Store> {
  const store = await world.finish(openStore(world, changes))
  await world.finish(store.start())
  return store
}

/** Opens and recovers. */
export async function openStore(
  world: SimulatedWorld,
  changes: Partial<StoreOptions> = {},
): Promise<Store> {
  const store = await Store.open({ ...STORE_OPTIONS, ...changes }, world.platform)
  await store.findForeign()
  await store.recover(() => undefined)
  return store
}

/** Appends a message; it is durable after `flushed`. */
export function send(
  world: SimulatedWorld,
  store: Store,
  message: { topic?: string; queueId?: number; body: string },
): Sent {
  const { topic = 'TopicTest', queueId = 0, body } = message
  const draft = messageOf(topic, body)
  draft.queueId = queueId
  const queue = store.queue(topic, queueId)
  const timeMs = world.platform.clock.timeMs()
  const commitLogOffset = store.append(draft, queue, tagsCodeOf(undefined), timeMs)
  return { topic, queueId, queueOffset: store.lastQueueOffset, body, commitLogOffset }
}

/** Waits until everything that was sent is durable and visible. */
export async function flushed(world: SimulatedWorld, store: Store): Promise<void> {
  if (store.appliedOffset < store.endOffset) {
    await world.finish(store.whenApplied(store.endOffset - 1))
  }
}

/** Lets the next checkpoint happen. */
export async function checkpointed(world: SimulatedWorld, store: Store): Promise<void> {
  const target = store.appliedOffset
  await world.run(() => store.checkpointOffset >= target, 60_000)
}

/** All that a consumer gets, by queue offset. */
export async function readAll(
  world: SimulatedWorld,
  store: Store,
  from: { topic?: string; queueId?: number } = {},
): Promise<Map<number, string>> {
  const { topic = 'TopicTest', queueId = 0 } = from
  const queue = store.queue(topic, queueId)
  const found = new Map<number, string>()
  for (let fromOffset = queue.minOffset; fromOffset < queue.maxOffset;) {
    const request = { fromOffset, countMax: 32, bytesMax: 256 * 1024, accepts: undefined }
    const read = await world.finish(Promise.resolve(store.readQueue(queue, request)))
    for (const { queueOffset, body } of messagesOf(read)) found.set(queueOffset, body)
    fromOffset = read.nextOffset
  }
  return found
}

export function messagesOf(read: QueueRead): { queueOffset: number; body: string }[] {
  const messages = []
  for (let at = 0; at < read.bytes.length; at += recordSize(read.bytes, at)) {
    const { queueOffset, body } = decodeRecord(read.bytes, at)
    messages.push({ queueOffset, body: body.toString() })
  }
  return messages
}

/** Those of `sent` that cannot be read any more, or read as something else. */
export async function missing(
  world: SimulatedWorld,
  store: Store,
  sent: readonly Sent[],
): Promise<readonly Sent[]> {
  const queues = new Map<string, Map<number, string>>()
  const lost: Sent[] = []
  for (const message of sent) {
    const key = `${message.topic} ${message.queueId}`
    const found = queues.get(key) ?? (await readAll(world, store, message))
    queues.set(key, found)
    if (found.get(message.queueOffset) !== message.body) lost.push(message)
  }
  return lost
}

export async function rejectionOf(promise: Promise<unknown>): Promise<ErrorCode | undefined> {
  try {
    await promise
    return undefined
  } catch (error) {
    if (error instanceof BrokerError) return error.code
    throw error
  }
}
