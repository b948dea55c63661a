import {
  crc32,
  readInt32,
  readInt64Loose,
  writeInt32,
  writeInt64,
} from '../../../core/base/index.ts'
import type { KeyValueChange } from '../../../core/platform/index.ts'
import type { TimerRef } from '../ladder/chunk-search.ts'

/** Of keys in the map: what an entry is. */
const KIND_MARKER = 0
const KIND_MESSAGE = 1
const KIND_BYTES = 1
const NUMBER_BYTES = 8
const CRC_BYTES = 4

/** See docs/formats/key-index.md. */
export const MARKER_KEY: Buffer = Buffer.from([KIND_MARKER])
export const FIRST_KEY: Buffer = Buffer.from([KIND_MESSAGE])
export const END_KEY: Buffer = Buffer.from([KIND_MESSAGE + 1])

/** Of an entry that leads from these 16 characters, a byte each. */
export function entryKeyOfText(text: string): Buffer {
  const key = Buffer.allocUnsafe(KIND_BYTES + text.length)
  key[0] = KIND_MESSAGE
  key.write(text, KIND_BYTES, 'latin1')
  return key
}

/** Of an entry that leads from this number. */
export function entryKeyOfNumber(number: number): Buffer {
  const key = Buffer.allocUnsafe(KIND_BYTES + NUMBER_BYTES)
  key[0] = KIND_MESSAGE
  writeInt64(key, number, KIND_BYTES)
  return key
}

/** The first that can come behind this one, in the order of the map. */
export function keyBehind(key: Buffer): Buffer {
  return Buffer.concat([key, Buffer.alloc(1)])
}

export function valueOf(ref: TimerRef): Buffer {
  return sealed([ref.timerId, ref.deliverTimeMs])
}

export function markerOf(writtenTo: number): KeyValueChange {
  return { key: MARKER_KEY, value: sealed([writtenTo]) }
}

/** Undefined when it is damaged. */
export function refOfValue(value: Buffer): TimerRef | undefined {
  if (!isSound(value, 2)) return undefined
  return { timerId: readInt64Loose(value, 0), deliverTimeMs: readInt64Loose(value, NUMBER_BYTES) }
}

/** -1 when it is damaged. */
export function writtenToOf(value: Buffer): number {
  return isSound(value, 1) ? readInt64Loose(value, 0) : -1
}

function sealed(numbers: readonly number[]): Buffer {
  const end = numbers.length * NUMBER_BYTES
  const value = Buffer.allocUnsafe(end + CRC_BYTES)
  for (const [index, number] of numbers.entries()) writeInt64(value, number, index * NUMBER_BYTES)
  writeInt32(value, crc32(value, 0, end), end)
  return value
}

function isSound(value: Buffer, numberCount: number): boolean {
  const end = numberCount * NUMBER_BYTES
  if (value.length !== end + CRC_BYTES) return false
  return readInt32(value, end) === (crc32(value, 0, end) | 0)
}
