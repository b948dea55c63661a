import { othersTurn, type Timers } from '../../../../core/platform/index.ts'
import type { Store } from '../../../store/index.ts'
import type { Chunk, ChunkPlace } from '../../chunk.ts'
import type { ParkedStore } from '../../parked/parked-store.ts'
import type { TimerRef } from '../chunk-search.ts'
import type { LoadedBlocks } from '../loaded-blocks.ts'
import type { PartitionTable } from '../partition-table.ts'
import { IN_LOG, PARKED_BLOCK, type Window } from '../window.ts'
import { type ChunkRange, type ChunkRanges, holdChunks, untakenRange } from './chunk-ranges.ts'
import type { WaitingQuery } from './waiting-list.ts'
import type { WaitingMessages } from './waiting-messages.ts'

/** Slots of the window that are looked at before other work gets its turn. */
const STEP_COUNT = 4_096

/** Where a message was met. */
export type MetAt =
  | ({ readonly kind: 'chunk'; readonly chunk: Chunk } & ChunkPlace)
  /** Refused by its topic. */
  | { readonly kind: 'parked' }
  /** It waited when the walk began; where it is now is not known. */
  | { readonly kind: 'somewhere' }

/** What is done with the messages that a walk meets. */
export interface WalkVisitor {
  /** Marks may be in files, and not counted: they are counted. */
  readonly recounts: boolean
  /** True: all of the chunk is dealt with, and it need not be read. */
  readonly takeWhole: (chunk: Chunk) => boolean
  /** In a slot of the window; false: it is to be met once more, as `somewhere`. */
  readonly meetInSlot: (ref: TimerRef, slot: number) => boolean
  /** In a chunk it must be dealt with at once; what it promises is waited for elsewhere. */
  readonly meet: (ref: TimerRef, at: MetAt) => Promise<void> | void
}

/**
 * Goes once through everything that waits at the moment it begins, in no order: where it lies is
 * noted in one turn of the loop. What comes later is not met; what leaves meanwhile may be met or
 * not; nothing is met twice.
 */
export class WaitingWalk {
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

  /** Errors: STORE_FAILED. */
  async go(query: WaitingQuery, visitor: WalkVisitor): Promise<void> {
    const { table, store, blocks } = this.#parts
    const isOfWindow = query.isParked !== true
    const ranges: ChunkRange[] = []
    for (const chunk of isOfWindow ? table.untakenChunks() : []) {
      if (chunk.dueMaxMs < query.fromMs || chunk.dueMinMs >= query.toMs) continue
      if (!visitor.takeWhole(chunk)) ranges.push(untakenRange(chunk, visitor.recounts))
    }
    const parked = query.isParked === false ? [] : this.#refused(query)
    const until = { endOffset: store.endOffset, blockNumber: blocks.nextNumber }
    const release = holdChunks(ranges)
    try {
      if (isOfWindow) await this.#goThroughWindow(query, visitor, until)
      for (const range of ranges) await this.#goThroughRange(range, query, visitor)
    } finally {
      release()
    }
    for (const ref of parked) await this.#meetRead(ref, query, { visitor, kind: 'parked' })
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

  async #goThroughWindow(
    query: WaitingQuery,
    visitor: WalkVisitor,
    until: { readonly endOffset: number; readonly blockNumber: number },
  ): Promise<void> {
    const { messages, timers } = this.#parts
    const { entries } = this.#parts.window
    const { slotCount } = entries
    for (let next = 0; next < slotCount;) {
      const unread: TimerRef[] = []
      const left: TimerRef[] = []
      next = entries.visit(next, Math.min(STEP_COUNT, slotCount - next), slot => {
        const ref = { timerId: entries.timerId(slot), deliverTimeMs: entries.deliverTimeMs(slot) }
        // Copied to a chunk or not: it came straight from the log.
        const isDirect = entries.position(slot) === IN_LOG || entries.block(slot) === PARKED_BLOCK
        const isNew = isDirect
          ? ref.timerId >= until.endOffset
          : entries.block(slot) >= until.blockNumber
        if (isNew || !isIn(query, ref) || !messages.waitsInWindow(slot)) return
        if (query.matches !== undefined) {
          const at = messages.inMemory(slot)
          if (at === undefined) unread.push(ref)
          if (at === undefined || !query.matches(at.source, at.position, ref)) return
        }
        if (!visitor.meetInSlot(ref, slot)) left.push(ref)
      })
      for (const ref of left) await visitor.meet(ref, { kind: 'somewhere' })
      for (const ref of unread) await this.#meetRead(ref, query, { visitor, kind: 'somewhere' })
      await othersTurn(timers)
    }
  }

  async #goThroughRange(
    range: ChunkRange,
    query: WaitingQuery,
    visitor: WalkVisitor,
  ): Promise<void> {
    const { chunk } = range
    await this.#parts.ranges.read(range, {
      wants: (ref, source, from) => {
        return isIn(query, ref) && query.matches?.(source, from, ref) !== false
      },
      see: (ref, { position, from, to }) => {
        void visitor.meet(ref, { kind: 'chunk', chunk, position, recordBytes: to - from })
      },
      follow: async ref => {
        await visitor.meet(ref, { kind: 'somewhere' })
      },
    })
  }

  /** Its bytes were not in memory. */
  async #meetRead(
    ref: TimerRef,
    query: WaitingQuery,
    { visitor, kind }: { readonly visitor: WalkVisitor; readonly kind: 'parked' | 'somewhere' },
  ): Promise<void> {
    if (query.matches !== undefined) {
      const record = await this.#parts.messages.fromDisk(ref.timerId)
      if (record === undefined || !query.matches(record, 0, ref)) return
    }
    await visitor.meet(ref, { kind })
  }
}

function isIn({ fromMs, toMs }: WaitingQuery, { deliverTimeMs }: TimerRef): boolean {
  return deliverTimeMs >= fromMs && deliverTimeMs < toMs
}
