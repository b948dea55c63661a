import { assert, BrokerError, readInt32, writeInt32 } from '../../../core/base/index.ts'
import type { File, Files } from '../../../core/platform/index.ts'
import { type IndexBatch, type IndexPlace, SLOTS_PER_PAGE } from './index-batch.ts'
import {
  decodeIndexHeader,
  encodeIndexHeader,
  INDEX_HEADER_BYTES,
  type IndexGeometry,
  type IndexHeader,
  indexFileBytes,
  ITEM_BYTES,
  itemKeyHash,
  itemOffset,
  itemPosition,
  itemPrevious,
  itemSeconds,
  SLOT_BYTES,
  slotPosition,
} from './index-layout.ts'
import { mendSlots } from './mend-slots.ts'

/** Pages of slots that are read in one piece at most, and gaps that are read, or written, along. */
const RUN_PAGES_MAX = 64
const READ_GAP_PAGES_MAX = 16
const WRITE_GAP_PAGES_MAX = 2
const PAGE_BYTES: number = SLOTS_PER_PAGE * SLOT_BYTES
/** Slots are synced after so much, so that a sync of the log never waits behind all of them. */
const UNSYNCED_BYTES_MAX = 4 * 1024 * 1024
/** Items that are read at once along a chain, at first and at most. */
const CHAIN_ITEMS_FIRST = 4
const CHAIN_ITEMS_MAX = 3276

/**
 * One file of the message index on disk.
 *
 * Items are durable before a slot leads to them, so what a slot leads to can always be followed
 * back; `mendSlots` relies on it.
 */
export class IndexFile {
  readonly name: string
  /** As the file's header says it, and the batches written since. */
  usedSlotCount = 0
  readonly #files: Files
  readonly #path: string
  readonly #geometry: IndexGeometry

  constructor(files: Files, directory: string, name: string, geometry: IndexGeometry) {
    this.#files = files
    this.name = name
    this.#path = `${directory}/${name}`
    this.#geometry = geometry
  }

  get #allPages(): SlotRun {
    return { from: 0, to: Math.ceil(this.#geometry.slotCount / SLOTS_PER_PAGE) }
  }

  /** In its full length, sparse; the name is not durable yet. */
  async create(): Promise<void> {
    const file = await this.#files.open(this.#path, 'write')
    try {
      await file.truncate(indexFileBytes(this.#geometry))
      await this.#sync(file)
    } finally {
      await file.close()
    }
  }

  remove(): Promise<void> {
    return this.#files.remove(this.#path)
  }

  /** `undefined` when it has another length than ours: it cannot be read. */
  async readHeader(): Promise<IndexHeader | undefined> {
    if ((await this.#files.sizeOf(this.#path)) !== indexFileBytes(this.#geometry)) return undefined
    const file = await this.#files.open(this.#path, 'read')
    try {
      const bytes = Buffer.alloc(INDEX_HEADER_BYTES)
      await file.read(bytes, 0)
      return decodeIndexHeader(bytes)
    } finally {
      await file.close()
    }
  }

  /**
   * Writes a batch and makes it durable; when it rejects, the same batch may be written again.
   * Errors: STORE_FULL, STORE_FAILED.
   */
  async write(batch: IndexBatch): Promise<void> {
    const { header } = batch
    assert(header !== undefined, 'a batch is written when nothing more is added')
    const file = await this.#files.open(this.#path, 'write')
    try {
      if (!batch.isLinked) {
        this.usedSlotCount += await this.#link(file, batch)
        batch.isLinked = true
      }
      await file.write([batch.itemBytes], itemPosition(this.#geometry, batch.firstItem))
      await this.#sync(file)
      await this.#writeSlots(file, batch)
      const { usedSlotCount } = this
      await file.write([encodeIndexHeader({ ...header, usedSlotCount })], 0)
      await this.#sync(file)
    } finally {
      await file.close()
    }
  }

  /** Gives each item its link to the one before it. Resolves to how many slots were empty. */
  async #link(file: File, batch: IndexBatch): Promise<number> {
    let emptyCount = 0
    const previousOf = new Int32Array(batch.count)
    for (const run of runs(batch, this.#allPages, READ_GAP_PAGES_MAX)) {
      const slots = await this.#readSlots(file, run)
      for (let page = run.from; page < run.to; page++) {
        for (let entry = batch.firstOf(page); entry >= 0; entry = batch.after(entry)) {
          const position = (batch.slotOf(entry) - run.from * SLOTS_PER_PAGE) * SLOT_BYTES
          const item = batch.firstItem + entry
          const found = readInt32(slots, position)
          const previous = found > 0 && found < item ? found : 0
          if (previous === 0) emptyCount++
          previousOf[entry] = previous
          writeInt32(slots, item, position)
        }
      }
    }
    // All or none: a batch that could be read only in part is linked anew.
    for (let entry = 0; entry < batch.count; entry++) {
      batch.setPrevious(entry, previousOf[entry] ?? 0)
    }
    return emptyCount
  }

  async #writeSlots(file: File, batch: IndexBatch): Promise<void> {
    let unsyncedBytes = 0
    for (const run of runs(batch, this.#allPages, READ_GAP_PAGES_MAX)) {
      const slots = await this.#readSlots(file, run)
      for (let page = run.from; page < run.to; page++) {
        for (let entry = batch.firstOf(page); entry >= 0; entry = batch.after(entry)) {
          const position = (batch.slotOf(entry) - run.from * SLOTS_PER_PAGE) * SLOT_BYTES
          writeInt32(slots, batch.firstItem + entry, position)
        }
      }
      for (const { from, to } of runs(batch, run, WRITE_GAP_PAGES_MAX)) {
        const pages = slots.subarray((from - run.from) * PAGE_BYTES, (to - run.from) * PAGE_BYTES)
        await file.write([pages], slotPosition(from * SLOTS_PER_PAGE))
        unsyncedBytes += pages.length
      }
      if (unsyncedBytes < UNSYNCED_BYTES_MAX) continue
      await this.#sync(file)
      unsyncedBytes = 0
    }
  }

  async #readSlots(file: File, { from, to }: SlotRun): Promise<Buffer> {
    const first = from * SLOTS_PER_PAGE
    const end = Math.min(to * SLOTS_PER_PAGE, this.#geometry.slotCount)
    const slots = Buffer.allocUnsafeSlow((end - first) * SLOT_BYTES)
    await file.read(slots, slotPosition(first))
    return slots
  }

  /** Places under a key's hash, the newest first. */
  async *placesOf(keyHash: number): AsyncGenerator<IndexPlace> {
    const file = await this.#files.open(this.#path, 'read')
    try {
      const head = Buffer.alloc(INDEX_HEADER_BYTES)
      await file.read(head, 0)
      const { beginTimeMs } = decodeIndexHeader(head)
      const slot = Buffer.alloc(SLOT_BYTES)
      await file.read(slot, slotPosition(keyHash % this.#geometry.slotCount))
      yield* this.#chain(file, readInt32(slot, 0), { keyHash, beginTimeMs })
    } finally {
      await file.close()
    }
  }

  async *#chain(
    file: File,
    newest: number,
    sought: { readonly keyHash: number; readonly beginTimeMs: number },
  ): AsyncGenerator<IndexPlace> {
    let block = Buffer.alloc(0)
    let blockFrom = 0
    let blockItems = CHAIN_ITEMS_FIRST
    let item = newest < this.#geometry.itemCount ? newest : 0
    while (item > 0) {
      if (item < blockFrom || block.length === 0) {
        blockFrom = Math.max(0, item + 1 - blockItems)
        block = Buffer.alloc((item + 1 - blockFrom) * ITEM_BYTES)
        await file.read(block, itemPosition(this.#geometry, blockFrom))
        blockItems = Math.min(CHAIN_ITEMS_MAX, blockItems * 4)
      }
      const position = (item - blockFrom) * ITEM_BYTES
      if (itemKeyHash(block, position) === sought.keyHash) {
        const commitLogOffset = itemOffset(block, position)
        const seconds = itemSeconds(block, position)
        const { beginTimeMs } = sought
        yield { commitLogOffset, beginTimeMs, seconds, isFirst: item === 1 }
      }
      const previous = itemPrevious(block, position)
      // Links lead to older items only: another one would go round in circles.
      item = previous < item ? previous : 0
    }
  }

  /** See `mendSlots`; durable when it resolves. */
  async mend(nextItem: number): Promise<void> {
    const file = await this.#files.open(this.#path, 'write')
    try {
      const { usedCount, isChanged } = await mendSlots(file, this.#geometry, nextItem)
      this.usedSlotCount = usedCount
      if (isChanged) await this.#sync(file)
    } finally {
      await file.close()
    }
  }

  /** After a sync that failed nobody knows what is durable: it must not be tried again. */
  async #sync(file: File): Promise<void> {
    try {
      await file.datasync()
    } catch (error) {
      throw new BrokerError('STORE_FAILED', { file: this.#path }, error)
    }
  }
}

/** Runs of pages with entries within `within`: near ones together. */
function* runs(batch: IndexBatch, within: SlotRun, gapPagesMax: number): Generator<SlotRun> {
  const nextPage = (from: number): number => {
    const page = batch.nextPage(from)
    return page < within.to ? page : -1
  }
  for (let from = nextPage(within.from); from >= 0;) {
    let to = from + 1
    let next = nextPage(to)
    while (next >= 0 && next - to <= gapPagesMax && next - from < RUN_PAGES_MAX) {
      to = next + 1
      next = nextPage(to)
    }
    yield { from, to }
    from = next
  }
}

/** Pages of slots, `to` excluded. */
interface SlotRun {
  readonly from: number
  readonly to: number
}
