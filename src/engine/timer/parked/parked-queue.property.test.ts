import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ParkedQueue } from './parked-queue.ts'
import { NONE, ParkedTable } from './parked-table.ts'

const steps = fc.array(
  fc.record({
    queue: fc.nat(2),
    step: fc.constantFrom('push', 'push', 'push', 'remove', 'rotate', 'shift'),
    pick: fc.nat(),
  }),
  { maxLength: 300 },
)

test('queues that share a table are lists, and each message is found by its id', () => {
  fc.assert(
    fc.property(steps, given => {
      const table = new ParkedTable()
      const queues = [0, 1, 2].map(() => new ParkedQueue(table, 0))
      const model: number[][] = [[], [], []]
      let nextId = 1
      for (const { queue: number, step, pick } of given) {
        const queue = queues[number]
        const ids = model[number] ?? []
        if (step === 'push') {
          const place = { deliverTimeMs: 2 * nextId, chunkNumber: 3, position: 4, recordBytes: 5 }
          queue?.push({ ...place, timerId: nextId })
          ids.push(nextId++)
        } else if (step === 'rotate') {
          queue?.rotate()
          ids.push(...ids.splice(0, 1))
        } else if (ids.length > 0) {
          const [id = 0] = ids.splice(step === 'shift' ? 0 : pick % ids.length, 1)
          queue?.remove(step === 'shift' ? queue.firstSlot : table.find(id))
          expect(table.find(id)).toBe(NONE)
        }
      }
      for (const [number, queue] of queues.entries()) {
        const seen: number[] = []
        queue.visit(
          () => true,
          ({ timerId, deliverTimeMs }) => {
            expect(deliverTimeMs).toBe(2 * timerId)
            seen.push(timerId)
          },
        )
        expect(seen).toEqual(model[number])
        expect(queue.count).toBe(seen.length)
        expect(queue.first()?.timerId).toBe(seen[0])
        for (const id of seen) expect(table.at(table.find(id)).timerId).toBe(id)
      }
    }),
  )
})

test('slots are used again', () => {
  const table = new ParkedTable()
  const queue = new ParkedQueue(table, 0)
  const place = { deliverTimeMs: 1, chunkNumber: 1, position: 1, recordBytes: 1 }
  const slots = new Set<number>()
  for (let timerId = 0; timerId < 10_000; timerId++) {
    slots.add(queue.push({ ...place, timerId }))
    if (queue.count > 3_000) queue.remove(queue.firstSlot)
  }
  expect(slots.size).toBe(3_001)
})
