import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SlotIndex } from './slot-index.ts'

const ids = fc.oneof(fc.nat(30), fc.nat(2 ** 31), fc.maxSafeInteger().map(Math.abs))
const steps = fc.array(fc.record({ isRemoval: fc.boolean(), timerId: ids }), { maxLength: 300 })

test('says what a map would say', () => {
  fc.assert(
    fc.property(steps, all => {
      const timerIds: number[] = []
      const slots = new Map<number, number>()
      const index = new SlotIndex(slot => timerIds[slot] ?? -1)
      for (const { isRemoval, timerId } of all) {
        const slot = slots.get(timerId)
        if (isRemoval && slot !== undefined) {
          index.remove(timerId, slot)
          slots.delete(timerId)
        } else if (!isRemoval && slot === undefined) {
          slots.set(timerId, timerIds.length)
          index.add(timerId, timerIds.push(timerId) - 1)
        }
        expect(index.find(timerId)).toBe(slots.get(timerId) ?? -1)
      }
      for (const [timerId, slot] of slots) expect(index.find(timerId)).toBe(slot)
    }),
  )
})

test('finds all of many, also after it grew', () => {
  const timerIds = Array.from({ length: 50_000 }, (_, slot) => slot * 1_395 + 7)
  const index = new SlotIndex(slot => timerIds[slot] ?? -1)
  for (const [slot, timerId] of timerIds.entries()) index.add(timerId, slot)
  for (const [slot, timerId] of timerIds.entries()) {
    if (slot % 3 === 0) index.remove(timerId, slot)
  }
  for (const [slot, timerId] of timerIds.entries()) {
    expect(index.find(timerId)).toBe(slot % 3 === 0 ? -1 : slot)
  }
})
