import type { ClassicLevel } from 'classic-level'
import { BrokerError, type ErrorCode } from '../../base/index.ts'
import { makeDurableDirectory } from '../durable-directory.ts'
import type { Files } from '../files.ts'
import type { KeyValue, KeyValueChange, KeyValues, KeyValueStores } from '../key-values.ts'
import { OrderedKeyValues } from '../ordered-key-values.ts'

const MIB = 1024 * 1024
/** Where LevelDB would by itself go over to a new log; see `LevelMap.write`. */
const WRITE_BUFFER_BYTES = 8 * MIB
/** What of it is used at most, by an estimate that is never too low. */
const UNFLUSHED_BYTES_MAX = WRITE_BUFFER_BYTES - MIB
/** Of an entry beside key and value: lengths, sequence number, a node of the highest tower. */
const ENTRY_BYTES_MAX = 130
/** Memory comes in blocks, of which up to a quarter is left over. */
const BLOCK_RATIO = 4 / 3
const OPTIONS = {
  keyEncoding: 'buffer',
  valueEncoding: 'buffer',
  cacheSize: 8 * MIB,
  writeBufferSize: WRITE_BUFFER_BYTES,
  maxOpenFiles: 256,
} as const
/** What an iterator hands over at once. */
const RANGE_STEP_BYTES = MIB
/** Behind all keys in use, so that a flush of "this range" merges no tables. */
const LAST_KEY = Buffer.alloc(64, 0xff)

/** Sorted maps in LevelDB, which is loaded when the first of them is opened. */
export class RealKeyValueStores implements KeyValueStores {
  readonly #files: Files

  constructor(files: Files) {
    this.#files = files
  }

  async open(directory: string): Promise<KeyValues> {
    await makeDurableDirectory(this.#files, directory)
    const level = await performOn(directory, async () => {
      const { ClassicLevel: Level } = await import('classic-level')
      const opened = new Level<Buffer, Buffer>(directory, OPTIONS)
      await opened.open()
      return opened
    })
    return new OrderedKeyValues(new LevelMap(level, directory))
  }
}

/** Its writes must come one at a time. */
class LevelMap implements KeyValues {
  readonly #level: ClassicLevel<Buffer, Buffer>
  readonly #directory: string
  #unflushedBytes = 0

  constructor(level: ClassicLevel<Buffer, Buffer>, directory: string) {
    this.#level = level
    this.#directory = directory
  }

  get(key: Buffer): Promise<Buffer | undefined> {
    return performOn(this.#directory, () => this.#level.get(key))
  }

  getMany(keys: readonly Buffer[]): Promise<readonly (Buffer | undefined)[]> {
    return performOn(this.#directory, () => this.#level.getMany([...keys]))
  }

  range(from: Buffer, to: Buffer, countMax: number): Promise<readonly KeyValue[]> {
    const options = { gte: from, lt: to, limit: countMax, highWaterMarkBytes: RANGE_STEP_BYTES }
    return performOn(this.#directory, async () => {
      const entries = await this.#level.iterator(options).all()
      return entries.map(([key, value]) => ({ key, value }))
    })
  }

  /**
   * LevelDB never syncs a log that it leaves for a new one: for a while what was written last is
   * in a log that may survive a power cut beside an older one that may not. So it is never let to
   * go over by itself: before its buffer can be full the buffer is flushed, and nothing is written
   * until that is durable.
   */
  write(changes: readonly KeyValueChange[], isDurable: boolean): Promise<void> {
    return performOn(this.#directory, async () => {
      const sizeBytes = memoryBytesMax(changes)
      const full = this.#unflushedBytes + sizeBytes > UNFLUSHED_BYTES_MAX
      if (this.#unflushedBytes > 0 && full) await this.#flush()
      this.#unflushedBytes += sizeBytes
      if (changes.length > 0) await this.#writeBatch(changes, isDurable)
      // The library takes an empty batch for nothing to do.
      else if (isDurable) await this.#flush()
    })
  }

  close(): Promise<void> {
    return performOn(this.#directory, () => this.#level.close())
  }

  async #writeBatch(changes: readonly KeyValueChange[], isDurable: boolean): Promise<void> {
    // Not as an array: then the library copies the options into each change, which takes longer
    // than all the rest.
    const batch = this.#level.batch()
    for (const { key, value } of changes) {
      if (value === undefined) batch.del(key)
      else batch.put(key, value)
    }
    await batch.write({ sync: isDurable })
  }

  /** It does not say when it failed: LevelDB then refuses the next write. */
  async #flush(): Promise<void> {
    await this.#level.compactRange(LAST_KEY, LAST_KEY)
    this.#unflushedBytes = 0
  }
}

function memoryBytesMax(changes: readonly KeyValueChange[]): number {
  let sizeBytes = 0
  for (const { key, value } of changes) {
    sizeBytes += key.length + (value?.length ?? 0) + ENTRY_BYTES_MAX
  }
  return sizeBytes * BLOCK_RATIO
}

async function performOn<T>(directory: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    throw levelError(error, directory)
  }
}

/** What LevelDB says, as a `BrokerError`; the library wraps it once when it opens. */
function levelError(error: unknown, path: string): unknown {
  if (!(error instanceof Error)) return error
  const origin = error.cause instanceof Error ? error.cause : error
  return new BrokerError(codeOf(origin), { path, reason: origin.message }, error)
}

function codeOf(error: NodeJS.ErrnoException): ErrorCode {
  if (error.code === 'LEVEL_LOCKED') return 'STORE_LOCKED'
  if (error.code === 'LEVEL_CORRUPTION') return 'STORE_DAMAGED'
  // LevelDB hands on the system's text and not its number.
  const full = /no space left|quota exceeded|not enough space/i.test(error.message)
  if (full) return 'STORE_FULL'
  const refused = /permission denied|not permitted|read-only|not a directory/i.test(error.message)
  return refused ? 'STORE_NOT_ACCESSIBLE' : 'STORE_FAILED'
}
