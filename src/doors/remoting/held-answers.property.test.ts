import { array, assert, integer, property, record } from 'fast-check'
import { expect, test } from 'vitest'
import { HeldAnswers } from './held-answers.ts'

const BLOCK_BYTES = 64

const steps = array(
  record({
    /** Answers of one chunk, by their sizes. */
    sizes: array(integer({ min: 1, max: 20 }), { maxLength: 6 }),
    /** How many further records are applied after the chunk. */
    appliedCount: integer({ min: 0, max: 12 }),
  }),
  { maxLength: 80 },
)

/** Fills blocks from front to back, as the arena does. */
class Writer {
  #block = Buffer.alloc(BLOCK_BYTES)
  #position = 0
  #next = 0

  write(sizeBytes: number): { block: Buffer; start: number; end: number } {
    if (this.#position + sizeBytes > BLOCK_BYTES) {
      this.#block = Buffer.alloc(BLOCK_BYTES)
      this.#position = 0
    }
    const start = this.#position
    for (let index = 0; index < sizeBytes; index++) this.#block[start + index] = this.#next++ & 0xff
    this.#position += sizeBytes
    return { block: this.#block, start, end: this.#position }
  }
}

test('all answers come out in order, none before its record, none later than its chunk', () => {
  const neverEarly = property(steps, each => {
    const held = new HeldAnswers()
    const writer = new Writer()
    const taken: number[] = []
    const sizes: number[] = []
    const chunkEnds: number[] = []
    let applied = 0
    for (const { sizes: chunk, appliedCount } of each) {
      for (const sizeBytes of chunk) {
        const { block, start, end } = writer.write(sizeBytes)
        held.add(block, start, end, sizes.length)
        sizes.push(sizeBytes)
      }
      held.seal()
      chunkEnds.push(sizes.length)
      applied = Math.min(sizes.length, applied + appliedCount)
      taken.push(...held.take(applied))
      const due = chunkEnds.filter(end => end <= applied).at(-1) ?? 0
      expect(taken.length).toBeLessThanOrEqual(sum(sizes.slice(0, applied)))
      expect(taken.length).toBeGreaterThanOrEqual(sum(sizes.slice(0, due)))
    }
    taken.push(...held.take(sizes.length))
    expect(taken).toEqual(Array.from({ length: sum(sizes) }, (_, index) => index & 0xff))
    expect(held.isEmpty).toBe(true)
  })
  assert(neverEarly)
})

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
