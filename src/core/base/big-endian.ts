/**
 * Big-endian integers in bytes, for places whose bounds are known: `Buffer`'s own methods check
 * them again for each number, which takes longer than the rest. Outside the buffer reads give
 * zeros and writes do nothing.
 */
const TWO_POW_32 = 0x1_0000_0000

export function readInt32(source: Buffer, position: number): number {
  return (
    ((source[position] ?? 0) << 24) |
    ((source[position + 1] ?? 0) << 16) |
    ((source[position + 2] ?? 0) << 8) |
    (source[position + 3] ?? 0)
  )
}

/** Reads a signed 64-bit integer as a number. A value beyond 2^53 loses precision. */
export function readInt64Loose(source: Buffer, position: number): number {
  return readInt32(source, position) * TWO_POW_32 + (readInt32(source, position + 4) >>> 0)
}

/** Writes the low 32 bits of a safe integer, signed or not. */
export function writeInt32(target: Buffer, value: number, position: number): void {
  target[position] = value >>> 24
  target[position + 1] = value >>> 16
  target[position + 2] = value >>> 8
  target[position + 3] = value
}

/** Writes a safe integer as a signed 64-bit integer. */
export function writeInt64(target: Buffer, value: number, position: number): void {
  writeInt32(target, Math.floor(value / TWO_POW_32), position)
  writeInt32(target, value >>> 0, position + 4)
}
