import { BrokerError } from '../../../core/base/index.ts'
import type { Clock, Log } from '../../../core/platform/index.ts'
import {
  PendingPull,
  pullTarget,
  type ConsumerOffsets,
  type PullAsker,
  type PullResult,
  type PullService,
  type PullTables,
  type Statistics,
  type WantedTags,
} from '../../../engine/broker/index.ts'
import { REQUEST_CODE, RESPONSE_CODE, type ExtFields } from '../../../model/wire/index.ts'
import { RemotingConnection } from '../connection.ts'
import type { Processor, Reply, Request } from '../processor.ts'
import {
  optionalInt32,
  optionalText,
  requiredInt32,
  requiredInt64,
  requiredVersion,
  requiredText,
} from '../request-fields.ts'
import { replyOfError, sendReply } from '../responder.ts'

const MESSAGE_COUNT_MAX = 32
const BYTES_MAX = 262_144
const BYTES_MIN = 100
/** Clients give up waiting for an answer well before. */
const SUSPEND_MS_MAX = 120_000

const SYS_FLAG_COMMIT_OFFSET = 1
const SYS_FLAG_SUSPEND = 2
const SYS_FLAG_SUBSCRIPTION = 4
const SYS_FLAG_CLASS_FILTER = 8

const CODE_OF_KIND = {
  found: RESPONSE_CODE.SUCCESS,
  nothing: RESPONSE_CODE.PULL_NOT_FOUND,
  again: RESPONSE_CODE.PULL_RETRY_IMMEDIATELY,
  moved: RESPONSE_CODE.PULL_OFFSET_MOVED,
} as const

export interface PullParts {
  readonly pulls: PullService
  readonly tables: PullTables
  readonly offsets: ConsumerOffsets
  readonly statistics: Statistics
  readonly clock: Clock
  readonly log: Log
}

/**
 * PULL_MESSAGE (11) and LITE_PULL_MESSAGE (361): messages of one queue from an offset on; waits
 * for one when asked to.
 *
 * Request   consumerGroup, topic: string; queueId: int32; queueOffset: int64; maxMsgNums,
 *           sysFlag: int32; commitOffset, suspendTimeoutMillis, subVersion: int64;
 *           subscription?, expressionType?: string; maxMsgBytes?: int32
 * Response  nextBeginOffset, minOffset, maxOffset: int64; suggestWhichBrokerId: 0; body: records;
 *           remark: RocketMQ's name of the outcome
 * Codes     0 found, 19 nothing there, 20 nothing that matches, 21 offset out of range
 * Errors    those of `pullTarget`; PARAMETER_INVALID; TOO_MANY_REQUESTS
 */
export function pullMessage(parts: PullParts): readonly Processor[] {
  return [
    pullProcessor(REQUEST_CODE.PULL_MESSAGE, 'PULL_MESSAGE', parts),
    pullProcessor(REQUEST_CODE.LITE_PULL_MESSAGE, 'LITE_PULL_MESSAGE', parts),
  ]
}

function pullProcessor(code: number, name: string, parts: PullParts): Processor {
  return {
    code,
    name,
    action: 'receive',
    resources: ({ header }) => [
      {
        topic: requiredText(header.extFields, 'topic'),
        group: requiredText(header.extFields, 'consumerGroup'),
      },
    ],
    handle(request) {
      pull(request, parts)
      return undefined
    },
  }
}

function pull(request: Request, parts: PullParts): void {
  const fields = request.header.extFields
  const group = requiredText(fields, 'consumerGroup')
  const topic = requiredText(fields, 'topic')
  const queueId = requiredInt32(fields, 'queueId')
  const sysFlag = requiredInt32(fields, 'sysFlag')
  const offset = requiredInt64(fields, 'queueOffset')
  const countMax = requiredInt32(fields, 'maxMsgNums')
  if (countMax < 1) throw new BrokerError('PARAMETER_INVALID', { field: 'maxMsgNums', countMax })
  const wanted = wantedTags(fields, sysFlag)
  const target = pullTarget({ group, topic, queueId, wanted }, parts.tables)
  if ((sysFlag & SYS_FLAG_COMMIT_OFFSET) !== 0) {
    const commitOffset = requiredInt64(fields, 'commitOffset')
    if (commitOffset >= 0) parts.offsets.commit(group, topic, queueId, commitOffset)
  }
  const limits = {
    bytesMax: bytesMax(optionalInt32(fields, 'maxMsgBytes')),
    deadlineUptimeMs: deadlineUptimeMs(fields, sysFlag, parts.clock),
  }
  const pending = new PendingPull({
    // It counts as an open request from here on: nothing may be refused any more.
    asker: new RequestAsker(request, topic, parts),
    queue: target.queue,
    offset,
    countMax: Math.min(countMax, MESSAGE_COUNT_MAX),
    accepts: target.accepts,
    ...limits,
  })
  parts.pulls.start(pending)
}

function wantedTags(fields: ExtFields, sysFlag: number): WantedTags {
  if ((sysFlag & SYS_FLAG_CLASS_FILTER) !== 0) {
    throw new BrokerError('NOT_SUPPORTED', { feature: 'class filter' })
  }
  if ((sysFlag & SYS_FLAG_SUBSCRIPTION) === 0) {
    return { kind: 'heartbeat', version: requiredVersion(fields, 'subVersion') }
  }
  const expressionType = optionalText(fields, 'expressionType') ?? ''
  return { kind: 'request', expressionType, expression: fields['subscription'] ?? '' }
}

function bytesMax(asked: number | undefined): number {
  if (asked === undefined || asked <= 0) return BYTES_MAX
  return Math.min(BYTES_MAX, Math.max(BYTES_MIN, asked))
}

/** 0 when the pull is not to wait. */
function deadlineUptimeMs(fields: ExtFields, sysFlag: number, clock: Clock): number {
  if ((sysFlag & SYS_FLAG_SUSPEND) === 0) return 0
  const suspendMs = requiredInt64(fields, 'suspendTimeoutMillis')
  return suspendMs <= 0 ? 0 : clock.uptimeMs() + Math.min(suspendMs, SUSPEND_MS_MAX)
}

/** Turns what comes of a pull into the answer to its request. */
class RequestAsker implements PullAsker {
  readonly owner: RemotingConnection
  readonly #request: Request
  readonly #topic: string
  readonly #parts: PullParts

  constructor(request: Request, topic: string, parts: PullParts) {
    if (!(request.connection instanceof RemotingConnection)) {
      throw new BrokerError('NOT_SUPPORTED', { feature: 'pulling through this door' })
    }
    this.owner = request.connection
    this.#request = request
    this.#topic = topic
    this.#parts = parts
    this.owner.requestOpened()
  }

  get isGone(): boolean {
    return this.owner.isClosed
  }

  reserve(bytes: number): boolean {
    return this.owner.reserveRead(bytes)
  }

  release(bytes: number): void {
    this.owner.releaseRead(bytes)
  }

  answer(result: PullResult): void {
    this.#parts.statistics.countGet(this.#topic, result.count, result.bytes.length)
    this.#finish({
      code: CODE_OF_KIND[result.kind],
      remark: result.status,
      extFields: {
        suggestWhichBrokerId: '0',
        nextBeginOffset: String(result.nextOffset),
        minOffset: String(result.minOffset),
        maxOffset: String(result.maxOffset),
      },
      ...(result.count === 0 ? {} : { body: result.bytes }),
    })
  }

  fail(error: unknown): void {
    this.#finish(replyOfError(error, this.#request.header, this.#parts.log))
  }

  #finish(reply: Reply): void {
    sendReply(this.owner, this.#request.header, reply)
    this.owner.requestDone()
  }
}
