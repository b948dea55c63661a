import { expect, test } from 'vitest'
import { encodeBatch } from '../../model/message/index.ts'
import { RemotingWorld, STORE_HOST } from '../../../test/support/remoting-world.ts'
import { PutOutcome, PutRequest } from './put-request.ts'

interface Items {
  readonly count: number
  readonly bodyBytes: number
  readonly properties?: string
}

function batchRequest(
  world: RemotingWorld,
  { count, bodyBytes, properties = '' }: Items,
): PutRequest {
  const body = Buffer.alloc(bodyBytes, 'x')
  const items = Array.from({ length: count }, () => ({ flag: 0, body, properties }))
  const request = new PutRequest()
  request.topic = 'orders'
  request.queueId = 0
  request.bornHost = STORE_HOST
  request.nowMs = world.world.platform.clock.timeMs()
  request.body = encodeBatch(items)
  request.bodyEnd = request.body.length
  return request
}

test.each([
  [4, 1_000_000],
  [10_000, 100],
  [1, 4_000_000],
])(
  'a batch of %i times %i bytes is stored whole or not at all when the log fills up',
  async (count, bodyBytes) => {
    const world = await RemotingWorld.open()
    const request = batchRequest(world, { count, bodyBytes })
    const outcome = new PutOutcome()
    const queue = world.store.queue('orders', 0)
    let storedCount = 0
    let refusal: unknown
    while (refusal === undefined) {
      try {
        world.broker.put.putBatch(request, outcome)
        storedCount += outcome.batchOffsets.length
      } catch (error) {
        refusal = error
      }
      expect(queue.nextOffset).toBe(storedCount)
    }
    expect(refusal).toMatchObject({ code: 'STORE_BUSY' })
    expect(storedCount).toBeGreaterThan(count)
    await world.world.run(() => world.store.appliedOffset === world.store.endOffset)
    world.broker.put.putBatch(request, outcome)
    expect(outcome.queueOffset).toBe(storedCount)
  },
)

test('a batch of more messages than allowed is refused', async () => {
  const world = await RemotingWorld.open()
  const end = world.store.endOffset
  const request = batchRequest(world, { count: 50_001, bodyBytes: 1 })
  expect(() => {
    world.broker.put.putBatch(request, new PutOutcome())
  }).toThrow(/too many messages/)
  expect(world.store.endOffset).toBe(end)
})

test('a batch of messages with half a late policy is refused', async () => {
  const world = await RemotingWorld.open()
  const properties = 'ORRERY_ON_LATE\u0001drop\u0002'
  const request = batchRequest(world, { count: 2, bodyBytes: 1, properties })
  expect(() => {
    world.broker.put.putBatch(request, new PutOutcome())
  }).toThrow(/late policy/)
})
