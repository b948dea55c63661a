import { BrokerError } from '../core/base/index.ts'
import { AUTO_CREATE_TOPIC } from '../model/message/index.ts'
import type {
  BulkChange,
  ChangeCount,
  Forecast,
  ForecastSteps,
  MessageRef,
  Page,
  PageRequest,
  ScheduledMessage,
  ScheduleFilter,
  WholeMessage,
} from '../model/schedule/index.ts'
import { type BodyObject, bodyObject, REQUEST_CODE, RESPONSE_CODE } from '../model/wire/index.ts'
import { refFields } from './message-changes.ts'
import { type RemotingRequest, type RemotingResponse, succeeded } from './remoting-connection.ts'
import type { QueueAddress } from './topic-queues.ts'

/** Counting may read all that waits. */
const COUNT_TIMEOUT_MS = 600_000
const PAGE_TIMEOUT_MS = 30_000

/** What is asked of a client. */
export interface ScheduledClient {
  readableQueues(topic: string): Promise<readonly QueueAddress[]>
  ask(
    address: string,
    request: RemotingRequest,
    wait?: { readonly timeoutMs: number },
  ): Promise<RemotingResponse>
}

type Fields = Record<string, string>

/** What can be asked of all messages that wait at an Orrery broker, as `SchedulePort` has it. */
export class ScheduledMessagesClient {
  readonly #client: ScheduledClient

  constructor(client: ScheduledClient) {
    this.#client = client
  }

  /** Errors: PARAMETER_INVALID, CONNECT_FAILED, REQUEST_FAILED. */
  async list(filter: ScheduleFilter, page: PageRequest): Promise<Page> {
    const fields = { ...filterFields(filter), limit: String(page.limit) }
    const body = await this.#askForBody(
      REQUEST_CODE.LIST_SCHEDULED_MESSAGES,
      page.cursor === undefined ? fields : { ...fields, cursor: page.cursor },
      PAGE_TIMEOUT_MS,
    )
    return {
      messages: body.objects('messages').map(scheduledMessageOf),
      nextCursor: body.has('nextCursor') ? body.text('nextCursor') : undefined,
    }
  }

  /** Errors: as `list`. */
  async count(filter: ScheduleFilter): Promise<number> {
    const code = REQUEST_CODE.COUNT_SCHEDULED_MESSAGES
    const response = await this.#ask(code, filterFields(filter), COUNT_TIMEOUT_MS)
    return Number(response.extFields['count'])
  }

  /** Errors: as `list`. */
  async forecast(filter: ScheduleFilter, steps: ForecastSteps): Promise<Forecast> {
    const { fromMs, toMs, stepMs } = steps
    const fields = { ...filterFields({ ...filter, fromMs, toMs }), stepMs: String(stepMs) }
    const code = REQUEST_CODE.FORECAST_SCHEDULED_MESSAGES
    const body = await this.#askForBody(code, fields, COUNT_TIMEOUT_MS)
    return { counts: body.integers('counts'), estimatedCount: body.integer('estimatedCount') }
  }

  /**
   * Cancels or shifts all that the filter means; resolves when all is done. Errors: as `list`,
   * BULK_CHANGES_TOO_MANY.
   */
  async changeAll(
    filter: ScheduleFilter,
    change: BulkChange,
    dryRun: boolean,
  ): Promise<ChangeCount> {
    const shift: Fields = change.kind === 'shift' ? { shiftMs: String(change.shiftMs) } : {}
    const asked = { change: change.kind, dryRun: String(dryRun) }
    const fields = { ...filterFields(filter), ...shift, ...asked }
    const code = REQUEST_CODE.CHANGE_SCHEDULED_MESSAGES
    const { extFields } = await this.#ask(code, fields, COUNT_TIMEOUT_MS)
    return {
      changedCount: Number(extFields['changedCount']),
      refusedCount: Number(extFields['refusedCount']),
    }
  }

  /** `undefined` when it does not wait. Errors: as `list`, MESSAGE_ID_INVALID. */
  async find(ref: MessageRef): Promise<WholeMessage | undefined> {
    const code = REQUEST_CODE.GET_SCHEDULED_MESSAGE
    const response = await this.#askBroker(code, refFields(ref), PAGE_TIMEOUT_MS)
    if (response.code === RESPONSE_CODE.QUERY_NOT_FOUND) return undefined
    const body = bodyObject(succeeded(response).body)
    return {
      ...scheduledMessageOf(body),
      properties: body.table('properties'),
      body: Buffer.from(body.text('bodyBase64'), 'base64'),
    }
  }

  async #askForBody(code: number, extFields: Fields, timeoutMs: number): Promise<BodyObject> {
    return bodyObject((await this.#ask(code, extFields, timeoutMs)).body)
  }

  async #ask(code: number, extFields: Fields, timeoutMs: number): Promise<RemotingResponse> {
    return succeeded(await this.#askBroker(code, extFields, timeoutMs))
  }

  /** All that waits is at the one broker that knows these requests. */
  async #askBroker(code: number, extFields: Fields, timeoutMs: number): Promise<RemotingResponse> {
    const [queue] = await this.#client.readableQueues(AUTO_CREATE_TOPIC)
    if (queue === undefined) throw new BrokerError('TOPIC_NOT_FOUND', { topic: AUTO_CREATE_TOPIC })
    return this.#client.ask(queue.address, { code, extFields }, { timeoutMs })
  }
}

function filterFields(filter: ScheduleFilter): Fields {
  const fields: Fields = {}
  for (const [name, value] of Object.entries(filter)) {
    if (value !== undefined) fields[name] = String(value)
  }
  return fields
}

function scheduledMessageOf(body: BodyObject): ScheduledMessage {
  return {
    id: body.has('id') ? body.text('id') : undefined,
    topic: body.text('topic'),
    deliverTimeMs: body.integer('deliverTimeMs'),
    state: body.word('state', ['scheduled', 'parked']),
    acceptTimeMs: body.integer('acceptTimeMs'),
    uniqueKey: body.text('uniqueKey'),
    tag: body.has('tag') ? body.text('tag') : undefined,
    keys: body.texts('keys'),
    bodyBytes: body.integer('bodyBytes'),
  }
}
