import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ChunkIndex } from './chunk-index.ts'
import { IndexMemory } from './index-memory.ts'

const sequences = fc.array(
  fc.array(fc.record({ step: fc.integer({ min: 1, max: 5_000 }), sizeBytes: fc.nat(40_000) }), {
    minLength: 1,
    maxLength: 40,
  }),
  { minLength: 1, maxLength: 5 },
)

test('every message is found in one of its stretches, whatever sequences its chunk has', () => {
  fc.assert(
    fc.property(sequences, fc.nat(1_000_000), (parts, first) => {
      const index = new ChunkIndex(new IndexMemory())
      const placed: { timerId: number; position: number }[] = []
      let position = 32
      for (const [number, part] of parts.entries()) {
        let timerId = first - number * 1_000_000
        for (const { step, sizeBytes } of part) {
          timerId += step
          placed.push({ timerId, position })
          index.add(timerId, position, position + 56 + sizeBytes)
          position += 56 + sizeBytes
        }
      }
      expect(index.endPosition).toBe(position)
      for (const message of placed) {
        const stretches = index.stretchesOf(message.timerId)
        const isIn = stretches.some(
          ({ from, to }) => message.position >= from && message.position < to,
        )
        expect(isIn).toBe(true)
        expect(stretches.length).toBeLessThanOrEqual(parts.length)
      }
    }),
  )
})

test('what is behind a timer id is in the stretches behind it', () => {
  const index = new ChunkIndex(new IndexMemory())
  for (let count = 0; count < 1_000; count++) {
    index.add(count, 32 + count * 300, 32 + (count + 1) * 300)
  }
  const stretches = index.stretchesBehind(700)
  expect(stretches.length).toBeLessThan(15)
  const first = stretches[0]
  expect(first?.from).toBeLessThanOrEqual(32 + 701 * 300)
  expect(first?.firstTimerId).toBeLessThanOrEqual(701)
  expect(stretches.at(-1)?.to).toBe(index.endPosition)
  expect(index.stretchesBehind(999)).toEqual([])
})

test('a message takes little reading to find', () => {
  const index = new ChunkIndex(new IndexMemory())
  for (let count = 0; count < 10_000; count++) {
    index.add(count * 300, 32 + count * 300, 32 + (count + 1) * 300)
  }
  const [stretch] = index.stretchesOf(4_567 * 300)
  expect((stretch?.to ?? 0) - (stretch?.from ?? 0)).toBeLessThan(9_000)
  expect(index.stretchesBehind(-1).length).toBeLessThan(400)
})

test('much that waits is noted less closely, until some of it has gone', () => {
  const memory = new IndexMemory()
  const near = memory.stretchBytes
  const index = new ChunkIndex(memory)
  let position = 32
  for (let count = 0; memory.stretchBytes === near; count++) {
    index.add(count, position, position + near)
    position += near
  }
  const [stretch] = index.stretchesOf(4_567)
  expect(stretch).toEqual({ from: 32 + 4_567 * near, to: 32 + 4_568 * near, firstTimerId: 4_567 })
  const other = new ChunkIndex(memory)
  for (let count = 0; count < 100; count++) other.add(count, count * near, (count + 1) * near)
  expect(other.stretchesBehind(-1).length).toBeLessThan(20)
  index.release()
  expect(memory.stretchBytes).toBe(near)
})
