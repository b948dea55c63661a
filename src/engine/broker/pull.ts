import { assert, BrokerError } from '../../core/base/index.ts'
import type { Clock, Timers } from '../../core/platform/index.ts'
import type { ConsumeQueue, QueueRead, QueueReadRequest } from '../store/index.ts'
import { LongPolling } from './long-polling.ts'
import type { PendingPull, PullKind, PullResult } from './pending-pull.ts'

const NOTHING = Buffer.alloc(0)

export interface PullLimits {
  /** Reads at the same time: each holds up to 256 KiB until it has been handed to a socket. */
  readonly readingCountMax: number
  /** Pulls that wait for their turn or for their client to catch up; further ones are refused. */
  readonly waitingCountMax: number
  /** Pulls that wait for a message; further ones are answered at once. */
  readonly parkedCountMax: number
}

const PULL_LIMITS: PullLimits = {
  readingCountMax: 32,
  waitingCountMax: 20_000,
  parkedCountMax: 100_000,
}

/** What a pull reads from. */
export interface PullSource {
  readQueue(queue: ConsumeQueue, request: QueueReadRequest): QueueRead | Promise<QueueRead>
  /** See `Store.onArrival`. */
  onArrival(listener: (queue: ConsumeQueue) => void): () => void
}

export interface PullParts {
  readonly source: PullSource
  readonly clock: Clock
  readonly timers: Timers
  readonly limits?: PullLimits
}

/**
 * Serves pulls: reads what is there, parks what finds nothing, and keeps both within bounds. A
 * pull whose client is behind waits until `resume`; others pass it.
 */
export class PullService {
  readonly #source: PullSource
  readonly #limits: PullLimits
  readonly #polling: LongPolling
  readonly #stopWaking: () => void
  /** Wait until one of the reads under way has ended. */
  #turn: PendingPull[] = []
  /** Wait until their client has taken what it was sent. */
  #behind: PendingPull[] = []
  #readingCount = 0
  #isClosed = false

  constructor(parts: PullParts) {
    this.#source = parts.source
    this.#limits = parts.limits ?? PULL_LIMITS
    this.#polling = new LongPolling({
      clock: parts.clock,
      timers: parts.timers,
      parkedCountMax: this.#limits.parkedCountMax,
      rerun: pull => {
        this.#take(pull)
      },
    })
    this.#stopWaking = parts.source.onArrival(queue => {
      this.#polling.wake(queue)
    })
  }

  get parkedCount(): number {
    return this.#polling.parkedCount
  }

  /** Answers the pull now or later. Errors, given to the asker: TOO_MANY_REQUESTS. */
  start(pull: PendingPull): void {
    if (this.#isClosed) pull.isFinal = true
    this.#take(pull)
  }

  /** A client has caught up or gone: those that waited for it get another look. */
  resume(): void {
    if (this.#behind.length === 0) return
    const behind = this.#behind
    this.#behind = []
    for (const pull of behind) this.#take(pull)
  }

  /** The owner has gone: nothing of it waits any longer. */
  drop(owner: object): void {
    this.#polling.drop(owner)
    this.#behind = without(this.#behind, owner)
    this.#turn = without(this.#turn, owner)
  }

  /** Parks nothing from now on; what is parked is answered. */
  close(): void {
    this.#isClosed = true
    this.#stopWaking()
    this.#polling.close()
  }

  #take(pull: PendingPull): void {
    const { state } = pull.asker
    if (state === 'gone') return
    const isBehind = state === 'behind'
    if (!isBehind && this.#readingCount < this.#limits.readingCountMax) {
      this.#run(pull)
      return
    }
    const waitingPulls = this.#turn.length + this.#behind.length
    if (waitingPulls >= this.#limits.waitingCountMax) {
      pull.asker.fail(new BrokerError('TOO_MANY_REQUESTS', { waitingPulls }))
    } else if (isBehind) {
      this.#behind.push(pull)
    } else {
      this.#turn.push(pull)
    }
  }

  #readEnded(): void {
    this.#readingCount--
    while (this.#readingCount < this.#limits.readingCountMax) {
      // An answer may close its connection, which changes the line: one is taken out at a time.
      const pull = this.#turn.shift()
      if (pull === undefined) return
      this.#take(pull)
    }
  }

  #run(pull: PendingPull): void {
    const { queue } = pull
    const settled = placeOf(queue, pull.scanOffset)
    if (settled !== undefined) {
      this.#concludeWithoutRead(pull, settled)
      return
    }
    const read = this.#source.readQueue(queue, {
      fromOffset: pull.scanOffset,
      countMax: pull.countMax,
      bytesMax: pull.bytesMax,
      accepts: pull.accepts,
    })
    if (read instanceof Promise) void this.#concludeLater(pull, read)
    else this.#conclude(pull, read)
  }

  async #concludeLater(pull: PendingPull, reading: Promise<QueueRead>): Promise<void> {
    this.#readingCount++
    try {
      this.#conclude(pull, await reading)
    } catch (error) {
      if (pull.asker.state !== 'gone') pull.asker.fail(error)
    } finally {
      this.#readEnded()
    }
  }

  #concludeWithoutRead(pull: PendingPull, result: PullResult): void {
    if (result.kind !== 'nothing') {
      pull.asker.answer(result)
    } else if (pull.isFinal || !this.#polling.park(pull)) {
      // What was scanned while it was parked need not be scanned again.
      const isAdvanced = pull.scanOffset > pull.askedOffset
      pull.asker.answer(isAdvanced ? resultOf(pull.queue, pull.scanOffset, NO_MATCH) : result)
    }
  }

  #conclude(pull: PendingPull, read: QueueRead): void {
    const { asker, queue } = pull
    if (asker.state === 'gone') return
    assert(read.nextOffset >= pull.scanOffset, 'a read must not go back')
    if (read.count > 0) {
      asker.answer(resultOf(queue, read.nextOffset, FOUND, read))
    } else if (read.removed) {
      const nextOffset = Math.max(read.nextOffset, queue.minOffset)
      asker.answer(resultOf(queue, nextOffset, REMOVED))
    } else if (this.#mayParkAgain(pull, read.nextOffset)) {
      pull.scanOffset = read.nextOffset
      if (!this.#polling.park(pull)) asker.answer(resultOf(queue, read.nextOffset, NO_MATCH))
    } else {
      asker.answer(resultOf(queue, read.nextOffset, NO_MATCH))
    }
  }

  /** As long as only messages with other tags come, a parked pull stays parked. */
  #mayParkAgain(pull: PendingPull, nextOffset: number): boolean {
    return pull.wasParked && !pull.isFinal && nextOffset >= pull.queue.maxOffset
  }
}

/** The answer for an offset at which there is nothing to read; `undefined` when there may be. */
function placeOf(queue: ConsumeQueue, offset: number): PullResult | undefined {
  const { minOffset, maxOffset } = queue
  if (maxOffset === 0) {
    const kind = offset === 0 ? 'nothing' : 'moved'
    return resultOf(queue, 0, { kind, status: 'NO_MESSAGE_IN_QUEUE' })
  }
  if (offset < minOffset) return resultOf(queue, minOffset, TOO_SMALL)
  if (offset === maxOffset) return resultOf(queue, offset, AT_END)
  if (offset > maxOffset) return resultOf(queue, maxOffset, TOO_LARGE)
  return undefined
}

interface Outcome {
  readonly kind: PullKind
  /** RocketMQ's name for it. */
  readonly status: string
}

const FOUND: Outcome = { kind: 'found', status: 'FOUND' }
const NO_MATCH: Outcome = { kind: 'again', status: 'NO_MATCHED_MESSAGE' }
const REMOVED: Outcome = { kind: 'again', status: 'MESSAGE_WAS_REMOVING' }
const TOO_SMALL: Outcome = { kind: 'moved', status: 'OFFSET_TOO_SMALL' }
const AT_END: Outcome = { kind: 'nothing', status: 'OFFSET_OVERFLOW_ONE' }
const TOO_LARGE: Outcome = { kind: 'moved', status: 'OFFSET_OVERFLOW_BADLY' }
const NO_RECORDS = { bytes: NOTHING, count: 0 }

function resultOf(
  queue: ConsumeQueue,
  nextOffset: number,
  outcome: Outcome,
  read: { readonly bytes: Buffer; readonly count: number } = NO_RECORDS,
): PullResult {
  const { minOffset, maxOffset } = queue
  const { bytes, count } = read
  return { ...outcome, nextOffset, minOffset, maxOffset, bytes, count }
}

function without(pulls: PendingPull[], owner: object): PendingPull[] {
  if (pulls.length === 0) return pulls
  return pulls.filter(pull => pull.asker.owner !== owner)
}
