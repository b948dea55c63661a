import type { BulkChange } from './bulk-change.ts'
import type { ScheduledState, ScheduleFilter } from './filter.ts'

/**
 * What users do with waiting messages, whoever keeps them. Served by the broker; later also by a
 * cluster.
 */
export interface SchedulePort {
  /**
   * Cancels a waiting message. Durable when it resolves.
   *
   * - `cancelled`: it is never delivered. Asked again while its time has not come: the same.
   * - `too-late`: it does not wait any more, or is being delivered.
   * - `unknown`: no message of this id is known here.
   *
   * By its own key it is known while it waits and for about an hour after its time.
   *
   * Errors: MESSAGE_ID_INVALID; PARAMETER_INVALID (topic or own key); STORE_FULL, STORE_BUSY (by
   * own key also while the index of own keys is made again), STORE_FAILED, SHUTTING_DOWN and
   * MESSAGE_UNREADABLE, after which it may be asked again.
   */
  cancel(ref: MessageRef): Promise<CancelResult>

  /**
   * Accepts a message with an own key; when another with the key waits in the topic, it takes its
   * place, or, with `absent`, leaves it there. Never do two of one key wait. Durable when it
   * resolves: then the message that was replaced is cancelled. One that is being delivered is too
   * late to replace, and the new one waits beside it.
   *
   * Errors: those of sending; MESSAGE_INVALID without an own key or a deliver time; STORE_BUSY, also
   * while the index of own keys is made again; MESSAGE_UNREADABLE.
   */
  replaceByKey(message: NewMessage, when: ReplaceWhen): Promise<ReplaceResult>

  /**
   * Gives a waiting message another deliver time, earlier or later; one that has come means now. It
   * keeps its id. Durable when it resolves; the results are those of `cancel`.
   *
   * Errors: those of `cancel`, those of a deliver time (DELAY_NEGATIVE, DELIVER_TIME_IN_SECONDS,
   * DELIVER_TIME_TOO_FAR, DELAY_INVALID when it is no whole number), PROPERTIES_TOO_LARGE without
   * room for what a move adds, MESSAGE_TOO_LARGE when `log.cacheBytes` is too little for it by now.
   */
  move(ref: MessageRef, deliverTimeMs: number): Promise<MoveResult>

  /**
   * A waiting message with all of it; `undefined` when it does not wait: it is delivered,
   * cancelled or not known.
   *
   * Errors: MESSAGE_ID_INVALID; PARAMETER_INVALID (topic or own key); STORE_BUSY while the index of
   * own keys is made again, or when too many lists are under way; MESSAGE_UNREADABLE; STORE_FAILED,
   * and, when it is being changed while the store stops, STORE_FULL and SHUTTING_DOWN.
   */
  find(ref: MessageRef): Promise<WholeMessage | undefined>

  /**
   * Waiting messages by deliver time; where very many are due within a short time, by id. A page
   * may have fewer messages than asked for, or none, and still name a next one: it took as long as
   * a page may. A message that is moved meanwhile may be in two pages or none.
   *
   * Errors: PARAMETER_INVALID, STORE_FAILED; STORE_BUSY when too many lists and counts are under way.
   */
  list(filter: ScheduleFilter, page: PageRequest): Promise<Page>

  /** How many wait. Errors: those of `list`. */
  count(filter: ScheduleFilter): Promise<number>

  /** How many become due in each step of a time. Errors: those of `list`. */
  forecast(filter: ScheduleFilter, steps: ForecastSteps): Promise<Forecast>

  /**
   * Changes all waiting messages that the filter means and that were accepted, or last moved, before
   * it is asked. With `dryRun` it only counts them.
   *
   * A cancel is one decision: it holds for all of them from the moment it is durable, also over a
   * crash, and what it counts has not been delivered and never will be. A shift moves one after the
   * other; after a restart it goes on. Resolves when all is done.
   *
   * Errors: PARAMETER_INVALID, also for a filter with a state; BULK_CHANGES_TOO_MANY; those of
   * `cancel`. After SHUTTING_DOWN the change may go on with the next start.
   */
  changeAll(filter: ScheduleFilter, change: BulkChange, dryRun: boolean): Promise<ChangeCount>

  limits(): ScheduleLimits
}

/** A scheduled message. */
export type MessageRef = IdRef | KeyRef

export interface IdRef {
  /** What the send of it was answered with: its recall handle. */
  readonly id: string
}

/** The latest message with this own key. */
export interface KeyRef {
  readonly topic: string
  readonly key: string
}

/** A message to accept, as a door has decoded it. */
export interface NewMessage {
  readonly topic: string
  /** Below 0: the broker chooses. */
  readonly queueId: number
  /** How many queues the sender wishes for a topic that does not exist yet. */
  readonly wishedQueueCount: number
  readonly flag: number
  readonly sysFlag: number
  /** By the sender's clock. */
  readonly bornTimeMs: number
  /** The sender's address: 8 or 20 bytes. */
  readonly bornHost: Buffer
  /** Encoded, as sent: ORRERY_KEY and what asks for a deliver time among them. */
  readonly properties: string
  /** Must not change until it is accepted. */
  readonly body: Buffer
  /** When it arrived: delays count from here. */
  readonly nowMs: number
}

export type ReplaceWhen = 'always' | 'absent'

export type ReplaceResult =
  | (NewPlace & { readonly kind: 'created' })
  /** `replacedId` is cancelled now. */
  | (NewPlace & { readonly kind: 'replaced'; readonly replacedId: string })
  /** With `absent`: the message with `id` waits and has the key. */
  | { readonly kind: 'exists'; readonly id: string }

/** Of a message that was accepted. */
export interface NewPlace {
  readonly id: string
  readonly deliverTimeMs: number
  /** In its topic. */
  readonly queueId: number
  /** Commit log offset of its accept record. */
  readonly commitLogOffset: number
}

export type CancelResult = 'cancelled' | 'too-late' | 'unknown'

export type MoveResult =
  /** `deliverTimeMs` is never before the moment of the move. */
  | { readonly kind: 'moved'; readonly deliverTimeMs: number }
  /** It was cancelled, and stays so. */
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'too-late' }
  | { readonly kind: 'unknown' }

/** A waiting message as lists show it. */
export interface ScheduledMessage {
  /** `undefined`: it came with a delay level, and is listed since it is parked. */
  readonly id: string | undefined
  readonly topic: string
  readonly deliverTimeMs: number
  readonly state: ScheduledState
  /** When the broker accepted it, or last moved it. */
  readonly acceptTimeMs: number
  /** UNIQ_KEY: what consumers will know it by. */
  readonly uniqueKey: string
  readonly tag: string | undefined
  /** With its own key, if it has one. */
  readonly keys: readonly string[]
  readonly bodyBytes: number
}

export interface WholeMessage extends ScheduledMessage {
  /** Those that its consumers will see. */
  readonly properties: ReadonlyMap<string, string>
  readonly body: Buffer
}

export interface PageRequest {
  /** From 1 to `ScheduleLimits.pageSizeMax`. */
  readonly limit: number
  /** `nextCursor` of the page before, of the same filter; `undefined`: the first page. */
  readonly cursor: string | undefined
}

export interface Page {
  readonly messages: readonly ScheduledMessage[]
  /** `undefined`: nothing follows. */
  readonly nextCursor: string | undefined
}

/** Of equal width; the last one may reach beyond `toMs`, and counts what is due before it. */
export interface ForecastSteps {
  readonly fromMs: number
  /** Not included. */
  readonly toMs: number
  readonly stepMs: number
}

export interface Forecast {
  /** One for each step. */
  readonly counts: readonly number[]
  /** How many of them are estimates: far ones are counted by partition, and spread evenly over it. */
  readonly estimatedCount: number
}

export interface ChangeCount {
  readonly changedCount: number
  /**
   * Could not be shifted, and stay as they are: they would be due beyond the longest delay, their
   * properties have no room for what a move adds, they do not fit the memory of the log any more, or
   * they could not be read in ten tries.
   */
  readonly refusedCount: number
}

/** What is refused beyond these, and by which option they change. */
export interface ScheduleLimits {
  /** Option `timer.delayMsMax`. */
  readonly delayMsMax: number
  /** Milliseconds of each delay level, that of level 1 first. Option `messageDelayLevel`. */
  readonly levelsMs: readonly number[]
  /** Messages of one page. */
  readonly pageSizeMax: number
  /** Steps of one forecast. */
  readonly forecastStepsMax: number
}
