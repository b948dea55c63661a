import { propertiesStart, recordSize } from './record-fields.ts'
import { PAIR_END_CODE } from './record-layout.ts'
import { PROPERTY } from './property-names.ts'

const NAME = Buffer.from(`${PROPERTY.REAL_TOPIC}\u0001`)
const FNV_BASIS = 0x811c_9dc5
const FNV_PRIME = 0x0100_0193

/**
 * A hash of the topic that an accepted message is for, 32 bits unsigned; that of the empty name
 * when its record names none. Looks at bytes only and makes no string. The property is among the
 * last, so the search begins at the end; there the last of several counts, as it must.
 */
export function realTopicHash(source: Buffer, position: number): number {
  const start = propertiesStart(source, position)
  let valueEnd = position + recordSize(source, position)
  if (source[valueEnd - 1] === PAIR_END_CODE) valueEnd--
  for (let at = valueEnd; at > start; at--) {
    if (source[at - 1] !== PAIR_END_CODE) continue
    if (isNameAt(source, at)) return hashOf(source, at + NAME.length, valueEnd)
    valueEnd = at - 1
  }
  return isNameAt(source, start) ? hashOf(source, start + NAME.length, valueEnd) : FNV_BASIS
}

function isNameAt(source: Buffer, at: number): boolean {
  for (let index = 0; index < NAME.length; index++) {
    if (source[at + index] !== NAME[index]) return false
  }
  return true
}

function hashOf(source: Buffer, start: number, end: number): number {
  let hash = FNV_BASIS
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (source[at] ?? 0), FNV_PRIME)
  return hash >>> 0
}
