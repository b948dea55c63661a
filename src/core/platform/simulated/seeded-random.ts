import { assert } from '../../base/index.ts'
import type { Random } from '../random.ts'

const TWO_POW_32 = 0x1_0000_0000

/** A generator of small state (sfc32): the same seed gives the same numbers on every machine. */
export class SeededRandom implements Random {
  #a: number
  #b: number
  #c: number
  #counter = 1

  /** `seed` is any safe integer. */
  constructor(seed: number) {
    assert(Number.isSafeInteger(seed), 'a seed is a safe integer')
    this.#a = seed >>> 0
    this.#b = Math.floor(seed / TWO_POW_32) >>> 0
    this.#c = 0x9e37_79b9
    // Seeds that differ in one bit give unrelated numbers only after some rounds.
    for (let round = 0; round < 15; round++) this.#next()
  }

  below(limit: number): number {
    assert(Number.isInteger(limit) && limit >= 1 && limit <= TWO_POW_32, 'limit is out of range')
    const end = TWO_POW_32 - (TWO_POW_32 % limit)
    let value = this.#next()
    while (value >= end) value = this.#next()
    return value % limit
  }

  bytes(count: number): Buffer {
    const target = Buffer.alloc(count)
    for (let position = 0; position < count; position++) target[position] = this.#next() & 0xff
    return target
  }

  /** A number from 0, included, to 1, excluded. */
  fraction(): number {
    return this.#next() / TWO_POW_32
  }

  /** True with this probability. Draws a number always, so that rates do not shift the rest. */
  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  /** One of the items. */
  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)]
    assert(item !== undefined, 'there must be something to pick')
    return item
  }

  /** A generator of its own, so that one user's draws do not shift those of another. */
  fork(): SeededRandom {
    return new SeededRandom(this.#next() * 0x10_0000 + (this.#next() & 0xf_ffff))
  }

  #next(): number {
    const sum = (this.#a + this.#b + this.#counter) >>> 0
    this.#counter = (this.#counter + 1) >>> 0
    this.#a = (this.#b ^ (this.#b >>> 9)) >>> 0
    this.#b = (this.#c + (this.#c << 3)) >>> 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) >>> 0
    return sum
  }
}
