import { BrokerError, type Gate } from '../../../core/base/index.ts'
import {
  decodeRecallHandle,
  findProperty,
  isAcceptQueue,
  PROPERTY,
  recordCommitLogOffset,
  recordProperties,
  recordQueueId,
  recordTopic,
  TIMER_TOPIC,
  type RecallHandle,
} from '../../../model/message/index.ts'
import {
  type ListPosition,
  type ListStep,
  refOf,
  type TimerRef,
  type WaitingQuery,
} from '../../timer/index.ts'

/** Finds accept records by unique key. See `MessageIndex.search`. */
export interface AcceptSearch {
  search(query: {
    readonly topic: string
    readonly key: string
    readonly by: 'uniqueKey'
    readonly fromMs: number
    readonly toMs: number
    readonly countMax: number
  }): Promise<readonly Buffer[]>
}

/** A handle of our own making: it names the record with which the message was accepted first. */
export type OwnHandle = RecallHandle & { readonly timerId: number }

/**
 * Apache's handles hold a deliver time that is up to so much off: one more than the true one, or
 * rounded down to a precision of up to a second.
 */
const THEIR_TIME_BEFORE_MS = 1
const THEIR_TIME_BEHIND_MS = 999
const FOUND_COUNT_MAX = 64

/** Errors: MESSAGE_ID_INVALID. */
export function handleOf(id: string): RecallHandle {
  const handle = decodeRecallHandle(id)
  if (handle === undefined) throw new BrokerError('MESSAGE_ID_INVALID')
  return handle
}

/** Where messages are looked for that a handle does not name exactly. */
export interface HandleSearch {
  /** Of the log; `undefined` when it is turned off. */
  readonly index: AcceptSearch | undefined
  /** Lists what waits. See `TimerStores.list`. */
  list(query: WaitingQuery, after: ListPosition | undefined, countMax: number): Promise<ListStep>
  /** See `listGate`. */
  readonly gate: Gate
}

/**
 * The handle as we make it. One without a timer id, as Apache's are, names its message by topic,
 * unique key and nearly the deliver time. The log tells which one that is, as long as it has it;
 * after that the message is looked for among those that wait for that time, which reads the chunks
 * that reach there. `undefined` when there is none.
 *
 * Errors: those of a search; STORE_BUSY.
 */
export async function ownHandle(
  handle: RecallHandle,
  search: HandleSearch,
): Promise<OwnHandle | undefined> {
  const { timerId } = handle
  if (timerId !== undefined) return { ...handle, timerId }
  return (
    (await handleInLog(handle, search.index)) ??
    search.gate.run(1, () => handleOfWaiting(handle, search))
  )
}

async function handleInLog(
  handle: RecallHandle,
  index: AcceptSearch | undefined,
): Promise<OwnHandle | undefined> {
  const { topic, uniqueKey } = handle
  const records = await index?.search({
    topic,
    key: uniqueKey,
    by: 'uniqueKey',
    fromMs: 0,
    toMs: Number.MAX_SAFE_INTEGER,
    countMax: FOUND_COUNT_MAX,
  })
  for (const record of records ?? []) {
    const isAccept =
      recordTopic(record, 0) === TIMER_TOPIC && isAcceptQueue(recordQueueId(record, 0))
    if (!isAccept) continue
    const deliverTimeMs = Number(findProperty(recordProperties(record, 0), PROPERTY.TIMER_OUT_MS))
    const offMs = deliverTimeMs - handle.deliverTimeMs
    if (offMs < -THEIR_TIME_BEFORE_MS || offMs > THEIR_TIME_BEHIND_MS) continue
    return { ...handle, deliverTimeMs, timerId: recordCommitLogOffset(record, 0) }
  }
  return undefined
}

async function handleOfWaiting(
  handle: RecallHandle,
  search: HandleSearch,
): Promise<OwnHandle | undefined> {
  const { topic, uniqueKey, brokerName } = handle
  const query: WaitingQuery = {
    fromMs: Math.max(0, handle.deliverTimeMs - THEIR_TIME_BEFORE_MS),
    toMs: handle.deliverTimeMs + THEIR_TIME_BEHIND_MS + 1,
    isParked: undefined,
    matches: (source, position) => {
      const properties = recordProperties(source, position)
      return (
        findProperty(properties, PROPERTY.UNIQ_KEY) === uniqueKey &&
        findProperty(properties, PROPERTY.REAL_TOPIC) === topic
      )
    },
  }
  let next: ListPosition | undefined
  do {
    const step = await search.list(query, next, 1)
    const [found] = step.messages
    if (found !== undefined) return handleOfRecord(found, found.record, brokerName)
    next = step.next
  } while (next !== undefined)
  return undefined
}

/**
 * Whether this is the accept record of the message that the handle names, or that of a move of it.
 * Whoever makes up a handle does not get at the message of another.
 */
export function isOf(handle: OwnHandle, record: Buffer): boolean {
  const properties = recordProperties(record, 0)
  const isSame =
    findProperty(properties, PROPERTY.REAL_TOPIC) === handle.topic &&
    findProperty(properties, PROPERTY.UNIQ_KEY) === handle.uniqueKey
  if (!isSame) return false
  const first = findProperty(properties, PROPERTY.ORRERY_FIRST)
  if (first !== undefined) return first === refText(handle)
  return findProperty(properties, PROPERTY.TIMER_OUT_MS) === String(handle.deliverTimeMs)
}

/** Of a waiting message, by its accept record. A moved one keeps the handle that its sender knows. */
export function handleOfRecord(at: TimerRef, record: Buffer, brokerName: string): OwnHandle {
  const properties = recordProperties(record, 0)
  const first = findProperty(properties, PROPERTY.ORRERY_FIRST)
  const { timerId, deliverTimeMs } = first === undefined ? at : refOf(first)
  const topic = findProperty(properties, PROPERTY.REAL_TOPIC) ?? ''
  const uniqueKey = findProperty(properties, PROPERTY.UNIQ_KEY) ?? ''
  return { topic, brokerName, deliverTimeMs, uniqueKey, timerId }
}

/** As the properties of change records name a message; `refOf` reads it. */
export function refText({ timerId, deliverTimeMs }: TimerRef): string {
  return `${timerId} ${deliverTimeMs}`
}
