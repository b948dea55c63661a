import { readInt32, writeInt32 } from '../../../core/base/index.ts'
import type { File } from '../../../core/platform/index.ts'
import {
  type IndexGeometry,
  ITEM_BYTES,
  itemPosition,
  itemPrevious,
  SLOT_BYTES,
  slotPosition,
} from './index-layout.ts'

/** Bytes that are read at once; slots and items both fill it. */
const BLOCK_BYTES = 1_048_560
/** Slots of a part that holds only zeros are not looked at one by one. */
const PART_BYTES = 4080
const ZEROS = Buffer.alloc(PART_BYTES)

/**
 * Takes out of the slots of an index file what leads to items from `nextItem` on. After a stop that
 * was not clean nobody vouches for those, and they are written over. A slot gets back the newest
 * item below, along the links. Resolves to how many slots are in use; durable after a sync.
 */
export async function mendSlots(
  file: File,
  geometry: IndexGeometry,
  nextItem: number,
): Promise<{ readonly usedCount: number; readonly isChanged: boolean }> {
  const { usedCount, unknownCount, highest } = await survey(file, geometry, nextItem)
  if (unknownCount === 0) return { usedCount, isChanged: false }
  const previousOf = await readPrevious(file, geometry, { from: nextItem, to: highest })
  return { usedCount: await takeBack(file, geometry, nextItem, previousOf), isChanged: true }
}

async function survey(
  file: File,
  geometry: IndexGeometry,
  nextItem: number,
): Promise<{ usedCount: number; unknownCount: number; highest: number }> {
  let usedCount = 0
  let unknownCount = 0
  let highest = 0
  for await (const { slots } of usedParts(file, geometry)) {
    for (let position = 0; position < slots.length; position += SLOT_BYTES) {
      const item = readInt32(slots, position)
      if (item === 0) continue
      usedCount++
      if (item > 0 && item < nextItem) continue
      unknownCount++
      if (item < geometry.itemCount) highest = Math.max(highest, item)
    }
  }
  return { usedCount, unknownCount, highest }
}

/** Links of the items from `from` to `to`. */
async function readPrevious(
  file: File,
  geometry: IndexGeometry,
  items: { readonly from: number; readonly to: number },
): Promise<Int32Array> {
  const previousOf = new Int32Array(Math.max(0, items.to + 1 - items.from))
  const block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  for (let done = 0; done < previousOf.length;) {
    const count = Math.min(previousOf.length - done, BLOCK_BYTES / ITEM_BYTES)
    const bytes = block.subarray(0, count * ITEM_BYTES)
    await file.read(bytes, itemPosition(geometry, items.from + done))
    for (let index = 0; index < count; index++) {
      previousOf[done + index] = itemPrevious(bytes, index * ITEM_BYTES)
    }
    done += count
  }
  return previousOf
}

async function takeBack(
  file: File,
  geometry: IndexGeometry,
  nextItem: number,
  previousOf: Int32Array,
): Promise<number> {
  let usedCount = 0
  for await (const { slots, start } of usedParts(file, geometry)) {
    let isChanged = false
    for (let position = 0; position < slots.length; position += SLOT_BYTES) {
      const found = readInt32(slots, position)
      let item = found < geometry.itemCount ? Math.max(0, found) : 0
      while (item >= nextItem) {
        const previous = previousOf[item - nextItem] ?? 0
        // A link to a younger item would go round in circles.
        item = previous > 0 && previous < item ? previous : 0
      }
      if (item !== 0) usedCount++
      if (item === found) continue
      writeInt32(slots, item, position)
      isChanged = true
    }
    if (isChanged) await file.write([Buffer.from(slots)], start)
  }
  return usedCount
}

interface SlotPart {
  readonly slots: Buffer
  readonly start: number
}

/** In pieces that are worth a call on the disk, or smaller ones around what is in use. */
async function* usedParts(file: File, geometry: IndexGeometry): AsyncGenerator<SlotPart> {
  for await (const { slots, start } of slotBlocks(file, geometry)) {
    let from = -1
    for (let at = 0; at < slots.length; at += PART_BYTES) {
      const part = slots.subarray(at, at + PART_BYTES)
      const isUsed = !part.equals(
        part.length === PART_BYTES ? ZEROS : ZEROS.subarray(0, part.length),
      )
      if (isUsed && from < 0) from = at
      if (isUsed || from < 0) continue
      yield { slots: slots.subarray(from, at), start: start + from }
      from = -1
    }
    if (from >= 0) yield { slots: slots.subarray(from), start: start + from }
  }
}

async function* slotBlocks(file: File, geometry: IndexGeometry): AsyncGenerator<SlotPart> {
  const end = slotPosition(geometry.slotCount)
  const block = Buffer.allocUnsafeSlow(Math.min(BLOCK_BYTES, end))
  for (let start = slotPosition(0); start < end; start += block.length) {
    const slots = block.subarray(0, Math.min(block.length, end - start))
    await file.read(slots, start)
    yield { slots, start }
  }
}
