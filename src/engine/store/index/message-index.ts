import { BrokerError, Gate, operatingError } from '../../../core/base/index.ts'
import type { Platform } from '../../../core/platform/index.ts'
import { recordStoreTimeMs } from '../../../model/message/index.ts'
import { hasAbortFile } from '../apache-files.ts'
import type { Store } from '../store.ts'
import type { AppliedRecord, CheckpointParticipant, RecordApplier } from '../topic-applier.ts'
import { ENTRY_BYTES, IndexBatch, type IndexPlace } from './index-batch.ts'
import type { IndexFile } from './index-file.ts'
import { IndexFiles } from './index-files.ts'
import { APACHE_GEOMETRY, type IndexGeometry, keyHashOfText, secondsSince } from './index-layout.ts'
import { type MessageQuery, recordsAt } from './message-query.ts'
import { RecordHashes } from './record-hashes.ts'

const STAGED_BYTES_MAX = 8 * 1024 * 1024
/** Searches at the same time; the others wait in line. */
const SEARCHES_MAX = 2

/** What is asked of the store. */
export interface IndexedStore {
  readonly isForeign: boolean
  /** Whether the last stop was ours and clean. */
  readonly isClean: boolean
  section(name: string): unknown
  readRecord(commitLogOffset: number): Promise<Buffer | undefined>
  announceRelief(): void
}

export interface MessageIndexOptions {
  /** The data folder. */
  readonly directory: string
  /** Memory for entries that are not written yet. Default 8 MiB. */
  readonly stagedBytesMax?: number
  /** Default Apache's. */
  readonly geometry?: IndexGeometry
}

/**
 * Finds messages by unique key and by the words of their keys, as long as the log holds them: in
 * Apache RocketMQ's files. Entries wait in memory and are written by checkpoints, or earlier when
 * there are many; recovery makes those of the log behind the last checkpoint again.
 *
 * Life: `open` before the store recovers, `join` it, `start` after that.
 */
export class MessageIndex implements CheckpointParticipant, RecordApplier {
  readonly name = 'messageIndex'
  readonly #store: IndexedStore
  readonly #platform: Platform
  readonly #files: IndexFiles
  readonly #stagedBytesMax: number
  readonly #hashes = new RecordHashes()
  readonly #searches = new Gate(SEARCHES_MAX)
  /** Takes in entries. */
  #batch: IndexBatch | undefined
  /** Wait to be written, the oldest first. */
  #sealed: IndexBatch[] = []
  #writing: Promise<void> | undefined
  /** No later write may say yes after a sync has failed. */
  #failure: BrokerError | undefined
  /** Records up to here are in the files already; -1: none. */
  #knownOffset: number

  private constructor(parts: {
    platform: Platform
    store: IndexedStore
    files: IndexFiles
    stagedBytesMax: number
  }) {
    this.#platform = parts.platform
    this.#store = parts.store
    this.#files = parts.files
    this.#stagedBytesMax = parts.stagedBytesMax
    this.#knownOffset = parts.files.knownOffset
  }

  /** Errors: STORE_FAILED, STORE_DAMAGED. */
  static async open(
    platform: Platform,
    options: MessageIndexOptions,
    store: IndexedStore,
  ): Promise<MessageIndex> {
    const { directory, geometry = APACHE_GEOMETRY, stagedBytesMax = STAGED_BYTES_MAX } = options
    const files = new IndexFiles(platform, `${directory}/index`, geometry)
    await platform.files.makeDirectory(`${directory}/index`)
    await platform.files.syncDirectory(directory)
    // A killed process may have made files there and not synced their names.
    await platform.files.syncDirectory(`${directory}/index`)
    // After such a stop of another broker its files may be anything: the log is read from its start.
    const isLost = store.isForeign && (await hasAbortFile(platform.files, directory))
    await files.load({ section: store.section('messageIndex'), store, isLost })
    return new MessageIndex({ platform, store, files, stagedBytesMax })
  }

  join(store: Pick<Store, 'join'>): void {
    store.join({
      participant: this,
      records: this,
      onTrimmed: minLogOffset => this.#files.removeBelow(minLogOffset),
      isCongested: () => this.isCongested,
    })
  }

  /** Recovery is over. */
  start(): void {
    this.#knownOffset = -1
  }

  get stagedBytes(): number {
    let bytes = this.#batch?.memoryBytes ?? 0
    for (const batch of this.#sealed) bytes += batch.memoryBytes
    return bytes
  }

  /** The disk does not keep up: no more should come in for a moment. */
  get isCongested(): boolean {
    return this.#sealed.length > 1 && this.stagedBytes > this.#stagedBytesMax
  }

  /** Store time and log offset of the newest entry; zeros in an empty index. */
  get newest(): { readonly storeTimeMs: number; readonly commitLogOffset: number } {
    const { header } = this.#files
    return { storeTimeMs: header.endTimeMs, commitLogOffset: header.endOffset }
  }

  apply(record: AppliedRecord): void {
    const { source, position, commitLogOffset } = record
    if (commitLogOffset <= this.#knownOffset) return
    const hashes = this.#hashes
    hashes.read(record)
    const storeTimeMs = recordStoreTimeMs(source, position)
    for (let index = 0; index < hashes.count; index++) {
      this.#add(hashes.at(index), commitLogOffset, storeTimeMs)
    }
  }

  #add(keyHash: number, commitLogOffset: number, storeTimeMs: number): void {
    let batch = this.#batch
    if (batch === undefined || batch.isFull) {
      batch = this.#beginBatch(commitLogOffset, storeTimeMs)
    }
    batch.add(keyHash, commitLogOffset, secondsSince(batch.beginTimeMs, storeTimeMs))
    const { header } = this.#files
    header.nextItem++
    header.endTimeMs = storeTimeMs
    header.endOffset = commitLogOffset
  }

  #beginBatch(commitLogOffset: number, storeTimeMs: number): IndexBatch {
    const isEarly = this.#batch !== undefined
    this.#seal()
    const { fileName, header, geometry } = this.#files.current(this.#platform.clock.timeMs())
    if (header.nextItem === 1) {
      header.beginTimeMs = storeTimeMs
      header.beginOffset = commitLogOffset
    }
    const batch = new IndexBatch({
      geometry,
      fileName,
      firstItem: header.nextItem,
      beginTimeMs: header.beginTimeMs,
      countMax: Math.max(1, Math.floor(this.#stagedBytesMax / 2 / ENTRY_BYTES)),
    })
    this.#batch = batch
    if (isEarly) void this.#writeEarly()
    return batch
  }

  #seal(): void {
    const batch = this.#batch
    if (batch === undefined || batch.count === 0) return
    batch.header = { ...this.#files.header }
    this.#sealed.push(batch)
    this.#batch = undefined
  }

  /** What fails is tried again by the next checkpoint, which says so. */
  async #writeEarly(): Promise<void> {
    try {
      await this.#writeSealed()
    } catch (error) {
      const reason = operatingError(error).message
      this.#platform.log.warn('the message index could not be written yet', { reason })
    }
  }

  async #writeSealed(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing.catch(() => undefined)
    if (this.#sealed.length === 0) return
    this.#writing = this.#drain().finally(() => {
      this.#writing = undefined
    })
    await this.#writing
  }

  async #drain(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    for (;;) {
      const [batch] = this.#sealed
      if (batch === undefined) return
      try {
        await this.#files.write(batch)
      } catch (error) {
        const isFull = error instanceof BrokerError && error.code === 'STORE_FULL'
        if (!isFull && error instanceof BrokerError) this.#failure = error
        throw error
      }
      const wasCongested = this.isCongested
      this.#sealed.shift()
      if (wasCongested && !this.isCongested) this.#store.announceRelief()
    }
  }

  snapshot(): unknown {
    this.#seal()
    return this.#files.section()
  }

  write(): Promise<void> {
    return this.#writeSealed()
  }

  async relieve(): Promise<void> {
    if (this.#sealed.length > 0) await this.#writeSealed()
  }

  /**
   * The newest messages that the query finds, at most `countMax` and about 8 MiB, each a copy of
   * its whole record, in the order of the log. One that has waited for its deliver time is found
   * twice: as it was accepted, under the timers' topic, and as it was delivered.
   */
  search(query: MessageQuery): Promise<readonly Buffer[]> {
    const places = this.#placesOf(keyHashOfText(query.topic, query.key))
    return this.#searches.run(1, () => recordsAt(places, query, this.#store))
  }

  /** Memory first: what is written meanwhile is found at least once. */
  async *#placesOf(keyHash: number): AsyncGenerator<IndexPlace> {
    const staged: IndexPlace[] = []
    if (this.#batch !== undefined) staged.push(...this.#batch.placesOf(keyHash))
    for (const batch of this.#sealed.toReversed()) staged.push(...batch.placesOf(keyHash))
    const files: readonly IndexFile[] = this.#files.newestFirst()
    yield* staged
    for (const file of files) {
      try {
        yield* file.placesOf(keyHash)
      } catch (error) {
        // Removed meanwhile: so is what it leads to.
        if (this.#files.has(file)) throw error
      }
    }
  }
}
