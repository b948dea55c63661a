import type { ConsumeQueue } from '../store/index.ts'

/** Who asked for a pull: one request on one connection. */
export interface PullAsker {
  /** Whose end drops the pull: the connection. */
  readonly owner: object
  /** Nothing reaches it any more. */
  readonly isGone: boolean
  /**
   * Sets memory aside for what a read brings, until `release`; false when so much is on its way to
   * the owner, or to all, that reading more would only fill memory.
   */
  reserve(bytes: number): boolean
  release(bytes: number): void
  /** One of these two is called, once, unless it is gone. */
  answer(result: PullResult): void
  fail(error: unknown): void
}

/**
 * What a pull comes to. `found`: messages. `nothing`: none at this place yet. `again`: none in
 * what was scanned; pull at `nextOffset` at once. `moved`: the offset is out of range; go on at
 * `nextOffset`.
 */
export type PullKind = 'found' | 'nothing' | 'again' | 'moved'

export interface PullResult {
  readonly kind: PullKind
  /** RocketMQ's name for it. */
  readonly status: string
  readonly nextOffset: number
  readonly minOffset: number
  readonly maxOffset: number
  /** Whole records one after the other; empty unless found. Safe to keep. */
  readonly bytes: Buffer
  readonly count: number
}

export interface PendingPullFields {
  readonly asker: PullAsker
  readonly queue: ConsumeQueue
  readonly offset: number
  readonly countMax: number
  readonly bytesMax: number
  /** Tells by the consume queue's tags code; `undefined` takes all. */
  readonly accepts: ((tagsCode: number) => boolean) | undefined
  /** Uptime until which it may wait for a message; 0: it is answered at once. */
  readonly deadlineUptimeMs: number
}

/** One pull on its way: waiting for its turn, being read, or parked until a message comes. */
export class PendingPull {
  readonly asker: PullAsker
  readonly queue: ConsumeQueue
  readonly askedOffset: number
  readonly countMax: number
  readonly bytesMax: number
  readonly accepts: ((tagsCode: number) => boolean) | undefined
  readonly deadlineUptimeMs: number
  /** Nothing from `askedOffset` to here matches: what came while it was parked. */
  scanOffset: number
  /** True once it must be answered, whatever there is. */
  isFinal: boolean
  /** What its read may bring: more than `bytesMax` once a message is known to be larger. */
  readBytes: number
  /** True once it has been parked: it may be again, while nothing that matches has come. */
  wasParked = false

  constructor(fields: PendingPullFields) {
    this.asker = fields.asker
    this.queue = fields.queue
    this.askedOffset = fields.offset
    this.countMax = fields.countMax
    this.bytesMax = fields.bytesMax
    this.accepts = fields.accepts
    this.deadlineUptimeMs = fields.deadlineUptimeMs
    this.scanOffset = fields.offset
    this.readBytes = fields.bytesMax
    this.isFinal = fields.deadlineUptimeMs === 0
  }
}
