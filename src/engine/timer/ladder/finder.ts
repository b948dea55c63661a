import { BrokerError } from '../../../core/base/index.ts'
import type { Store } from '../../store/index.ts'
import type { BulkChanges } from '../bulk-changes.ts'
import type { Chunk } from '../chunk.ts'
import type { ParkedStore } from '../parked/parked-store.ts'
import type { WaitingPlace, PendingRemovals } from '../pending-removals.ts'
import type { RecoveredRemovals } from '../recovered-removals.ts'
import type { FiredIds } from '../fired-ids.ts'
import type { Removal } from '../timer-record.ts'
import type { ChunkFind, ChunkSearch, TimerRef } from './chunk-search.ts'
import type { Firing } from './firing.ts'
import type { PartitionTable } from './partition-table.ts'
import { LOG_BLOCK, PARKED_BLOCK, type Window } from './window.ts'

/** What is true of a message at one moment. */
export type TimerState =
  | {
      readonly kind: 'waiting'
      readonly place: WaitingPlace
      /** Its accept record. */
      readonly record: Buffer
      /** Its time has come, and its topic refuses it. */
      readonly isRefused: boolean
    }
  /** It will be removed once the record at `changeOffset` is durable. */
  | { readonly kind: 'removing'; readonly removal: Removal; readonly changeOffset: number }
  | { readonly kind: 'cancelled' }
  /** It is about to be delivered. */
  | { readonly kind: 'claimed' }
  /** It does not wait, or never did. */
  | { readonly kind: 'absent' }

/** Looks before what the window says is taken for the whole truth: its bytes may have moved once. */
const LOOK_COUNT_MAX = 4

/** What a search has read; by the time of the decision it may have moved on. */
interface Found {
  readonly inChunk: ChunkFind | undefined
  /** From the log or the parked store. */
  readonly record: Buffer | undefined
}

const NOTHING: Found = { inChunk: undefined, record: undefined }
const CANCELLED: TimerState = { kind: 'cancelled' }
const ABSENT: TimerState = { kind: 'absent' }

/** Finds single waiting messages, wherever they wait. */
export class Finder {
  readonly #store: Store
  readonly #table: PartitionTable
  readonly #window: Window
  readonly #firing: Firing
  readonly #parked: ParkedStore
  readonly #removals: PendingRemovals
  readonly #recovered: RecoveredRemovals
  readonly #bulk: BulkChanges
  readonly #fired: FiredIds
  readonly #isLeft: (deliverTimeMs: number, timerId: number) => boolean
  readonly #search: ChunkSearch

  constructor(parts: {
    store: Store
    table: PartitionTable
    window: Window
    firing: Firing
    parked: ParkedStore
    removals: PendingRemovals
    recovered: RecoveredRemovals
    bulk: BulkChanges
    fired: FiredIds
    /** What chunks have of such a message is left over: it was done with there. */
    isLeft: (deliverTimeMs: number, timerId: number) => boolean
    search: ChunkSearch
  }) {
    this.#store = parts.store
    this.#table = parts.table
    this.#window = parts.window
    this.#firing = parts.firing
    this.#parked = parts.parked
    this.#removals = parts.removals
    this.#recovered = parts.recovered
    this.#bulk = parts.bulk
    this.#fired = parts.fired
    this.#isLeft = parts.isLeft
    this.#search = parts.search
  }

  /**
   * Looks for a message, which may read the disk, then calls `decide` with what is true in that
   * moment: nothing happens between the look and what `decide` does at once.
   */
  async find<Result>(ref: TimerRef, decide: (state: TimerState) => Result): Promise<Result> {
    return this.#find(ref, found => {
      const state = this.#stateOf(ref, found)
      return state === 'moved' ? state : decide(state)
    })
  }

  /** Looks until `decide` does not say that the message has moved meanwhile. */
  async #find<Result>(ref: TimerRef, decide: (found: Found) => Result | 'moved'): Promise<Result> {
    const observed = this.#removals.observe()
    try {
      for (let looks = 1; ; looks++) {
        const result = decide(await this.#look(ref))
        if (result !== 'moved') return result
        if (looks >= LOOK_COUNT_MAX) throw new BrokerError('MESSAGE_UNREADABLE', { ...ref })
      }
    } finally {
      observed()
    }
  }

  /**
   * As `find`, for a message that is known as removed and still lies where it waited; `undefined`
   * when it does not. `isMarked`: it has its mark there.
   */
  async findRemoved(
    ref: TimerRef,
    decide: (place: WaitingPlace | undefined, isMarked: boolean) => void,
  ): Promise<void> {
    const observed = this.#removals.observe()
    try {
      for (let looks = 1; looks <= LOOK_COUNT_MAX; looks++) {
        const found = await this.#look(ref)
        const state = this.#placeOf(ref, found)
        if (state === 'moved') continue
        const { inChunk } = found
        if (state.kind === 'waiting') decide(state.place, false)
        else if (inChunk === undefined || inChunk.mark === 'waits') decide(undefined, false)
        else decide(placeIn(inChunk), true)
        return
      }
    } finally {
      observed()
    }
  }

  /** Calls `decide` if the message waits and nobody has decided anything about it. */
  async findCovered(
    ref: TimerRef,
    decide: (place: WaitingPlace, record: Buffer) => void,
  ): Promise<void> {
    await this.#find(ref, found => {
      const state = this.#ownStateOf(ref, found)
      if (state !== 'moved' && state.kind === 'waiting') decide(state.place, state.record)
      return state
    })
  }

  async #look(ref: TimerRef): Promise<Found> {
    const { timerId } = ref
    const slot = this.#window.entries.find(timerId)
    if (slot >= 0) {
      const block = this.#window.entries.block(slot)
      if (block === LOG_BLOCK) return { inChunk: undefined, record: await this.#readLog(timerId) }
      if (block !== PARKED_BLOCK) return { ...NOTHING, inChunk: await this.#lookInChunks(ref) }
    }
    const parked = this.#parked.find(timerId)
    if (parked !== undefined) return { ...NOTHING, record: await this.#parked.read(parked) }
    return { ...NOTHING, inChunk: await this.#lookInChunks(ref) }
  }

  async #lookInChunks(ref: TimerRef): Promise<ChunkFind | undefined> {
    for (const partition of this.#table.covering(ref.deliverTimeMs)) {
      const looked = new Set<Chunk>()
      for (;;) {
        // While one is read others come, behind it: what was moved out of it lies there.
        const chunk = partition.chunks.find(candidate => !looked.has(candidate))
        if (chunk === undefined) break
        looked.add(chunk)
        const found = await this.#search.find(chunk, ref)
        if (found !== undefined) return found
      }
    }
    return undefined
  }

  /** Undefined when the log has it no more. */
  #readLog(timerId: number): Promise<Buffer | undefined> {
    return this.#store.readRecord(timerId)
  }

  /** In one step. `moved` when the message has gone somewhere else since it was looked for. */
  #stateOf(ref: TimerRef, found: Found): TimerState | 'moved' {
    const state = this.#ownStateOf(ref, found)
    if (state === 'moved' || state.kind !== 'waiting') return state
    if (this.#bulk.cancelOf(ref, state.record, 0) !== undefined) return CANCELLED
    const undecided = this.#bulk.undecidedOf(ref, state.record)
    if (undecided === undefined) return state
    // Whether it is delivered before is open: it is to be looked for again.
    return { kind: 'removing', removal: 'moved', changeOffset: undecided.offset }
  }

  /** As `#stateOf`, by what was decided of this message alone. */
  #ownStateOf(ref: TimerRef, found: Found): TimerState | 'moved' {
    const { timerId } = ref
    const pending = this.#removals.find(timerId)
    if (pending !== undefined) {
      const { removal, changeOffset, isApplied } = pending
      return isApplied ? stateAfter(removal) : { kind: 'removing', removal, changeOffset }
    }
    const recovered = this.#recovered.find(timerId)
    if (recovered !== undefined) return stateAfter(recovered)
    // It has fired, and what is left of it is still to be met.
    if (this.#fired.has(timerId)) return ABSENT
    return this.#placeOf(ref, found)
  }

  #placeOf(ref: TimerRef, found: Found): TimerState | 'moved' {
    const { timerId } = ref
    const slot = this.#window.entries.find(timerId)
    if (slot >= 0) return this.#stateInWindow(ref, slot, found)
    if (this.#firing.claims.has(timerId)) return { kind: 'claimed' }
    const parked = this.#parked.find(timerId)
    if (parked !== undefined) {
      if (found.record === undefined) return 'moved'
      const place = { kind: 'parked' as const }
      return {
        kind: 'waiting',
        place,
        record: found.record,
        isRefused: !this.#parked.isLate(timerId),
      }
    }
    if (found.inChunk === undefined || this.#isLeft(ref.deliverTimeMs, timerId)) return ABSENT
    return stateInChunk(found.inChunk)
  }

  #stateInWindow(ref: TimerRef, slot: number, found: Found): TimerState | 'moved' {
    if (this.#window.entries.isRemoved(slot))
      return this.#window.entries.isCancelled(slot) ? CANCELLED : ABSENT
    if (this.#window.entries.deliverTimeMs(slot) !== ref.deliverTimeMs) return ABSENT
    const block = this.#window.entries.block(slot)
    if (block === LOG_BLOCK || block === PARKED_BLOCK) {
      if (found.record === undefined) return 'moved'
      const kind = this.#parked.isLate(ref.timerId) ? 'parked' : 'log'
      return { kind: 'waiting', place: { kind }, record: found.record, isRefused: false }
    }
    if (this.#isLeft(ref.deliverTimeMs, ref.timerId)) return ABSENT
    if (found.inChunk === undefined) return 'moved'
    return waitingIn(found.inChunk)
  }
}

/** Where it was moved to, it is found by its id there. */
function stateAfter(removal: Removal): TimerState {
  return removal === 'cancelled' ? CANCELLED : ABSENT
}

function stateInChunk(found: ChunkFind): TimerState | 'moved' {
  const { chunk, position, mark } = found
  if (position < chunk.doneBytes) return 'moved'
  if (mark !== 'waits') return stateAfter(mark)
  // It was in the window, and is not there any more.
  if (position < chunk.takenBytes) return ABSENT
  return waitingIn(found)
}

function waitingIn(found: ChunkFind): TimerState {
  return { kind: 'waiting', place: placeIn(found), record: found.record, isRefused: false }
}

function placeIn({ chunk, position, record }: ChunkFind): WaitingPlace {
  return { kind: 'chunk', chunk, position, recordBytes: record.length }
}
