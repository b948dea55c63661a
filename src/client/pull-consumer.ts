import { BrokerError } from '../core/base/index.ts'
import { parseTagExpression, type TagFilter } from '../model/filter/index.ts'
import { decodeRecords, type Message, PROPERTY } from '../model/message/index.ts'
import { REQUEST_CODE, RESPONSE_CODE } from '../model/wire/index.ts'
import type { BrokerClient } from './broker-client.ts'
import { type RemotingResponse, requestFailed, succeeded } from './remoting-connection.ts'
import type { QueueAddress } from './topic-queues.ts'

export interface PullOptions {
  readonly offset: number
  /** Tags with `||` between them; `*` or nothing for all. */
  readonly tags?: string | undefined
  /** At most so many messages; brokers give 32 at most. */
  readonly countMax?: number | undefined
  /** How long the broker waits for a message when there is none. Default 15,000; 0: not at all. */
  readonly waitMs?: number | undefined
  /** The group's offset that the broker is to remember on the way. */
  readonly commitOffset?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * What a pull brought. `found` may have no messages left when only their hashes matched; `none`:
 * there is no message at the offset yet; `filtered`: none of those looked at matches; `moved`:
 * the offset is not in the queue, go on at `nextOffset`.
 */
export interface PullResult {
  readonly kind: 'found' | 'none' | 'filtered' | 'moved'
  readonly messages: readonly Message[]
  readonly nextOffset: number
  readonly minOffset: number
  /** One beyond the last message. */
  readonly maxOffset: number
}

const KINDS: ReadonlyMap<number, PullResult['kind']> = new Map([
  [RESPONSE_CODE.SUCCESS, 'found'],
  [RESPONSE_CODE.PULL_NOT_FOUND, 'none'],
  [RESPONSE_CODE.PULL_RETRY_IMMEDIATELY, 'filtered'],
  [RESPONSE_CODE.PULL_OFFSET_MOVED, 'moved'],
])

const WAIT_MS = 15_000
const COUNT_MAX = 32
const BODY_BYTES_MAX = 262_144
/** Brokers look for overdue pulls every 5 s only. */
const NETWORK_MARGIN_MS = 15_000

const COMMIT_FLAG = 1
const SUSPEND_FLAG = 2
const SUBSCRIPTION_FLAG = 4

/** Reads queues at offsets that the caller keeps, and the offsets that brokers keep. */
export class PullConsumer {
  readonly group: string
  readonly #client: BrokerClient

  constructor(client: BrokerClient, group: string) {
    this.#client = client
    this.group = group
  }

  /** Empty when the topic does not exist. */
  queues(topic: string): Promise<readonly QueueAddress[]> {
    return this.#client.readableQueues(topic)
  }

  /**
   * Errors: SUBSCRIPTION_INVALID, MESSAGE_INVALID, those of a refused request and of the connection.
   */
  async pull(target: QueueAddress, options: PullOptions): Promise<PullResult> {
    const filter = parseTagExpression(options.tags)
    const waitMs = options.waitMs ?? WAIT_MS
    const { commitOffset } = options
    const sysFlag =
      SUBSCRIPTION_FLAG |
      (waitMs > 0 ? SUSPEND_FLAG : 0) |
      (commitOffset === undefined ? 0 : COMMIT_FLAG)
    const extFields = {
      ...this.#queueFields(target),
      queueOffset: String(options.offset),
      maxMsgNums: String(options.countMax ?? COUNT_MAX),
      sysFlag: String(sysFlag),
      commitOffset: String(commitOffset ?? 0),
      suspendTimeoutMillis: String(waitMs),
      subscription: options.tags ?? '*',
      subVersion: '0',
      expressionType: 'TAG',
      maxMsgBytes: String(BODY_BYTES_MAX),
    }
    const response = await this.#client.ask(
      target.address,
      { code: REQUEST_CODE.PULL_MESSAGE, extFields },
      { timeoutMs: waitMs + NETWORK_MARGIN_MS, signal: options.signal },
    )
    return pullResult(response, filter)
  }

  /** The group's offset of a queue; `undefined` when it has none yet. */
  async committedOffset(target: QueueAddress): Promise<number | undefined> {
    const response = await this.#ask(target, REQUEST_CODE.QUERY_CONSUMER_OFFSET)
    if (response.code === RESPONSE_CODE.QUERY_NOT_FOUND) return undefined
    return offsetOf(response, 'offset')
  }

  /** Resolves when the broker has taken over the group's offset. */
  async commitOffset(target: QueueAddress, offset: number): Promise<void> {
    const extFields = { commitOffset: String(offset) }
    succeeded(await this.#ask(target, REQUEST_CODE.UPDATE_CONSUMER_OFFSET, extFields))
  }

  /** One beyond the last message. */
  async maxOffset(target: QueueAddress): Promise<number> {
    return offsetOf(await this.#ask(target, REQUEST_CODE.GET_MAX_OFFSET), 'offset')
  }

  async minOffset(target: QueueAddress): Promise<number> {
    return offsetOf(await this.#ask(target, REQUEST_CODE.GET_MIN_OFFSET), 'offset')
  }

  /** Offset of the first message stored at `timeMs` or later; the maximum when there is none. */
  async offsetAt(target: QueueAddress, timeMs: number): Promise<number> {
    const extFields = { timestamp: String(timeMs), boundaryType: 'LOWER' }
    const code = REQUEST_CODE.SEARCH_OFFSET_BY_TIMESTAMP
    return offsetOf(await this.#ask(target, code, extFields), 'offset')
  }

  #ask(
    target: QueueAddress,
    code: number,
    more: Readonly<Record<string, string>> = {},
  ): Promise<RemotingResponse> {
    const extFields = { ...this.#queueFields(target), ...more }
    return this.#client.ask(target.address, { code, extFields })
  }

  #queueFields(target: QueueAddress): Record<string, string> {
    const { brokerName, queueId, topic } = target.queue
    return { consumerGroup: this.group, topic, queueId: String(queueId), bname: brokerName }
  }
}

function pullResult(response: RemotingResponse, filter: TagFilter): PullResult {
  const kind = KINDS.get(response.code)
  if (kind === undefined) throw requestFailed(response)
  const { extFields } = response
  return {
    kind,
    messages: decodeRecords(response.body).filter(message => isWanted(message, filter)),
    nextOffset: integerField(extFields['nextBeginOffset'], 'nextBeginOffset'),
    minOffset: integerField(extFields['minOffset'], 'minOffset'),
    maxOffset: integerField(extFields['maxOffset'], 'maxOffset'),
  }
}

/** Brokers compare hashes; here the tags themselves decide. */
function isWanted(message: Message, filter: TagFilter): boolean {
  const tags = message.properties.get(PROPERTY.TAGS)
  return filter.kind === 'all' || (tags !== undefined && filter.tags.includes(tags))
}

function offsetOf(response: RemotingResponse, field: string): number {
  return integerField(succeeded(response).extFields[field], field)
}

function integerField(text: string | undefined, field: string): number {
  const value = text === undefined || text === '' ? Number.NaN : Number(text)
  if (Number.isSafeInteger(value)) return value
  const remark = `the answer lacks a whole number in ${field}`
  throw new BrokerError('REQUEST_FAILED', { code: RESPONSE_CODE.SUCCESS, remark })
}
