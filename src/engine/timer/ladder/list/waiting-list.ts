import { Gate } from '../../../../core/base/index.ts'
import type { Chunk } from '../../chunk.ts'
import type { ParkedPlace } from '../../parked/parked-table.ts'
import type { ParkedStore } from '../../parked/parked-store.ts'
import type { ChunkSearch, TimerRef } from '../chunk-search.ts'
import type { Finder } from '../finder.ts'
import type { PartitionTable } from '../partition-table.ts'
import type { Window } from '../window.ts'
import { type ChunkRanges, holdChunks } from './chunk-ranges.ts'
import { Least, type Most } from './least.ts'
import { type ListPosition, positionAt } from './list-order.ts'
import { Look } from './look.ts'
import { nextSegment, type Segment } from './segment.ts'
import type { WaitingMessages } from './waiting-messages.ts'

/** Messages of the window, and of the parked store, that one step looks at; no bytes of theirs. */
const LOOKED_AT: Most = { count: 2_048, bytes: Infinity }

/** A waiting message as it is listed. */
export interface ListedMessage extends TimerRef {
  /** Its time has come, and its topic refuses it. */
  readonly isParked: boolean
  /** A copy of its accept record. */
  readonly record: Buffer
}

/** Which waiting messages are meant. */
export interface WaitingQuery {
  /** Earliest deliver time, included. */
  readonly fromMs: number
  /** Latest deliver time, not included. */
  readonly toMs: number
  /** What is parked, or what waits for its time; `undefined`: both. */
  readonly isParked: boolean | undefined
  /** Said of the accept record at a position. `undefined`: all. */
  readonly matches: ((source: Buffer, position: number, ref: TimerRef) => boolean) | undefined
}

export interface ListStep {
  /** In order; perhaps none, although more may follow. */
  readonly messages: readonly ListedMessage[]
  /** Where to go on; `undefined`: this was the end. */
  readonly next: ListPosition | undefined
}

interface SlotRef extends TimerRef {
  readonly slot: number
}

/**
 * Lists waiting messages wherever they lie, in bounded steps: each reads so many bytes, so it
 * may come to few messages or none. A step is true for the moment in which it begins: a message that
 * waits then is in one place, the window, the parked store or the rest of a chunk, and is looked
 * for there.
 */
export class WaitingList {
  readonly #table: PartitionTable
  readonly #window: Window
  readonly #parked: ParkedStore
  readonly #search: ChunkSearch
  readonly #finder: Finder
  readonly #messages: WaitingMessages
  readonly #ranges: ChunkRanges
  readonly #stepBytes: number
  /** One step at a time, since each takes memory. */
  readonly #gate = new Gate(1)

  constructor(parts: {
    table: PartitionTable
    window: Window
    parked: ParkedStore
    search: ChunkSearch
    finder: Finder
    messages: WaitingMessages
    ranges: ChunkRanges
    /** What one step reads of chunks, about. */
    stepBytes: number
  }) {
    this.#table = parts.table
    this.#window = parts.window
    this.#parked = parts.parked
    this.#search = parts.search
    this.#finder = parts.finder
    this.#messages = parts.messages
    this.#ranges = parts.ranges
    this.#stepBytes = parts.stepBytes
  }

  /** The first messages behind `after`, at most `countMax` and 4 MiB. Errors: STORE_FAILED. */
  step(query: WaitingQuery, after: ListPosition | undefined, countMax: number): Promise<ListStep> {
    return this.#gate.run(1, () => this.#step(query, after, countMax))
  }

  async #step(
    query: WaitingQuery,
    after: ListPosition | undefined,
    countMax: number,
  ): Promise<ListStep> {
    const chunks = this.#table.untakenChunks()
    const at = { position: after ?? positionAt(query.fromMs), toMs: query.toMs }
    const segment = nextSegment(chunks, at, this.#stepBytes)
    const reaching = chunks.filter(chunk => reaches(chunk, segment))
    if (segment.position.kind === 'id') {
      const unindexed = reaching.find(chunk => chunk.index === undefined)
      if (unindexed !== undefined) {
        // After a start: it takes as long as a step.
        await this.#search.indexOf(unindexed)
        return { messages: [], next: segment.position }
      }
    }
    return this.#look(new Look(query, segment, countMax), reaching)
  }

  async #look(look: Look, chunks: readonly Chunk[]): Promise<ListStep> {
    // All in one step of the loop: nothing goes from one place to another meanwhile.
    const ranges = look.isOfWindow ? look.ranges(chunks, this.#stepBytes) : []
    const unread = look.isOfWindow ? this.#lookAtWindow(look) : []
    const parked = look.isOfParked ? this.#lookAtParked(look) : []
    const release = holdChunks(ranges)
    try {
      for (const range of ranges) {
        await this.#ranges.read(range, {
          wants: (ref, source, from) => look.wants(ref, source, from),
          see: (ref, { source, from, to }) => {
            look.add(ref, source.subarray(from, to))
          },
          follow: ref => this.#follow(look, ref),
        })
      }
    } finally {
      release()
    }
    for (const ref of unread) await this.#read(look, ref, false)
    for (const ref of parked) await this.#read(look, ref, true)
    return look.result()
  }

  #lookAtWindow(look: Look): readonly SlotRef[] {
    const { entries } = this.#window
    const least = new Least<SlotRef>(look.order, LOOKED_AT, () => 0)
    entries.visit(0, entries.slotCount, slot => {
      const ref = {
        timerId: entries.timerId(slot),
        deliverTimeMs: entries.deliverTimeMs(slot),
        slot,
      }
      if (!look.isIn(ref) || !this.#messages.waitsInWindow(slot)) return
      if (least.accepts(ref)) least.add(ref)
    })
    return look.collect(least, ({ slot }) => {
      const at = this.#messages.inMemory(slot)
      return at === undefined ? undefined : { ...at, sizeBytes: entries.sizeBytes(slot) }
    })
  }

  #lookAtParked(look: Look): readonly ParkedPlace[] {
    const least = new Least<ParkedPlace>(look.order, LOOKED_AT, () => 0)
    const accepts = (ref: TimerRef): boolean => {
      return look.isIn(ref) && this.#messages.waits(ref.timerId) && least.accepts(ref)
    }
    this.#parked.visitRefused(accepts, place => {
      least.add(place)
    })
    return look.collect(least, () => undefined)
  }

  /** The chunk was loaded or split meanwhile: what it says of this message is out of date. */
  #follow(look: Look, ref: TimerRef): Promise<void> {
    return this.#finder.find(ref, state => {
      if (state.kind === 'waiting' && look.accepts(ref)) look.add(ref, state.record)
    })
  }

  async #read(look: Look, ref: TimerRef, isParked: boolean): Promise<void> {
    if (!look.accepts(ref)) return
    const record = await this.#messages.fromDisk(ref.timerId)
    if (record !== undefined) look.addRead(ref, isParked, record)
  }
}

function reaches(chunk: Chunk, { position, toMs }: Segment): boolean {
  return chunk.dueMinMs < toMs && chunk.dueMaxMs >= position.from.deliverTimeMs
}
