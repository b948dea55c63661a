import { assert, BrokerError } from '../../core/base/index.ts'
import type { Clock, Timers } from '../../core/platform/index.ts'
import type { ConsumeQueue, QueueRead, QueueReadRequest } from '../store/index.ts'
import { LongPolling } from './long-polling.ts'
import type { PendingPull, PullKind, PullResult } from './pending-pull.ts'

const NOTHING = Buffer.alloc(0)

export interface PullLimits {
  /** Reads at the same time: each holds up to 256 KiB until it has been handed to a socket. */
  readonly readingCountMax: number
  /** Pulls that wait for their turn or for memory; further ones are refused. */
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
 * pull for which there is no memory waits, beside others of its owner, until `resume` or the end of
 * another read; those of other owners pass it.
 */
export class PullService {
  readonly #source: PullSource
  readonly #limits: PullLimits
  readonly #polling: LongPolling
  readonly #stopWaking: () => void
  /** Wait until one of the reads under way has ended. */
  #turn: PendingPull[] = []
  /** Wait for memory, by owner. */
  readonly #short = new Map<object, PendingPull[]>()
  #shortCount = 0
  /** What the last read of a queue brought, where that was one message larger than a pull. */
  readonly #largeBytes = new WeakMap<ConsumeQueue, number>()
  #isShortFirst = false
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

  /** A client has caught up or gone: those that waited for memory get another look. */
  resume(): void {
    // Who has begun to wait last is first: those that wait for long are those that do not read.
    // Starting a read may end a connection, and with it an entry.
    for (const [owner, pulls] of [...this.#short].toReversed()) this.#resumeOf(owner, pulls)
  }

  /** The owner has gone: nothing of it waits any longer. */
  drop(owner: object): void {
    this.#polling.drop(owner)
    this.#shortCount -= this.#short.get(owner)?.length ?? 0
    this.#short.delete(owner)
    this.#turn = this.#turn.filter(pull => pull.asker.owner !== owner)
  }

  /** Parks nothing from now on; what is parked is answered. */
  close(): void {
    this.#isClosed = true
    this.#stopWaking()
    this.#polling.close()
  }

  #take(pull: PendingPull): void {
    const { asker, queue } = pull
    if (asker.isGone) return
    const settled = placeOf(queue, pull.scanOffset)
    if (settled !== undefined) this.#concludeWithoutRead(pull, settled)
    else if (this.#readingCount >= this.#limits.readingCountMax) this.#wait(pull, this.#turn)
    // Whoever waits already is first.
    else if (this.#short.has(asker.owner) || !this.#reserve(pull)) this.#waitShort(pull)
    else this.#run(pull)
  }

  #waitShort(pull: PendingPull): void {
    const { owner } = pull.asker
    const pulls = this.#short.get(owner) ?? []
    if (!this.#wait(pull, pulls)) return
    this.#short.set(owner, pulls)
    this.#shortCount++
  }

  /** False when it was refused. */
  #wait(pull: PendingPull, line: PendingPull[]): boolean {
    const waitingPulls = this.#turn.length + this.#shortCount
    if (waitingPulls < this.#limits.waitingCountMax) {
      line.push(pull)
      return true
    }
    pull.asker.fail(new BrokerError('TOO_MANY_REQUESTS', { waitingPulls }))
    return false
  }

  /** Starts the reads of one owner, in order, as far as there is memory. */
  #resumeOf(owner: object, pulls: PendingPull[]): void {
    while (this.#readingCount < this.#limits.readingCountMax && this.#short.get(owner) === pulls) {
      const [pull] = pulls
      if (pull === undefined) return
      const settled = placeOf(pull.queue, pull.scanOffset)
      if (settled === undefined && !this.#reserve(pull)) return
      pulls.shift()
      this.#shortCount--
      if (pulls.length === 0) this.#short.delete(owner)
      if (settled === undefined) this.#run(pull)
      else this.#concludeWithoutRead(pull, settled)
    }
  }

  /** Those that wait for their turn and those that wait for memory are first by turns. */
  #readEnded(): void {
    this.#readingCount--
    this.#isShortFirst = !this.#isShortFirst
    if (this.#isShortFirst) this.resume()
    while (this.#readingCount < this.#limits.readingCountMax) {
      // An answer may close its connection, which changes the line: one is taken out at a time.
      const pull = this.#turn.shift()
      if (pull === undefined) break
      this.#take(pull)
    }
    if (!this.#isShortFirst) this.resume()
  }

  #reserve(pull: PendingPull): boolean {
    pull.readBytes = Math.max(pull.readBytes, this.#largeBytes.get(pull.queue) ?? 0)
    return pull.asker.reserve(pull.readBytes)
  }

  /** Memory for it has been set aside. */
  #run(pull: PendingPull): void {
    let read: QueueRead | Promise<QueueRead>
    try {
      read = this.#source.readQueue(pull.queue, {
        fromOffset: pull.scanOffset,
        countMax: pull.countMax,
        bytesMax: pull.bytesMax,
        accepts: pull.accepts,
      })
    } catch (error) {
      pull.asker.release(pull.readBytes)
      throw error
    }
    if (read instanceof Promise) {
      void this.#concludeLater(pull, read)
      return
    }
    pull.asker.release(pull.readBytes)
    this.#conclude(pull, read)
  }

  async #concludeLater(pull: PendingPull, reading: Promise<QueueRead>): Promise<void> {
    const { asker } = pull
    this.#readingCount++
    try {
      const read = await reading.finally(() => {
        asker.release(pull.readBytes)
      })
      this.#conclude(pull, read)
    } catch (error) {
      if (!asker.isGone) asker.fail(error)
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
    if (asker.isGone || !this.#hasRoomFor(pull, read)) return
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

  /**
   * A message larger than what was set aside may be too much beside what came meanwhile: its pull
   * waits then, and is read again when there is room for it.
   */
  #hasRoomFor(pull: PendingPull, read: QueueRead): boolean {
    const { asker, queue } = pull
    if (read.bytes.length > pull.bytesMax) this.#largeBytes.set(queue, read.bytes.length)
    else this.#largeBytes.delete(queue)
    if (read.bytes.length <= pull.readBytes) return true
    pull.readBytes = read.bytes.length
    if (asker.reserve(pull.readBytes)) {
      asker.release(pull.readBytes)
      return true
    }
    this.#waitShort(pull)
    return false
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
  const { kind, status } = outcome
  const { bytes, count } = read
  return { kind, status, nextOffset, minOffset, maxOffset, bytes, count }
}
