import { randomBytes } from 'node:crypto'
import { assert } from '../../base/index.ts'
import type { Random } from '../random.ts'

const BUFFER_BYTES = 4096
const TWO_POW_32 = 0x1_0000_0000

/** The system's randomness, fetched in blocks: one call for many numbers. */
export class RealRandom implements Random {
  #buffer: Buffer = Buffer.alloc(0)
  #position = 0

  below(limit: number): number {
    assert(Number.isInteger(limit) && limit >= 1 && limit <= TWO_POW_32, 'limit is out of range')
    // Values of the last, partial run of `limit` would make small numbers more likely.
    const end = TWO_POW_32 - (TWO_POW_32 % limit)
    let value = this.#take(4).readUInt32LE()
    while (value >= end) value = this.#take(4).readUInt32LE()
    return value % limit
  }

  bytes(count: number): Buffer {
    if (count > BUFFER_BYTES) return randomBytes(count)
    // A copy, as what is kept for an id must not hold the whole block in memory.
    return Buffer.from(this.#take(count))
  }

  #take(count: number): Buffer {
    if (this.#position + count > this.#buffer.length) {
      this.#buffer = randomBytes(BUFFER_BYTES)
      this.#position = 0
    }
    const taken = this.#buffer.subarray(this.#position, this.#position + count)
    this.#position += count
    return taken
  }
}
