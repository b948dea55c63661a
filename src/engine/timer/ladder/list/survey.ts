import { Gate } from '../../../../core/base/index.ts'
import type { Timers } from '../../../../core/platform/index.ts'
import type { Store } from '../../../store/index.ts'
import type { Chunk } from '../../chunk.ts'
import type { ParkedStore } from '../../parked/parked-store.ts'
import type { TimerRef } from '../chunk-search.ts'
import type { LoadedBlocks } from '../loaded-blocks.ts'
import type { PartitionTable } from '../partition-table.ts'
import { IN_LOG, PARKED_BLOCK, type Window } from '../window.ts'
import { type ChunkRange, type ChunkRanges, untakenRange } from './chunk-ranges.ts'
import type { Tally } from './tally.ts'
import type { WaitingQuery } from './waiting-list.ts'
import type { WaitingMessages } from './waiting-messages.ts'

/** Slots of the window that are looked at before other work gets its turn. */
const STEP_COUNT = 4_096

/**
 * Counts waiting messages by their deliver times. What is asked of all messages comes from what
 * chunks know of themselves, as far as a chunk lies within one step of the tally; the rest is read.
 */
export class Survey {
  readonly #parts: {
    readonly timers: Timers
    readonly store: Store
    readonly table: PartitionTable
    readonly window: Window
    readonly blocks: LoadedBlocks
    readonly parked: ParkedStore
    readonly messages: WaitingMessages
    readonly ranges: ChunkRanges
  }
  /** One at a time: each may read all there is. */
  readonly #gate = new Gate(1)

  constructor(parts: {
    timers: Timers
    store: Store
    table: PartitionTable
    window: Window
    blocks: LoadedBlocks
    parked: ParkedStore
    messages: WaitingMessages
    ranges: ChunkRanges
  }) {
    this.#parts = parts
  }

  /**
   * Adds to the tally what waits when its turn comes. What leaves while it counts may be counted
   * or not, and nothing twice. Errors: STORE_FAILED.
   */
  count(query: WaitingQuery, tally: Tally): Promise<void> {
    return this.#gate.run(1, () => this.#count(query, tally))
  }

  async #count(query: WaitingQuery, tally: Tally): Promise<void> {
    const { table, store, blocks, messages } = this.#parts
    const isOfWindow = query.isParked !== true
    const ranges: ChunkRange[] = []
    for (const chunk of isOfWindow ? table.untakenChunks() : []) {
      if (chunk.dueMaxMs < query.fromMs || chunk.dueMinMs >= query.toMs) continue
      const isExact = query.matches === undefined && !messages.haveLeftOvers
      if (!isExact || !countWhole(chunk, query, tally)) ranges.push(untakenRange(chunk))
    }
    const parked = query.isParked === false ? [] : this.#refused(query)
    // What comes later is in the chunks that are counted, or new.
    const until = { endOffset: store.endOffset, blockNumber: blocks.nextNumber }
    const release = this.#parts.ranges.hold(ranges)
    try {
      if (isOfWindow) await this.#countWindow(query, tally, until)
      for (const range of ranges) await this.#countRange(range, query, tally)
    } finally {
      release()
    }
    for (const ref of parked) await this.#countRead(ref, query, tally)
  }

  #refused(query: WaitingQuery): readonly TimerRef[] {
    const { parked, messages } = this.#parts
    const refs: TimerRef[] = []
    const accepts = (ref: TimerRef): boolean => isIn(query, ref) && messages.waits(ref.timerId)
    parked.visitRefused(accepts, place => {
      refs.push({ timerId: place.timerId, deliverTimeMs: place.deliverTimeMs })
    })
    return refs
  }

  async #countWindow(
    query: WaitingQuery,
    tally: Tally,
    until: { readonly endOffset: number; readonly blockNumber: number },
  ): Promise<void> {
    const { window, messages, timers } = this.#parts
    const { slotCount } = window
    for (let next = 0; next < slotCount;) {
      const unread: TimerRef[] = []
      next = window.visit(next, Math.min(STEP_COUNT, slotCount - next), slot => {
        const ref = { timerId: window.timerId(slot), deliverTimeMs: window.deliverTimeMs(slot) }
        // Copied to a chunk or not: it came straight from the log.
        const isDirect = window.position(slot) === IN_LOG || window.block(slot) === PARKED_BLOCK
        const isNew = isDirect
          ? ref.timerId >= until.endOffset
          : window.block(slot) >= until.blockNumber
        if (isNew || !isIn(query, ref) || !messages.waitsInWindow(slot)) return
        if (query.matches === undefined) {
          tally.add(ref.deliverTimeMs, 1)
          return
        }
        const at = messages.inMemory(slot)
        if (at === undefined) unread.push(ref)
        else if (query.matches(at.source, at.position)) tally.add(ref.deliverTimeMs, 1)
      })
      for (const ref of unread) await this.#countRead(ref, query, tally)
      await new Promise<void>(resolve => timers.soon(resolve))
    }
  }

  async #countRange(range: ChunkRange, query: WaitingQuery, tally: Tally): Promise<void> {
    await this.#parts.ranges.read(range, (ref, source, from) => {
      if (!isIn(query, ref)) return
      if (query.matches?.(source, from) !== false) tally.add(ref.deliverTimeMs, 1)
    })
  }

  async #countRead(ref: TimerRef, query: WaitingQuery, tally: Tally): Promise<void> {
    if (query.matches === undefined) {
      tally.add(ref.deliverTimeMs, 1)
      return
    }
    const record = await this.#parts.messages.fromDisk(ref.timerId)
    if (record !== undefined && query.matches(record, 0)) tally.add(ref.deliverTimeMs, 1)
  }
}

/** Counts what waits in a chunk without reading it, if all of it is meant and in one step. */
function countWhole(chunk: Chunk, query: WaitingQuery, tally: Tally): boolean {
  const { dueMinMs, dueMaxMs } = chunk
  if (dueMinMs < query.fromMs || dueMaxMs >= query.toMs) return false
  if (tally.isOneStep(dueMinMs, dueMaxMs)) tally.add(dueMinMs, chunk.untakenCount)
  else if (chunk.untakenBytes > tally.readBytesMax) tally.spread(chunk, chunk.untakenCount)
  else return false
  return true
}

function isIn({ fromMs, toMs }: WaitingQuery, { deliverTimeMs }: TimerRef): boolean {
  return deliverTimeMs >= fromMs && deliverTimeMs < toMs
}
