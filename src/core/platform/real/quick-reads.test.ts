import { expect, test } from 'vitest'
import { QuickReads } from './quick-reads.ts'

test('after a read that had to wait, others go elsewhere for a hundred times as long', () => {
  let nowMs = 1_000
  const reads = new QuickReads(() => nowMs)
  const read = (tookMs: number): number => {
    return reads.run(() => {
      nowMs += tookMs
      return 512
    })
  }
  expect(reads.permits(8_192)).toBe(true)
  expect(read(0.004)).toBe(512)
  expect(reads.permits(8_192)).toBe(true)
  read(2)
  expect(reads.permits(8_192)).toBe(false)
  nowMs += 199
  expect(reads.permits(8_192)).toBe(false)
  nowMs += 1
  expect(reads.permits(8_192)).toBe(true)
})

test('also when it failed', () => {
  let nowMs = 1_000
  const reads = new QuickReads(() => nowMs)
  const failing = (): number => {
    return reads.run(() => {
      nowMs += 30
      throw new Error('EIO')
    })
  }
  expect(failing).toThrow('EIO')
  expect(reads.permits(1)).toBe(false)
})

test('large reads never are quick', () => {
  const reads = new QuickReads(() => 1_000)
  expect(reads.permits(16_384)).toBe(true)
  expect(reads.permits(16_385)).toBe(false)
})
