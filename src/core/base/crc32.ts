import { crc32 as nativeCrc32 } from 'node:zlib'

const TABLE = table()

function table(): Int32Array {
  const entries = new Int32Array(256)
  for (let index = 0; index < 256; index++) {
    let value = index
    for (let bit = 0; bit < 8; bit++) {
      value = (value & 1) === 0 ? value >>> 1 : (value >>> 1) ^ 0xedb8_8320
    }
    entries[index] = value
  }
  return entries
}

/** Below this size a table beats the call into native code (about 150 ns). */
const NATIVE_MIN_BYTES = 96

/** CRC-32 (IEEE) of `source` from `start` to `end`, as an unsigned 32-bit number. */
export function crc32(source: Buffer, start: number, end: number): number {
  if (end - start >= NATIVE_MIN_BYTES) return nativeCrc32(source.subarray(start, end))
  let crc = -1
  for (let position = start; position < end; position++) {
    crc = (crc >>> 8) ^ (TABLE[(crc ^ (source[position] ?? 0)) & 0xff] ?? 0)
  }
  return ~crc >>> 0
}
