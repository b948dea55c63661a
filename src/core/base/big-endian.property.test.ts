import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readInt32, readInt64Loose, writeInt32, writeInt64 } from './big-endian.ts'

const EDGES = [0, 1, -1, 2 ** 31 - 1, -(2 ** 31), 2 ** 31, 2 ** 32 - 1]

test('32-bit integers are written and read as Node does it', () => {
  const any = fc.oneof(
    fc.integer(),
    fc.constantFrom(...EDGES),
    fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  )
  fc.assert(
    fc.property(any, fc.nat(8), (value, position) => {
      const bytes = Buffer.alloc(16, 0x55)
      const expected = Buffer.alloc(16, 0x55)
      expected.writeUInt32BE(value >>> 0, position)
      writeInt32(bytes, value, position)
      expect(bytes).toEqual(expected)
      expect(readInt32(bytes, position)).toBe(value | 0)
    }),
  )
})

test('safe integers are written and read as 64-bit integers', () => {
  const edges = [...EDGES, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 2 ** 32, -(2 ** 32)]
  fc.assert(
    fc.property(fc.oneof(fc.maxSafeInteger(), fc.constantFrom(...edges)), value => {
      const bytes = Buffer.alloc(8)
      writeInt64(bytes, value, 0)
      expect(bytes.readBigInt64BE(0)).toBe(BigInt(value))
      expect(readInt64Loose(bytes, 0)).toBe(value)
    }),
  )
})

test('any 64 bits can be read, perhaps with less precision', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), value => {
      const bytes = Buffer.alloc(8)
      bytes.writeBigInt64BE(value)
      expect(readInt64Loose(bytes, 0)).toBe(Number(value))
    }),
  )
})
