import { BrokerError, type ErrorDetails } from '../../core/base/index.ts'
import {
  recordBodyEnd,
  recordBodyStart,
  recordProperties,
  recordTopic,
  TIMER_TOPIC,
} from '../../model/message/index.ts'
import {
  asksForProperties,
  type BulkOrder,
  bulkOrderOf,
  matchesProperties,
} from '../../model/schedule/index.ts'
import { type CheckpointParticipant, ManifestFields } from '../store/index.ts'
import type { TimerRef } from './ladder/chunk-search.ts'
import type { WaitingQuery } from './ladder/list/waiting-list.ts'

/** Of an order that this build cannot carry out: to pass over it would break what was answered. */
const ORDER_HINT = 'start the build that wrote it, and stop it once the change is carried out'

/** A change of all messages that a filter means. */
export interface BulkJob {
  readonly order: BulkOrder
  /** Log offset of its record: messages accepted, or moved, before it are meant. */
  readonly offset: number
  /** The record is durable: from then on the change holds. */
  isApplied: boolean
  /** Everything that it means is changed. */
  isDone: boolean
  /** How many messages it has changed, in this process. */
  count: number
  /** Begun by an earlier process: it may have left marks that the manifest does not count. */
  readonly isRecovered: boolean
}

/** As the manifest has it. */
interface JobSection {
  readonly offset: number
  readonly order: BulkOrder
}

/**
 * Changes of all messages that a filter means, from the moment they are decided until they are
 * carried out. A cancel holds from the moment its record is durable: what it covers is not
 * delivered, nor listed, although its mark is still to be written.
 */
export class BulkChanges implements CheckpointParticipant {
  readonly name = 'bulk'
  #jobs: BulkJob[] = []

  /** `section` is that of the manifest, `undefined` in a new store. Errors: STORE_DAMAGED. */
  constructor(section: unknown) {
    this.#jobs = jobSectionsOf(section).map(({ offset, order }) => {
      return { ...newJob(offset, order, true), isApplied: true }
    })
  }

  /** Not carried out yet. */
  get active(): readonly BulkJob[] {
    return this.#jobs.filter(job => !job.isDone)
  }

  /** The same query without what a cancel covers. */
  standing(query: WaitingQuery): WaitingQuery {
    if (this.#jobs.length === 0) return query
    return {
      ...query,
      matches: (source, position, ref) => {
        if (this.cancelOf(ref, source, position) !== undefined) return false
        return query.matches?.(source, position, ref) !== false
      },
    }
  }

  /** It is decided: its record is in the log, not yet durable. */
  begin(offset: number, order: BulkOrder): BulkJob {
    return this.#add(newJob(offset, order, false))
  }

  /**
   * The record at `offset` is durable; recovery may find it again although the manifest has it.
   * Errors: STORE_DAMAGED for an order that this build does not know.
   */
  applied(offset: number, source: Buffer, position: number): void {
    const known = this.#jobs.find(job => job.offset === offset)
    const job = known ?? this.#add(newJob(offset, bulkOrderAt(offset, source, position), true))
    job.isApplied = true
  }

  /**
   * The cancel that covers a message, by its accept record at `position`: it must not be delivered
   * any more.
   */
  cancelOf(ref: TimerRef, source: Buffer, position: number): BulkJob | undefined {
    return this.#cancelOf(true, ref, source, position)
  }

  /** A cancel that covers it, decided and not durable: what becomes of it is not known yet. */
  undecidedOf(ref: TimerRef, source: Buffer): BulkJob | undefined {
    return this.#cancelOf(false, ref, source, 0)
  }

  #add(job: BulkJob): BulkJob {
    this.#jobs.push(job)
    return job
  }

  #cancelOf(
    isApplied: boolean,
    ref: TimerRef,
    source: Buffer,
    position: number,
  ): BulkJob | undefined {
    // Asked for every message that is delivered: mostly there is none.
    if (this.#jobs.length === 0) return undefined
    return this.#jobs.find(job => {
      if (job.isApplied !== isApplied || job.order.change.kind !== 'cancel') return false
      return covers(job, ref, source, position)
    })
  }

  snapshot(): readonly JobSection[] {
    // What is done is in the files that this snapshot names.
    this.#jobs = this.#jobs.filter(job => !job.isDone)
    return this.#jobs.filter(job => job.isApplied).map(({ offset, order }) => ({ offset, order }))
  }
}

function newJob(offset: number, order: BulkOrder, isRecovered: boolean): BulkJob {
  return { offset, order, isApplied: false, isDone: false, count: 0, isRecovered }
}

/**
 * The order in the record at `offset` of the log, which lies at `position`. Errors: STORE_DAMAGED
 * when this build does not know it.
 */
export function bulkOrderAt(offset: number, source: Buffer, position: number): BulkOrder {
  const start = recordBodyStart(source, position)
  const body = source.toString('utf8', start, recordBodyEnd(source, position))
  return knownOrder(() => JSON.parse(body), { file: 'commitlog', offset })
}

/** Errors: STORE_DAMAGED, with `where` it was read. */
function knownOrder(read: () => unknown, where: ErrorDetails): BulkOrder {
  try {
    return bulkOrderOf(read())
  } catch (error) {
    const reason = 'a change by filter that this build does not know'
    throw new BrokerError('STORE_DAMAGED', { ...where, reason, hint: ORDER_HINT }, error)
  }
}

/** Whether a job means a message. Messages of delay levels have no id, and are never meant. */
export function covers(
  { order, offset }: Pick<BulkJob, 'order' | 'offset'>,
  { timerId, deliverTimeMs }: TimerRef,
  source: Buffer,
  position: number,
): boolean {
  const { filter } = order
  if (timerId >= offset) return false
  if (deliverTimeMs < (filter.fromMs ?? 0) || deliverTimeMs >= (filter.toMs ?? Infinity))
    return false
  if (recordTopic(source, position) !== TIMER_TOPIC) return false
  return !asksForProperties(filter) || matchesProperties(filter, recordProperties(source, position))
}

function jobSectionsOf(section: unknown): readonly JobSection[] {
  if (section === undefined) return []
  const fields = new ManifestFields({ bulk: section }, 'sections')
  return fields.objects('bulk').map(job => {
    const offset = job.count('offset')
    const order = job.object('order').values()
    const where = { file: 'manifest', field: 'sections.bulk', offset }
    return { offset, order: knownOrder(() => order, where) }
  })
}
