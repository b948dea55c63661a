import { BrokerError } from '../../../core/base/index.ts'
import type { KeyValueChange, Platform } from '../../../core/platform/index.ts'
import type { CheckpointParticipant } from '../../store/index.ts'
import type { TimerRef } from '../ladder/chunk-search.ts'
import { TimerMap } from '../timer-map.ts'
import {
  changeOf,
  digestAt,
  digestOfKey,
  END_KEY,
  FIRST_KEY,
  keyOf,
  MARKER_KEY,
  markerOf,
  refOf,
  writtenToOf,
} from './key-entries.ts'
import { KeyReads } from './key-reads.ts'
import { KeyTable } from './key-table.ts'
import { type KeysSection, keysSectionOf } from './keys-section.ts'

/** Entries in one write to the map. */
const WRITE_COUNT = 4_096
/** Entries looked at beside those that were written, each checkpoint, and at once. */
const SWEEP_COUNT = 1_000
/** How long it is known that a delivered message had the key: for those who ask a little late. */
const KEPT_MS = 3_600_000
const UNREADABLE = 'an entry of the index of own keys is damaged; the next start makes it again'

/** What `find` has found. */
export interface KeyLookup {
  /** The latest message with the key; it may wait no more. */
  readonly ref: TimerRef | undefined
  readonly generation: number
}

/**
 * Which message has an own key: the latest one that was accepted with it, whether it still waits is
 * for others to say. On disk; memory holds what the last checkpoint does not have yet. Nothing is
 * only here: a map that is lost or damaged is made again from the messages that wait (`KeyRebuild`).
 * See docs/formats/key-index.md.
 */
export class KeyIndex implements CheckpointParticipant {
  readonly name = 'keys'
  readonly #platform: Platform
  readonly #directory: string
  readonly #stagedCountLong: number
  readonly #firedMs: () => number
  readonly #isParked: (timerId: number) => boolean
  #map: TimerMap
  #reads: KeyReads
  /** Appended to the log and not durable yet: timer ids by digest. */
  readonly #pending = new Map<string, number>()
  /** Durable, and not on disk here. */
  #staged = new KeyTable()
  #writing = new KeyTable()
  #writingTo = 0
  #writtenTo = 0
  #isWhole = true
  /** False while the map is being made again: then nobody knows what it lacks. */
  #isReady = true
  /** Grows whenever something leaves memory: what a lookup has read before may be out of date. */
  #generation = 0
  #sweepFrom: Buffer = FIRST_KEY
  #whenWritten: (() => void)[] = []

  private constructor(parts: KeyIndexParts, exists: boolean) {
    this.#platform = parts.platform
    this.#directory = parts.directory
    this.#stagedCountLong = parts.stagedCountLong
    this.#firedMs = parts.firedMs
    this.#isParked = parts.isParked
    this.#map = this.#newMap(exists)
    this.#reads = new KeyReads(this.#map)
  }

  /**
   * Looks whether the map on disk is what the manifest says; `needsRebuild` when it is not.
   *
   * Errors: STORE_DAMAGED (the section), STORE_FAILED, STORE_FULL, STORE_LOCKED.
   */
  static async open(parts: KeyIndexParts, section: unknown): Promise<KeyIndex> {
    const { writtenTo, isWhole } = keysSectionOf(section)
    const names = await parts.platform.files.list(parts.directory)
    const index = new KeyIndex(parts, names.length > 0)
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
    index.#isWhole = false
    return index
  }

  /** The map is empty, and messages with own keys may wait. */
  get needsRebuild(): boolean {
    return !this.#isReady
  }

  /** More is in memory than should be until the next regular checkpoint. */
  get needsCheckpoint(): boolean {
    return this.#staged.size >= this.#stagedCountLong
  }

  get isCongested(): boolean {
    return this.#staged.size >= 2 * this.#stagedCountLong
  }

  /** A message with this key is in the log at `timerId`, and not durable yet. */
  begin(digest: string, timerId: number): void {
    this.#pending.set(digest, timerId)
  }

  /** Log offset of the latest message with the key, while that is not durable. */
  pendingOffset(digest: string): number | undefined {
    return this.#pending.get(digest)
  }

  /** A message with this key, accepted, moved or in place of another, is durable. In log order. */
  apply(topic: string, key: string, ref: TimerRef): void {
    const digest = digestOfKey(topic, key)
    if (this.#pending.get(digest) === ref.timerId) this.#pending.delete(digest)
    this.#staged.set(digest, ref)
  }

  /** Errors: STORE_BUSY while the map is made again, STORE_FAILED, MESSAGE_UNREADABLE. */
  async find(digest: string): Promise<KeyLookup> {
    if (!this.#isReady) throw new BrokerError('STORE_BUSY', { until: 'own keys are indexed again' })
    const generation = this.#generation
    const inMemory = this.#inMemory(digest)
    if (inMemory !== undefined) return { ref: inMemory, generation }
    if (!this.#map.exists) return { ref: undefined, generation }
    return { ref: await this.#onDisk(digest), generation }
  }

  /** In one step: whether what `find` has found is still true. */
  isCurrent(digest: string, { ref, generation }: KeyLookup): boolean {
    if (generation !== this.#generation || this.#pending.has(digest)) return false
    const inMemory = this.#inMemory(digest)
    return inMemory === undefined || inMemory.timerId === ref?.timerId
  }

  /** For a rebuild: a message that waits has this key. One of a higher id counts more. */
  async add(topic: string, key: string, ref: TimerRef): Promise<void> {
    const digest = digestOfKey(topic, key)
    const onDisk = await this.#onDisk(digest)
    const known = this.#inMemory(digest) ?? onDisk
    if (known === undefined || known.timerId < ref.timerId) this.#staged.set(digest, ref)
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
    this.#isWhole = true
  }

  /**
   * The map may be ahead of the manifest: what recovery applies again is in it already. What gathers
   * then is bounded by what two checkpoints may lie apart.
   */
  snapshot(appliedOffset: number): KeysSection {
    if (this.#writing.size === 0) this.#writing = this.#staged
    else for (const [digest, ref] of this.#staged.entries()) this.#writing.set(digest, ref)
    this.#staged = new KeyTable()
    if (this.#writing.size > 0) this.#writingTo = appliedOffset
    return { writtenTo: Math.max(this.#writtenTo, this.#writingTo), isWhole: this.#isWhole }
  }

  async write(): Promise<void> {
    const count = this.#writing.size
    if (count > 0) await this.#writeAll()
    if (this.#map.exists && this.#isReady) await this.#sweep(count + SWEEP_COUNT)
    for (const resolve of this.#whenWritten.splice(0)) resolve()
  }

  close(): Promise<void> {
    return this.#map.close()
  }

  #newMap(exists: boolean): TimerMap {
    const open = (): ReturnType<Platform['keyValues']['open']> =>
      this.#platform.keyValues.open(this.#directory)
    return new TimerMap({ open, exists })
  }

  #inMemory(digest: string): TimerRef | undefined {
    return this.#staged.get(digest) ?? this.#writing.get(digest)
  }

  async #onDisk(digest: string): Promise<TimerRef | undefined> {
    const value = await this.#reads.get(keyOf(digest))
    if (value === undefined) return undefined
    const ref = refOf(value)
    if (ref !== undefined) return ref
    this.#reportUnreadable()
    throw new BrokerError('MESSAGE_UNREADABLE', { in: 'the index of own keys' })
  }

  async #writeAll(): Promise<void> {
    let changes: KeyValueChange[] = []
    for (const [digest, ref] of this.#writing.entries()) {
      changes.push(changeOf(digest, ref))
      if (changes.length < WRITE_COUNT) continue
      await this.#map.write(changes, false)
      changes = []
    }
    await this.#map.write([...changes, markerOf(this.#writingTo)], true)
    this.#writtenTo = this.#writingTo
    this.#writing = new KeyTable()
    this.#generation++
  }

  /**
   * Forgets messages that were delivered: goes through the map from one checkpoint to the next, as
   * fast as it grows.
   */
  async #sweep(countMax: number): Promise<void> {
    for (let rest = countMax; rest > 0; rest -= SWEEP_COUNT) {
      const entries = await this.#map.range(this.#sweepFrom, END_KEY, SWEEP_COUNT)
      const beforeMs = this.#firedMs() - KEPT_MS
      const over: KeyValueChange[] = []
      for (const { key, value } of entries) {
        const ref = refOf(value)
        if (ref === undefined) this.#reportUnreadable()
        const isOver = ref !== undefined && ref.deliverTimeMs < beforeMs
        if (isOver && !this.#isParked(ref.timerId)) over.push({ key, value: undefined })
      }
      if (over.length > 0) await this.#map.write(over, false)
      const last = entries.at(-1)
      const isEnd = last === undefined || entries.length < SWEEP_COUNT
      this.#sweepFrom = isEnd ? FIRST_KEY : keyOf(nextDigest(digestAt(last.key)))
      if (isEnd) return
    }
  }

  #reportUnreadable(): void {
    if (!this.#isWhole) return
    this.#isWhole = false
    this.#platform.log.error(UNREADABLE, undefined, { directory: this.#directory })
  }

  /** Whether the map on disk has everything that it had at the last checkpoint. */
  async #isAsWritten(): Promise<boolean> {
    const found = await this.#marker()
    if (typeof found === 'number' && found >= this.#writtenTo) return true
    const reason = typeof found === 'number' ? 'it is older than the manifest' : found
    const facts = { directory: this.#directory, reason }
    const message = 'the index of own keys is lost or damaged; it is made again from what waits'
    this.#platform.log.error(message, undefined, facts)
    return false
  }

  /** What the map says that it has; a text says what is wrong with it. */
  async #marker(): Promise<number | string> {
    if (!this.#map.exists) return 'there are no files'
    try {
      const value = await this.#map.get(MARKER_KEY)
      return value === undefined ? 'it has no marker' : writtenToOf(value)
    } catch (error) {
      if (error instanceof BrokerError && error.code === 'STORE_DAMAGED') return error.message
      throw error
    }
  }

  /** What is left of the map goes. */
  async #removeFiles(): Promise<void> {
    const { files } = this.#platform
    for (const name of await files.list(this.#directory)) {
      await files.remove(`${this.#directory}/${name}`)
    }
    this.#map = this.#newMap(false)
    this.#reads = new KeyReads(this.#map)
  }
}

export interface KeyIndexParts {
  readonly platform: Platform
  readonly directory: string
  /** So many that are not on disk ask for a checkpoint; twice as many hold up senders. */
  readonly stagedCountLong: number
  /** The fire position. */
  readonly firedMs: () => number
  /** It waits although its time has come. */
  readonly isParked: (timerId: number) => boolean
}

/** The digest behind this one, in the order of the map. */
function nextDigest(digest: string): string {
  return `${digest}\0`
}
