import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { allocateQueues } from './allocate-queues.ts'

test('members share all queues, in order, none twice, as evenly as can be', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.nat(50), (memberCount, queueCount) => {
      const members = Array.from({ length: memberCount }, (_, index) => `member-${index}`)
      const queues = Array.from({ length: queueCount }, (_, index) => index)
      const shares = members.map(member => allocateQueues(member, members, queues))
      expect(shares.flat()).toEqual(queues)
      const sizes = shares.map(share => share.length)
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1)
    }),
  )
})

test('who is not a member gets nothing', () => {
  expect(allocateQueues('c', ['a', 'b'], [1, 2])).toEqual([])
})
