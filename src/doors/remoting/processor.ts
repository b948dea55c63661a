import type { Clock, Log } from '../../core/platform/index.ts'
import type {
  ClientChannel,
  ClientRegistry,
  ConsumerOffsets,
  GroupTable,
  QueueLocks,
  Statistics,
  TopicTable,
} from '../../engine/broker/index.ts'
import type { SendBack } from '../../engine/consume/index.ts'
import type { MessageIndex, Store } from '../../engine/store/index.ts'
import type { Action } from '../../model/access/index.ts'
import type { SchedulePort } from '../../model/schedule/index.ts'
import type { Header } from '../../model/wire/index.ts'
import type { OnceLog } from './once-log.ts'

/** One request as it came in. `body` is a view that is valid until `handle` returns. */
export interface Request {
  readonly header: Header
  readonly body: Buffer
  readonly connection: RemotingChannel
}

/** Becomes a response frame with the request's `opaque`; not sent for one-way requests. */
export interface Reply {
  readonly code: number
  readonly remark?: string
  /** All values are strings; the Go client refuses anything else. */
  readonly extFields?: Readonly<Record<string, string>>
  readonly body?: Buffer
}

/** One client connection: the identity under which producers and consumers are registered. */
export interface RemotingChannel extends ClientChannel {
  readonly remoteHost: string
  readonly remotePort: number
  /** The address of ours that the client reached. */
  readonly localHost: string
  readonly localPort: number
  /** Sends a frame of our own making. Dropped when the connection is closed or too far behind. */
  send(frame: Buffer): void
}

/** One thing that a request touches; the dispatch asks `access` before `handle` runs. */
export interface Resources {
  readonly topic?: string
  readonly group?: string
}

/** One request code. A processor translates; the rules are the engine's. */
export interface Processor {
  readonly code: number
  /** RocketMQ's name of the code, for logs and remarks. */
  readonly name: string
  readonly action: Action
  /** All must be allowed. Empty: it touches no topic or group, and `action` alone is asked about. */
  resources(request: Request): readonly Resources[]
  /**
   * `undefined`: the processor answers later by itself or never. A thrown or rejected
   * `BrokerError` is answered with its `remotingCode`; anything else is logged and answered 1.
   */
  handle(request: Request, context: DoorContext): Reply | Promise<Reply> | undefined
}

/** What the processors work with. Built once by `server`. */
export interface DoorContext {
  readonly clock: Clock
  readonly log: Log
  readonly store: Store
  readonly topics: TopicTable
  readonly groups: GroupTable
  readonly offsets: ConsumerOffsets
  readonly clients: ClientRegistry
  readonly locks: QueueLocks
  readonly statistics: Statistics
  readonly sendBack: SendBack
  readonly scheduled: SchedulePort
  /** `undefined` when it is turned off. */
  readonly messageIndex: MessageIndex | undefined
  readonly identity: BrokerIdentity
  /** Space of the file system that holds the data folder, in bytes. */
  readonly diskSpace: () => Promise<{ readonly freeBytes: number; readonly totalBytes: number }>
  readonly waiting: WaitingCounts
  readonly clockSteps: ClockSteps
  /** What clients ask for and do not get, said once to the operator. */
  readonly onceLog: OnceLog
}

/** How much waits for its time, at the moment of asking. */
export interface WaitingCounts {
  /** Accepted and not delivered yet, all timer stores together. */
  readonly waitingCount: number
  /** Of these, due and refused by their topic. */
  readonly parkedCount: number
  /** Could not be delivered, because the disk has damaged or lost them; since the start. */
  readonly lostCount: number
}

/** How often the wall clock was stepped by more than five seconds since the start. */
export interface ClockSteps {
  readonly forwardCount: number
  readonly backCount: number
}

/** Names and facts that clients and tools are told. */
export interface BrokerIdentity {
  readonly brokerName: string
  readonly clusterName: string
  /** Orrery's own version, as the tools show it. */
  readonly versionText: string
  /** The settings in force as `name=value` lines, for tools; secrets are left out. */
  readonly settingsText: string
}
