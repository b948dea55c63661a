import type { Clock, ListenAddress, Log, Network, Timers } from '../../core/platform/index.ts'
import type { MessagePut, PullService } from '../../engine/broker/index.ts'
import type { Access } from '../../model/access/index.ts'
import { REQUEST_CODE } from '../../model/wire/index.ts'
import { AnswerArena } from './answer-arena.ts'
import { Dispatch } from './dispatch.ts'
import { DurableAnswers } from './durable-answers.ts'
import { FramedServer, SERVER_LIMITS, type ServerLimits } from './framed-server.ts'
import { MemoryBudget, MEMORY_LIMITS, type MemoryLimits } from './memory-budget.ts'
import { noticeGroupChanges } from './notices.ts'
import type { DoorContext, Processor } from './processor.ts'
import { pullMessage } from './processors/pull-message.ts'
import { SendMessage } from './processors/send-message.ts'

/** Not served on the fast port, as at RocketMQ: it is there so that sends do not queue behind. */
const NOT_ON_FAST_PORT: ReadonlySet<number> = new Set([
  REQUEST_CODE.PULL_MESSAGE,
  REQUEST_CODE.LITE_PULL_MESSAGE,
])

export interface RemotingDoorParts {
  readonly network: Network
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Log
  readonly access: Access
  readonly context: DoorContext
  readonly put: MessagePut
  readonly pulls: PullService
  /** All but those of sending and pulling, which the door has itself. */
  readonly processors: readonly Processor[]
  /** What clients are told as the region; `DefaultRegion` at Apache. */
  readonly regionId: string
  /** Our address in message ids; see `storeHostHex`. */
  readonly storeHostHex: string
  readonly serverLimits?: ServerLimits
  readonly memoryLimits?: MemoryLimits
}

export interface RemotingAddresses {
  readonly broker: ListenAddress
  /** For clients that send to the broker's port minus two; `undefined`: none. */
  readonly fast: ListenAddress | undefined
}

/** The broker's ports: everything that a client or tool of RocketMQ asks of a broker. */
export class RemotingDoor {
  readonly #parts: RemotingDoorParts
  readonly #answers: DurableAnswers
  readonly #broker: FramedServer
  readonly #fast: FramedServer
  readonly #stopNotices: () => void

  constructor(parts: RemotingDoorParts) {
    const { context } = parts
    this.#parts = parts
    this.#answers = new DurableAnswers(context.store)
    this.#stopNotices = noticeGroupChanges(context.clients, context.groups)
    const sends = new SendMessage({
      put: parts.put,
      store: context.store,
      access: parts.access,
      scheduled: context.scheduled,
      log: parts.log,
      arena: new AnswerArena(),
      brokerName: context.identity.brokerName,
      regionId: parts.regionId,
      storeHostHex: parts.storeHostHex,
    })
    const processors = [...parts.processors, ...this.#pulling()]
    const fast = processors.filter(({ code }) => !NOT_ON_FAST_PORT.has(code))
    const budget = new MemoryBudget(parts.memoryLimits ?? MEMORY_LIMITS)
    this.#broker = this.#server(budget, sends, processors)
    this.#fast = this.#server(budget, sends, fast)
  }

  get connectionCount(): number {
    return this.#broker.connectionCount + this.#fast.connectionCount
  }

  /** Resolves to the addresses in use. Rejects with ADDRESS_IN_USE or LISTEN_FAILED. */
  async start(addresses: RemotingAddresses): Promise<RemotingAddresses> {
    const broker = await this.#broker.listen(addresses.broker)
    if (addresses.fast === undefined) return { broker, fast: undefined }
    try {
      return { broker, fast: await this.#fast.listen(addresses.fast) }
    } catch (error) {
      await this.#broker.stop()
      throw error
    }
  }

  /**
   * Takes in nothing more, answers what is open, parked pulls too, and closes all connections,
   * within 2 s. The store must still run: answers wait for it.
   */
  async stop(): Promise<void> {
    this.#parts.pulls.close()
    await Promise.all([this.#broker.stop(), this.#fast.stop()])
    this.#stopNotices()
    this.#answers.stop()
  }

  #pulling(): readonly Processor[] {
    const { context, pulls, clock, log } = this.#parts
    const { offsets, statistics } = context
    return pullMessage({ pulls, tables: context, offsets, statistics, clock, log })
  }

  #server(
    budget: MemoryBudget,
    sends: SendMessage,
    processors: readonly Processor[],
  ): FramedServer {
    const { network, clock, timers, log, access, context, pulls, serverLimits } = this.#parts
    const { clients } = context
    const answers = this.#answers
    const handler = new Dispatch({
      processors,
      sends,
      answers,
      context,
      access,
      clients,
      pulls,
      log,
    })
    const limits = serverLimits ?? SERVER_LIMITS
    return new FramedServer({ network, clock, timers, log, budget, handler, limits })
  }
}
