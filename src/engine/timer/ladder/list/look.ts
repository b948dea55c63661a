import type { Chunk } from '../../chunk.ts'
import type { TimerRef } from '../chunk-search.ts'
import { type ChunkRange, untakenRange } from './chunk-ranges.ts'
import { Least } from './least.ts'
import { compareIn, type ListOrder, type ListPosition, positionAt } from './list-order.ts'
import type { Segment } from './segment.ts'
import type { BytesAt } from './waiting-messages.ts'
import type { ListedMessage, ListStep, WaitingQuery } from './waiting-list.ts'

/** Accept records of one step, unless one alone is larger; twice that until it ends. */
const FOUND_BYTES_MAX = 4 * 1024 * 1024

/** One step of a list: what belongs into it, what was found, and how far that is all there is. */
export class Look {
  readonly #query: WaitingQuery
  readonly #segment: Segment
  readonly #countMax: number
  readonly #found: Least<ListedMessage>
  /** Up to here, inclusive, nothing is missing. `undefined`: up to the end of the segment. */
  #border: TimerRef | undefined

  constructor(query: WaitingQuery, segment: Segment, countMax: number) {
    this.#query = query
    this.#segment = segment
    this.#countMax = countMax
    const most = { count: countMax, bytes: FOUND_BYTES_MAX }
    this.#found = new Least(segment.position.kind, most, ({ record }) => record.length)
  }

  get order(): ListOrder {
    return this.#segment.position.kind
  }

  get isOfWindow(): boolean {
    return this.#query.isParked !== true
  }

  get isOfParked(): boolean {
    return this.#query.isParked !== false
  }

  /** Whether a message belongs into the segment, by its time and id. */
  isIn(ref: TimerRef): boolean {
    const { position, toMs } = this.#segment
    if (ref.deliverTimeMs >= toMs || compareIn('due', ref, position.from) <= 0) return false
    return position.kind === 'due' || ref.timerId > position.afterTimerId
  }

  /** What is to be read of the chunks of the segment, with `bytesMax` as a measure. */
  ranges(chunks: readonly Chunk[], bytesMax: number): readonly ChunkRange[] {
    const { position } = this.#segment
    if (position.kind === 'due') return chunks.map(chunk => untakenRange(chunk))
    const stretches = chunks.flatMap(chunk => {
      const { from, to } = untakenRange(chunk)
      const behind = chunk.index?.stretchesBehind(position.afterTimerId) ?? []
      return behind
        .filter(stretch => stretch.to > from && stretch.from < to)
        .map(stretch => ({ ...stretch, chunk, from: Math.max(from, stretch.from) }))
    })
    stretches.sort((a, b) => a.firstTimerId - b.firstTimerId)
    let bytes = 0
    const end = stretches.findIndex(({ from, to, firstTimerId }) => {
      bytes += to - from
      // What begins before the next id has to be read, however much it is.
      return bytes > bytesMax && firstTimerId > position.afterTimerId + 1
    })
    if (end < 0) return joined(stretches)
    const unread = stretches[end]?.firstTimerId ?? 0
    this.#stopAt({ deliverTimeMs: 0, timerId: unread - 1 })
    return joined(stretches.slice(0, end))
  }

  /** Whether a message of a range is worth copying: its record lies at `position`. */
  wants(ref: TimerRef, source: Buffer, position: number): boolean {
    if (!this.isIn(ref) || !this.accepts(ref)) return false
    return this.#query.matches?.(source, position, ref) !== false
  }

  /** False for what comes behind all that the step can bring. */
  accepts(ref: TimerRef): boolean {
    return this.#found.accepts(ref)
  }

  /** Takes in a message that it wants. */
  add(ref: TimerRef, record: Buffer): void {
    this.#find(ref, false, Buffer.from(record))
  }

  /**
   * Takes the first of what the window or the parked store has, as far as they are in memory;
   * returns the others, which are to be read and given to `addRead`.
   */
  collect<Item extends TimerRef>(
    least: Least<Item>,
    inMemory: (item: Item) => (BytesAt & { readonly sizeBytes: number }) | undefined,
  ): readonly Item[] {
    const { items, isWhole } = least.take()
    const unread: Item[] = []
    let count = 0
    for (const item of items) {
      const at = inMemory(item)
      if (at === undefined) {
        unread.push(item)
        count++
      } else if (this.#query.matches?.(at.source, at.position, item) !== false) {
        const { source, position, sizeBytes } = at
        if (this.accepts(item)) this.add(item, source.subarray(position, position + sizeBytes))
        count++
      }
      if (count === this.#countMax) {
        this.#stopAt(item)
        return unread
      }
    }
    const last = items.at(-1)
    if (!isWhole && last !== undefined) this.#stopAt(last)
    return unread
  }

  /** Takes in what it accepts and has been read, if it is meant. */
  addRead(ref: TimerRef, isParked: boolean, record: Buffer): void {
    if (this.#query.matches?.(record, 0, ref) !== false) this.#find(ref, isParked, record)
  }

  result(): ListStep {
    const { order } = this
    const { items, isWhole } = this.#found.take()
    const end = items.at(-1)
    if (!isWhole && end !== undefined) this.#stopAt(end)
    const border = this.#border
    const messages =
      border === undefined ? items : items.filter(item => compareIn(order, item, border) <= 0)
    const last = messages.length === this.#countMax ? messages.at(-1) : border
    return { messages, next: last === undefined ? this.#end() : this.#behind(last) }
  }

  #find({ timerId, deliverTimeMs }: TimerRef, isParked: boolean, record: Buffer): void {
    this.#found.add({ timerId, deliverTimeMs, isParked, record })
  }

  #stopAt(ref: TimerRef): void {
    const isEarlier = this.#border === undefined || compareIn(this.order, ref, this.#border) < 0
    if (isEarlier) this.#border = { timerId: ref.timerId, deliverTimeMs: ref.deliverTimeMs }
  }

  #behind({ timerId, deliverTimeMs }: TimerRef): ListPosition {
    const { position } = this.#segment
    if (position.kind === 'id') return { ...position, afterTimerId: timerId }
    return { kind: 'due', from: { timerId, deliverTimeMs } }
  }

  #end(): ListPosition | undefined {
    const { toMs } = this.#segment
    return toMs >= this.#query.toMs ? undefined : positionAt(toMs)
  }
}

/** The same parts of chunks in as few ranges as there can be. */
function joined(ranges: readonly ChunkRange[]): readonly ChunkRange[] {
  const ends = new Map<Chunk, { chunk: Chunk; from: number; to: number }>()
  const found: ChunkRange[] = []
  for (const { chunk, from, to } of ranges) {
    const last = ends.get(chunk)
    if (last?.to === from) {
      last.to = to
      continue
    }
    const range = { chunk, from, to }
    ends.set(chunk, range)
    found.push(range)
  }
  return found
}
