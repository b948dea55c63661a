import {
  assert,
  readInt32,
  readInt64Loose,
  writeInt32,
  writeInt64,
} from '../../../core/base/index.ts'
import { javaHash } from '../../../model/message/index.ts'

/**
 * A file of the message index, as Apache RocketMQ lays it out: header, slots, items. Big-endian.
 * See docs/formats/message-index.md.
 */
export const INDEX_HEADER_BYTES = 40
export const SLOT_BYTES = 4
export const ITEM_BYTES = 20

/** How many slots and items a file has; Apache refuses any other than its own setting. */
export interface IndexGeometry {
  readonly slotCount: number
  /** With item 0, which is never used. */
  readonly itemCount: number
}

/** What Apache has unless told otherwise. */
export const APACHE_GEOMETRY: IndexGeometry = { slotCount: 5_000_000, itemCount: 20_000_000 }

export function indexFileBytes({ slotCount, itemCount }: IndexGeometry): number {
  return INDEX_HEADER_BYTES + slotCount * SLOT_BYTES + itemCount * ITEM_BYTES
}

export function slotPosition(slot: number): number {
  return INDEX_HEADER_BYTES + slot * SLOT_BYTES
}

export function itemPosition({ slotCount }: IndexGeometry, item: number): number {
  return INDEX_HEADER_BYTES + slotCount * SLOT_BYTES + item * ITEM_BYTES
}

const AT_BEGIN_TIME = 0 // int64, store time of the first item, ms since 1970
const AT_END_TIME = 8 // int64, of the last
const AT_BEGIN_OFFSET = 16 // int64, commit log offset of the first item
const AT_END_OFFSET = 24 // int64, of the last
const AT_USED_SLOTS = 32 // int32
const AT_NEXT_ITEM = 36 // int32, 1 in an empty file
assert(AT_NEXT_ITEM + 4 === INDEX_HEADER_BYTES, 'the fields must fill the header exactly')

/** Where the fields lie, the end not included. */
export const INDEX_HEADER_FIELDS: Readonly<
  Record<keyof IndexHeader, readonly [from: number, to: number]>
> = {
  beginTimeMs: [AT_BEGIN_TIME, AT_END_TIME],
  endTimeMs: [AT_END_TIME, AT_BEGIN_OFFSET],
  beginOffset: [AT_BEGIN_OFFSET, AT_END_OFFSET],
  endOffset: [AT_END_OFFSET, AT_USED_SLOTS],
  usedSlotCount: [AT_USED_SLOTS, AT_NEXT_ITEM],
  nextItem: [AT_NEXT_ITEM, INDEX_HEADER_BYTES],
}

/** What is in a file. Times in milliseconds since 1970. */
export interface IndexHeader {
  beginTimeMs: number
  endTimeMs: number
  beginOffset: number
  endOffset: number
  usedSlotCount: number
  /** Number of the next item; the first is 1. */
  nextItem: number
}

export function emptyIndexHeader(): IndexHeader {
  return {
    beginTimeMs: 0,
    endTimeMs: 0,
    beginOffset: 0,
    endOffset: 0,
    usedSlotCount: 0,
    nextItem: 1,
  }
}

export function encodeIndexHeader(header: IndexHeader): Buffer {
  const bytes = Buffer.alloc(INDEX_HEADER_BYTES)
  writeInt64(bytes, header.beginTimeMs, AT_BEGIN_TIME)
  writeInt64(bytes, header.endTimeMs, AT_END_TIME)
  writeInt64(bytes, header.beginOffset, AT_BEGIN_OFFSET)
  writeInt64(bytes, header.endOffset, AT_END_OFFSET)
  writeInt32(bytes, header.usedSlotCount, AT_USED_SLOTS)
  writeInt32(bytes, header.nextItem, AT_NEXT_ITEM)
  return bytes
}

/** A next item of 0 or less counts as 1, as Apache takes it. */
export function decodeIndexHeader(bytes: Buffer): IndexHeader {
  return {
    beginTimeMs: readInt64Loose(bytes, AT_BEGIN_TIME),
    endTimeMs: readInt64Loose(bytes, AT_END_TIME),
    beginOffset: readInt64Loose(bytes, AT_BEGIN_OFFSET),
    endOffset: readInt64Loose(bytes, AT_END_OFFSET),
    usedSlotCount: readInt32(bytes, AT_USED_SLOTS),
    nextItem: Math.max(1, readInt32(bytes, AT_NEXT_ITEM)),
  }
}

const AT_KEY_HASH = 0 // int32, not below 0
const AT_OFFSET = 4 // int64, commit log offset of the record
const AT_SECONDS = 12 // int32, store time in seconds since the file's beginTime
const AT_PREVIOUS = 16 // int32, number of the item before it in its slot; 0: none
assert(AT_PREVIOUS + 4 === ITEM_BYTES, 'the fields must fill an item exactly')

const SECONDS_MAX = 0x7fff_ffff

/** Hash and link of an item; 0 links to none. */
export function writeItemKey(target: Buffer, position: number, keyHash: number): void {
  writeInt32(target, keyHash, position + AT_KEY_HASH)
  writeInt32(target, 0, position + AT_PREVIOUS)
}

export function writeItemPlace(
  target: Buffer,
  position: number,
  commitLogOffset: number,
  seconds: number,
): void {
  writeInt64(target, commitLogOffset, position + AT_OFFSET)
  writeInt32(target, seconds, position + AT_SECONDS)
}

export function writeItemPrevious(target: Buffer, position: number, previous: number): void {
  writeInt32(target, previous, position + AT_PREVIOUS)
}

export function itemKeyHash(source: Buffer, position: number): number {
  return readInt32(source, position + AT_KEY_HASH)
}

export function itemOffset(source: Buffer, position: number): number {
  return readInt64Loose(source, position + AT_OFFSET)
}

export function itemSeconds(source: Buffer, position: number): number {
  return readInt32(source, position + AT_SECONDS)
}

export function itemPrevious(source: Buffer, position: number): number {
  return readInt32(source, position + AT_PREVIOUS)
}

/** Seconds from `beginTimeMs` as an item holds them: 0 also for what is older. */
export function secondsSince(beginTimeMs: number, timeMs: number): number {
  const seconds = Math.floor((timeMs - beginTimeMs) / 1000)
  return seconds <= 0 ? 0 : Math.min(seconds, SECONDS_MAX)
}

/** False when a record with these seconds was surely stored before `fromMs` or after `toMs`. */
export function mayLieBetween(
  item: { readonly beginTimeMs: number; readonly seconds: number },
  fromMs: number,
  toMs: number,
): boolean {
  const earliestMs = item.beginTimeMs + item.seconds * 1000
  const mayBeLater = item.seconds === SECONDS_MAX || item.seconds < 0
  if (!mayBeLater && earliestMs + 1000 <= fromMs) return false
  // A clock that was set back has stored records before the file's first one.
  return item.seconds <= 0 || earliestMs <= toMs
}

/** What an item holds of a key, from the Java hash of `topic#key`: never below 0. */
export function keyHashOf(hash: number): number {
  return hash === -0x8000_0000 ? 0 : Math.abs(hash)
}

export function keyHashOfText(topic: string, key: string): number {
  return keyHashOf(javaHash(`${topic}#${key}`))
}
