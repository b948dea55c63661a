import type { ConsumeQueue } from './consume-queue.ts'

/** What happens beside the consume queue when records of one topic are applied. */
export interface TopicApplier {
  /** Tags code of a record that is read back from the log at recovery. */
  tagsCodeOf(source: Buffer, position: number): number
  /**
   * A record of this topic is durable and visible now. `source` holds it at `position` during the
   * call only.
   */
  apply(record: AppliedRecord): void
}

/** Sees the records of all topics when they are applied. */
export interface RecordApplier {
  /**
   * A record is durable and visible now. `source` holds it at `position` during the call only.
   * Recovery shows also some that were applied before the last checkpoint.
   */
  apply(record: AppliedRecord): void
}

/** One object that is filled again for each record: copy what you keep. */
export interface AppliedRecord {
  queue: ConsumeQueue
  commitLogOffset: number
  sizeBytes: number
  tagsCode: number
  queueOffset: number
  source: Buffer
  position: number
}

/** An object to fill for each record, made when the first one comes. */
export function emptyAppliedRecord(queue: ConsumeQueue): AppliedRecord {
  return {
    queue,
    commitLogOffset: 0,
    sizeBytes: 0,
    tagsCode: 0,
    queueOffset: 0,
    source: Buffer.alloc(0),
    position: 0,
  }
}

/**
 * A part of the broker whose state belongs into the manifest. The store calls, in this order:
 * `prepare`, `snapshot` (all participants at one moment), `write`, and after the manifest is
 * durable `committed`.
 */
export interface CheckpointParticipant {
  readonly name: string
  /**
   * The manifest should be written now: before work begins, when recovery needs something that it
   * does not say yet; later, before its time.
   */
  readonly needsCheckpoint?: boolean
  /** Brings pending work to a point that a snapshot can describe. */
  prepare?(): Promise<void>
  /** State as plain JSON, in which everything below `appliedOffset` of the log is contained. */
  snapshot(appliedOffset: number): unknown
  /** Makes durable what the latest snapshot refers to. */
  write?(): Promise<void>
  /** Called during a long recovery: write out what has gathered in memory. */
  relieve?(): Promise<void>
  /** The snapshot is durable: what it no longer names may go. */
  committed?(): Promise<void>
}
