const TWO_POW_32 = 0x1_0000_0000

/**
 * Reads a signed 64-bit big-endian integer as a number. Bytes need not be checked yet: a value
 * beyond 2^53 loses precision, nothing throws.
 */
export function readInt64Loose(source: Buffer, position: number): number {
  return source.readInt32BE(position) * TWO_POW_32 + source.readUInt32BE(position + 4)
}

/** Writes a safe integer as a signed 64-bit big-endian integer. */
export function writeInt64(target: Buffer, value: number, position: number): void {
  const high = Math.floor(value / TWO_POW_32)
  target.writeInt32BE(high, position)
  target.writeUInt32BE(value - high * TWO_POW_32, position + 4)
}
