import { readInt32 } from '../../core/base/index.ts'
import type { File } from '../../core/platform/index.ts'
import {
  INDEX_HEADER_FIELDS,
  type IndexGeometry,
  type IndexHeader,
  ITEM_BYTES,
  itemOffset,
  itemPosition,
  SLOT_BYTES,
  slotPosition,
} from '../store/index.ts'
import type { Findings } from './findings.ts'
import type { IndexTail } from './index-tail.ts'
import type { ItemReader } from './item-reader.ts'
import { SLOTS_IN_PAGE, type SlotTable } from './slot-table.ts'
import { isZero } from './zeros.ts'

const PAGES_IN_BLOCK = 256
const PAGE_BYTES: number = SLOTS_IN_PAGE * SLOT_BYTES

/** What the items of a file have told of its header and slots. */
export interface IndexFileFacts {
  readonly file: File
  readonly path: string
  readonly findings: Findings
  readonly geometry: IndexGeometry
  readonly table: SlotTable
  readonly header: IndexHeader
  /** The manifest says how many items there are. */
  readonly isKnown: boolean
  /** As the header should be; `undefined` where nothing tells. */
  readonly expected: {
    readonly beginTimeMs: number | undefined
    readonly endTimeMs: number | undefined
    readonly beginOffset: number | undefined
    readonly endOffset: number | undefined
    readonly nextItem: number
  }
}

/** Number behind the last item: what the header says if the items agree, else where they end. */
export async function itemsEnd(
  items: ItemReader,
  parts: {
    readonly header: IndexHeader
    readonly geometry: IndexGeometry
    /** Items behind the end do not speak against the header. */
    readonly mayHaveMore: boolean
  },
): Promise<number> {
  const { header, geometry, mayHaveMore } = parts
  const { nextItem } = header
  const { itemCount } = geometry
  if (nextItem >= 1 && nextItem <= itemCount) {
    const last = nextItem - 1
    await items.load(last)
    const isLast = last === 0 || itemOffset(items.block, items.at(last)) === header.endOffset
    const isEnd = nextItem === itemCount || items.isZero(nextItem) || mayHaveMore
    if (isLast && isEnd && (last === 0 || !items.isZero(last))) return nextItem
  }
  let end = 1
  for (let start = 1; start < itemCount;) {
    await items.load(start)
    const to = Math.min(itemCount, items.to)
    for (let item = start; item < to; item++) if (!items.isZero(item)) end = item + 1
    if (end <= start) break
    start = to
  }
  return end
}

/** Holds the header against the items, and against the manifest where that names the file. */
export function checkHeader(facts: IndexFileFacts, tail: IndexTail): void {
  const { path, findings, header, table, expected, geometry } = facts
  if (!tail.isEmpty) {
    const from = itemPosition(geometry, tail.from)
    const range = [from, from + (tail.end - tail.from) * ITEM_BYTES] as const
    findings.note(path, range, 'items behind the last one that counts')
  }
  const isAhead = facts.isKnown && header.nextItem > expected.nextItem
  const isEmpty = expected.nextItem === 1
  const isTail = isAhead && header.nextItem <= tail.end
  const names = isTail
    ? (['beginTimeMs', 'beginOffset'] as const)
    : (['beginTimeMs', 'beginOffset', 'endTimeMs', 'endOffset', 'nextItem'] as const)
  for (const name of names) {
    // Apache begins an empty file with the end of the one before.
    const wanted = isEmpty && name !== 'nextItem' ? undefined : expected[name]
    if (wanted === undefined || header[name] === wanted) continue
    findings.damage(path, INDEX_HEADER_FIELDS[name], `the header has another ${name}`)
  }
  if (isTail) {
    const range = INDEX_HEADER_FIELDS.nextItem
    findings.note(path, range, 'the header counts items that the manifest does not name')
  } else if (header.usedSlotCount !== table.usedCount) {
    const what = 'another count of used slots, which no reader uses'
    findings.note(path, INDEX_HEADER_FIELDS.usedSlotCount, what)
  }
}

/** Holds the slots of the file against what its items say. */
export async function checkSlots(facts: IndexFileFacts, tail: IndexTail): Promise<void> {
  const { file, table } = facts
  const pageCount = Math.ceil(table.slotCount / SLOTS_IN_PAGE)
  const block = Buffer.allocUnsafeSlow(PAGES_IN_BLOCK * PAGE_BYTES)
  for (let page = 0; page < pageCount; page += PAGES_IN_BLOCK) {
    const first = page * SLOTS_IN_PAGE
    const count = Math.min(PAGES_IN_BLOCK * SLOTS_IN_PAGE, table.slotCount - first)
    const bytes = block.subarray(0, count * SLOT_BYTES)
    bytes.fill(0, await file.read(bytes, slotPosition(first)))
    for (let at = 0; at < bytes.length; at += PAGE_BYTES) {
      const end = Math.min(at + PAGE_BYTES, bytes.length)
      const isUsed = table.isPageUsed(page + at / PAGE_BYTES)
      if (!isUsed && isZero(bytes, at, end)) continue
      checkPage(facts, tail, { bytes: bytes.subarray(at, end), first: first + at / SLOT_BYTES })
    }
  }
}

function checkPage(
  { path, findings, table }: IndexFileFacts,
  tail: IndexTail,
  { bytes, first }: { readonly bytes: Buffer; readonly first: number },
): void {
  for (let at = 0; at < bytes.length; at += SLOT_BYTES) {
    const slot = first + at / SLOT_BYTES
    const item = readInt32(bytes, at)
    if (table.accepts(slot, item)) continue
    const position = slotPosition(slot)
    const range = [position, position + SLOT_BYTES] as const
    if (tail.leadsTo(item, slot)) {
      findings.note(path, range, 'the slot leads to an item behind the last one that counts')
    } else findings.damage(path, range, 'the slot does not lead to its newest item')
  }
}
