/** Runs stores with a message index on a simulated disk, for tests. */
import type { SimulatedWorld } from '../../../core/platform/simulated/index.ts'
import {
  findProperty,
  PROPERTY,
  recordProperties,
  TIMER_ACCEPT_QUEUE,
  TIMER_TOPIC,
} from '../../../model/message/index.ts'
import type { StoreOptions } from '../store-options.ts'
import { Store } from '../store.ts'
import { messageOf, STORE_OPTIONS } from '../testing.ts'
import type { IndexGeometry } from './index-layout.ts'
import { MessageIndex } from './message-index.ts'
import type { MessageQuery } from './message-query.ts'

/** Three pages of slots, and so few items that some hundred messages fill files. */
export const SMALL_GEOMETRY: IndexGeometry = { slotCount: 3_000, itemCount: 300 }

export interface IndexedScene {
  readonly world: SimulatedWorld
  readonly store: Store
  readonly index: MessageIndex
}

export interface IndexedOptions {
  readonly geometry?: IndexGeometry
  readonly stagedBytesMax?: number
  readonly store?: Partial<StoreOptions>
}

/** Opens, recovers and starts a store with an index. */
export async function startIndexed(
  world: SimulatedWorld,
  options: IndexedOptions = {},
): Promise<IndexedScene> {
  const { geometry = SMALL_GEOMETRY, stagedBytesMax = 48 * 1024 } = options
  const storeOptions = { ...STORE_OPTIONS, ...options.store }
  const { directory } = storeOptions
  const opening = async (): Promise<IndexedScene> => {
    const store = await Store.open(storeOptions, world.platform)
    await store.findForeign()
    const parts = { directory, geometry, stagedBytesMax }
    const index = await MessageIndex.open(world.platform, parts, store)
    index.join(store)
    await store.recover(() => undefined)
    index.start()
    await store.start()
    return { world, store, index }
  }
  return world.finish(opening())
}

export interface KeyedMessage {
  readonly topic?: string
  readonly uniqueKey: string
  readonly keys?: string
  readonly body?: string
  /** Accepted for later, under the timers' topic. */
  readonly waits?: boolean
}

/** Appends a message; returns where it lies in the log. */
export function sendKeyed(
  { world, store }: Pick<IndexedScene, 'world' | 'store'>,
  message: KeyedMessage,
): number {
  const { topic = 'TopicTest', uniqueKey, keys = '', body = '', waits = false } = message
  let properties = `WAIT\u0001true\u0002UNIQ_KEY\u0001${uniqueKey}\u0002`
  if (keys !== '') properties += `KEYS\u0001${keys}\u0002`
  if (waits) properties += `REAL_TOPIC\u0001${topic}\u0002REAL_QID\u00010\u0002`
  const name = waits ? TIMER_TOPIC : topic
  const draft = messageOf(name, body, properties)
  draft.queueId = waits ? TIMER_ACCEPT_QUEUE : 0
  const queue = store.queue(name, draft.queueId)
  return store.append(draft, queue, 0, world.platform.clock.timeMs())
}

/** Unique keys of what is found, in the order of the log. */
export async function foundKeys(
  { world, index }: IndexedScene,
  query: Partial<MessageQuery> & { readonly key: string },
): Promise<readonly (string | undefined)[]> {
  const whole: MessageQuery = {
    topic: 'TopicTest',
    by: 'any',
    fromMs: 0,
    toMs: Number.MAX_SAFE_INTEGER,
    countMax: 64,
    ...query,
  }
  return (await world.finish(index.search(whole))).map(uniqueKeyOf)
}

export function uniqueKeyOf(record: Buffer): string | undefined {
  return findProperty(recordProperties(record, 0), PROPERTY.UNIQ_KEY)
}
