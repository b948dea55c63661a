import { BrokerError, type ErrorCode } from '../../../core/base/index.ts'
import type { KeyValue, KeyValueChange, Platform } from '../../../core/platform/index.ts'
import type { CheckpointParticipant } from '../../store/index.ts'
import type { TimerRef } from '../ladder/chunk-search.ts'
import { TimerMap } from '../timer-map.ts'
import {
  END_KEY,
  FIRST_KEY,
  keyBehind,
  MARKER_KEY,
  markerOf,
  refOfValue,
  writtenToOf,
} from './ref-entries.ts'
import { type RefSection, refSectionOf } from './ref-section.ts'
import { StagedRefs } from './staged-refs.ts'
import { ValueReads } from './value-reads.ts'

/** Entries looked at beside those that were written, each checkpoint, and at once. */
const SWEEP_COUNT = 1_000

/** What `find` has found. */
export interface RefLookup {
  /** The latest message that the key leads to; it may wait no more. */
  readonly ref: TimerRef | undefined
  readonly generation: number
}

/** What an index leads from, and for how long. */
export interface RefIndexKind<Key> {
  /** Its section in the manifest. */
  readonly name: string
  /** For log lines and errors, after "the index of". */
  readonly words: string
  readonly keyOf: (key: Key) => Buffer
  /** An entry goes so long after its message was delivered. */
  readonly keptMs: number
}

export interface RefIndexParts {
  readonly platform: Platform
  readonly directory: string
  /** So many that are not on disk ask for a checkpoint; twice as many hold up senders. */
  readonly stagedCountLong: number
  /** The fire position. */
  readonly firedMs: () => number
  /** It waits although its time has come. */
  readonly isParked: (timerId: number) => boolean
}

/**
 * Which message a key leads to: the latest one, whether it still waits is for others to say. On
 * disk; memory holds what the last checkpoint does not have yet. Nothing is only here: a map that
 * is lost or damaged is made again from the messages that wait (`RefRebuild`), by the next start.
 * See docs/formats/key-index.md.
 */
export class RefIndex<Key> implements CheckpointParticipant {
  readonly #kind: RefIndexKind<Key>
  readonly #parts: RefIndexParts
  #map: TimerMap
  #reads: ValueReads
  readonly #refs = new StagedRefs<Key>()
  /** Log offset that the next marker has, and that of the one on disk. */
  #writingTo = 0
  #writtenTo = 0
  /** Entries were written that no marker speaks of. */
  #hasUnmarked = false
  /** False while the map is being made again: then nobody knows what it lacks. */
  #isReady = true
  /** Something in it was found to be damaged since it was opened or made. */
  #isDamaged = false
  /** It can no longer take what it should have. */
  #isBroken = false
  #isSwept = true
  /** Entries that were written since the last sweep. */
  #grownCount = 0
  #sweepFrom: Buffer = FIRST_KEY
  #whenWritten: (() => void)[] = []

  private constructor(kind: RefIndexKind<Key>, parts: RefIndexParts, exists: boolean) {
    this.#kind = kind
    this.#parts = parts
    this.#map = this.#newMap(exists)
    this.#reads = new ValueReads(this.#map)
  }

  /**
   * Looks whether the map on disk is what the manifest says; `needsRebuild` when it is not.
   *
   * Errors: STORE_DAMAGED (the section), STORE_FAILED, STORE_FULL, STORE_LOCKED.
   */
  static async open<Key>(
    kind: RefIndexKind<Key>,
    parts: RefIndexParts,
    section: unknown,
  ): Promise<RefIndex<Key>> {
    const { writtenTo, isWhole } = refSectionOf(section, kind.name)
    const names = await parts.platform.files.list(parts.directory)
    const index = new RefIndex(kind, parts, names.length > 0)
    index.#writtenTo = writtenTo
    if (writtenTo === 0 && isWhole) {
      // What is there is from after the last checkpoint: recovery finds it again.
      if (names.length > 0) await index.#removeFiles()
      return index
    }
    if (isWhole && (await index.#isAsWritten())) return index
    await index.#map.close()
    await index.#removeFiles()
    index.#writtenTo = 0
    index.#isReady = false
    return index
  }

  get name(): string {
    return this.#kind.name
  }

  get words(): string {
    return this.#kind.words
  }

  /** The map lacks messages that wait. */
  get needsRebuild(): boolean {
    return !this.#isReady && !this.#isBroken
  }

  /** More is in memory than should be until the next regular checkpoint. */
  get needsCheckpoint(): boolean {
    return this.#refs.size >= this.#parts.stagedCountLong
  }

  get isCongested(): boolean {
    return this.#refs.size >= 2 * this.#parts.stagedCountLong
  }

  /** From now on the key leads to this message, which is durable. In log order. */
  set(key: Key, ref: TimerRef): void {
    if (!this.#isBroken) this.#refs.set(key, ref)
  }

  /**
   * Errors: STORE_BUSY while the map is made again, STORE_DAMAGED when it can no longer be written
   * or is damaged there, MESSAGE_UNREADABLE, STORE_FAILED, SHUTTING_DOWN.
   */
  async find(key: Key): Promise<RefLookup> {
    if (this.needsRebuild) {
      throw new BrokerError('STORE_BUSY', { until: `${this.words} are indexed again` })
    }
    let lookup: RefLookup
    do lookup = await this.#look(key)
    while (!this.isCurrent(key, lookup))
    return lookup
  }

  /** In one step: whether what `find` has found is still true. */
  isCurrent(key: Key, { ref, generation }: RefLookup): boolean {
    if (generation !== this.#refs.generation) return false
    const inMemory = this.#refs.get(key)
    return inMemory === undefined || inMemory.timerId === ref?.timerId
  }

  /** For a rebuild: the key leads to this message, which waits. One of a higher id counts more. */
  async add(key: Key, ref: TimerRef): Promise<void> {
    let known: RefLookup
    do known = await this.#look(key)
    while (!this.isCurrent(key, known))
    if (known.ref === undefined || known.ref.timerId < ref.timerId) this.set(key, ref)
  }

  /** For a rebuild: resolves when there is room in memory for more. */
  async whenRoom(): Promise<void> {
    while (this.needsCheckpoint) {
      await new Promise<void>(resolve => this.#whenWritten.push(resolve))
    }
  }

  /** For a rebuild: every message that waits was added. */
  rebuilt(): void {
    this.#isReady = true
  }

  /** The map may be ahead of the manifest: what recovery applies again is in it already. */
  snapshot(appliedOffset: number): RefSection {
    this.#refs.swap()
    if (this.#hasToWrite) this.#writingTo = appliedOffset
    const writtenTo = Math.max(this.#writtenTo, this.#writingTo)
    return { writtenTo, isWhole: this.#isReady && !this.#isDamaged }
  }

  /** Damage of the map is reported, and never ends a checkpoint: the next start makes it again. */
  async write(): Promise<void> {
    if (this.#hasToWrite && (await this.#writeStaged())) await this.#mark()
    if (this.#map.exists && this.#isReady && this.#isSwept) await this.#sweep()
    for (const resolve of this.#whenWritten.splice(0)) resolve()
  }

  /** The entries go to disk; the marker follows with the next checkpoint. */
  async relieve(): Promise<void> {
    if (!this.needsCheckpoint) return
    this.#refs.swap()
    await this.#writeStaged()
  }

  close(): Promise<void> {
    return this.#map.close()
  }

  #newMap(exists: boolean): TimerMap {
    const { platform, directory } = this.#parts
    return new TimerMap({ open: () => platform.keyValues.open(directory), exists })
  }

  /** Not current when something has left memory meanwhile: it may be newer than what the disk had. */
  async #look(key: Key): Promise<RefLookup> {
    const { generation } = this.#refs
    const staged = this.#refs.get(key)
    return { ref: staged ?? (await this.#onDisk(key)), generation }
  }

  async #onDisk(key: Key): Promise<TimerRef | undefined> {
    if (this.#isBroken) throw new BrokerError('STORE_DAMAGED', { path: this.#parts.directory })
    if (!this.#map.exists) return undefined
    const value = await this.#valueOf(this.#kind.keyOf(key))
    if (value === undefined) return undefined
    const ref = refOfValue(value)
    if (ref !== undefined) return ref
    this.#reportDamage(undefined)
    throw new BrokerError('MESSAGE_UNREADABLE', { in: `the index of ${this.words}` })
  }

  async #valueOf(key: Buffer): Promise<Buffer | undefined> {
    try {
      return await this.#reads.get(key)
    } catch (error) {
      if (hasCode(error, 'STORE_DAMAGED')) this.#reportDamage(error)
      throw error
    }
  }

  get #hasToWrite(): boolean {
    return this.#refs.writingCount > 0 || this.#hasUnmarked
  }

  /** False when the map cannot take them. */
  async #writeStaged(): Promise<boolean> {
    for (const piece of this.#refs.pieces(this.#kind.keyOf)) {
      this.#hasUnmarked = true
      if (!(await this.#writeSome(piece, false))) return false
    }
    this.#grownCount += this.#refs.writingCount
    this.#refs.written()
    return true
  }

  async #mark(): Promise<void> {
    if (!(await this.#writeSome([markerOf(this.#writingTo)], true))) return
    this.#writtenTo = this.#writingTo
    this.#hasUnmarked = false
  }

  async #writeSome(changes: readonly KeyValueChange[], isDurable: boolean): Promise<boolean> {
    if (this.#isBroken) return false
    try {
      await this.#map.write(changes, isDurable)
      return true
    } catch (error) {
      if (!hasCode(error, 'STORE_DAMAGED')) throw error
      this.#breakOff(error)
      return false
    }
  }

  /**
   * Forgets messages that were delivered: goes through the map from one checkpoint to the next, as
   * fast as it grows.
   */
  async #sweep(): Promise<void> {
    const countMax = this.#grownCount + SWEEP_COUNT
    this.#grownCount = 0
    for (let rest = countMax; rest > 0; rest -= SWEEP_COUNT) {
      const entries = await this.#entriesToSweep()
      const over: KeyValueChange[] = []
      for (const { key, value } of entries) {
        if (this.#isOver(value)) over.push({ key, value: undefined })
      }
      if (over.length > 0 && !(await this.#writeSome(over, false))) return
      const last = entries.at(-1)
      const isEnd = last === undefined || entries.length < SWEEP_COUNT
      this.#sweepFrom = isEnd ? FIRST_KEY : keyBehind(last.key)
      if (isEnd) return
    }
  }

  /** None from the first that cannot be read on: until the map is made again it only grows. */
  async #entriesToSweep(): Promise<readonly KeyValue[]> {
    try {
      return await this.#map.range(this.#sweepFrom, END_KEY, SWEEP_COUNT)
    } catch (error) {
      if (!hasCode(error, 'STORE_DAMAGED') && !hasCode(error, 'STORE_FAILED')) throw error
      this.#reportDamage(error)
      this.#isSwept = false
      return []
    }
  }

  /** A damaged one stays: who asks for it is to hear of it, not that there is none. */
  #isOver(value: Buffer): boolean {
    const { firedMs, isParked } = this.#parts
    const ref = refOfValue(value)
    if (ref === undefined) {
      this.#reportDamage(undefined)
      return false
    }
    return ref.deliverTimeMs < firedMs() - this.#kind.keptMs && !isParked(ref.timerId)
  }

  #reportDamage(error: unknown): void {
    if (this.#isDamaged) return
    this.#isDamaged = true
    this.#logDamage('is damaged; the next start makes it again from what waits', error)
  }

  /** What memory holds for it would never get there. */
  #breakOff(error: unknown): void {
    this.#isDamaged = true
    this.#isBroken = true
    this.#isSwept = false
    this.#refs.clear()
    const until = 'what asks for it is refused until the next start makes it again from what waits'
    this.#logDamage(`is so damaged that nothing can be written to it; ${until}`, error)
  }

  #logDamage(what: string, error: unknown): void {
    const { platform, directory } = this.#parts
    platform.log.error(`the index of ${this.words} ${what}`, error, { directory })
  }

  /** Whether the map on disk has everything that it had at the last checkpoint. */
  async #isAsWritten(): Promise<boolean> {
    const found = await this.#marker()
    if (typeof found === 'number' && found >= this.#writtenTo) return true
    const reason = typeof found === 'number' ? 'it is older than the manifest' : found
    const { platform, directory } = this.#parts
    const message = `the index of ${this.words} is lost or damaged; it is made again from what waits`
    platform.log.error(message, undefined, { directory, reason })
    return false
  }

  /** What the map says that it has; a text says what is wrong with it. */
  async #marker(): Promise<number | string> {
    if (!this.#map.exists) return 'there are no files'
    try {
      const value = await this.#map.get(MARKER_KEY)
      return value === undefined ? 'it has no marker' : writtenToOf(value)
    } catch (error) {
      if (hasCode(error, 'STORE_DAMAGED')) return error.message
      throw error
    }
  }

  /** What is left of the map goes. */
  async #removeFiles(): Promise<void> {
    const { platform, directory } = this.#parts
    for (const name of await platform.files.list(directory)) {
      await platform.files.remove(`${directory}/${name}`)
    }
    this.#map = this.#newMap(false)
    this.#reads = new ValueReads(this.#map)
  }
}

function hasCode(error: unknown, code: ErrorCode): error is BrokerError {
  return error instanceof BrokerError && error.code === code
}
