import { describe, expect, it } from 'vitest'
import type { Random } from './index.ts'
import { realPlatform } from './index.ts'
import { SeededRandom } from './simulated/index.ts'

function take(seed: number): string {
  const random = new SeededRandom(seed)
  const fork = random.fork()
  return `${random.bytes(16).toString('hex')} ${fork.bytes(16).toString('hex')}`
}

describe.each([
  ['real', (): Random => realPlatform({ logLevel: 'silent' }).random],
  ['seeded', (): Random => new SeededRandom(1)],
])('the %s random numbers', (_name, newRandom) => {
  it('take every value below the limit about equally often', () => {
    const random = newRandom()
    const counts = Array.from({ length: 7 }, () => 0)
    for (let round = 0; round < 70_000; round++) {
      const value = random.below(7)
      counts[value] = (counts[value] ?? 0) + 1
    }
    expect(counts).toHaveLength(7)
    // Eight standard deviations: about 740.
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(740)
  })

  it('reach the upper half of 32 bits, and are 0 below 1', () => {
    const random = newRandom()
    const values = Array.from({ length: 200 }, () => random.below(2 ** 32))
    expect(Math.max(...values)).toBeGreaterThan(2 ** 31)
    expect(values.every(value => value < 2 ** 32)).toBe(true)
    expect(random.below(1)).toBe(0)
    expect(() => random.below(0)).toThrow('limit')
  })

  it('give as many bytes as asked for, different ones each time', () => {
    const random = newRandom()
    const ids = Array.from({ length: 1_000 }, () => random.bytes(16).toString('hex'))
    expect(new Set(ids).size).toBe(1_000)
    expect(random.bytes(0)).toHaveLength(0)
    expect(random.bytes(10_000)).toHaveLength(10_000)
  })
})

describe('seeded random numbers', () => {
  it('are the same for the same seed, and others for another, also in forks', () => {
    expect(take(1)).toBe(take(1))
    const seeds = [0, 1, 2, -1, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER]
    const all = seeds.flatMap(seed => take(seed).split(' '))
    expect(new Set(all).size).toBe(2 * seeds.length)
  })
})
