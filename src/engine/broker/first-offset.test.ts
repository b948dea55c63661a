import { expect, test } from 'vitest'
import { RemotingWorld, sendFields } from '../../../test/support/remoting-world.ts'
import { REQUEST_CODE } from '../../model/wire/index.ts'
import { firstOffset, YOUNG_QUEUE_BYTES, type QueueSource } from './first-offset.ts'

async function worldWithMessages(count: number): Promise<RemotingWorld> {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  for (let index = 0; index < count; index++) {
    const request = { code: REQUEST_CODE.SEND_MESSAGE_V2, extFields: sendFields('orders') }
    await client.ask(request, Buffer.from('hello'))
  }
  return world
}

/** The store as it will be when this much more has been written. */
function later({ store }: RemotingWorld, moreBytes: number): QueueSource {
  return {
    endOffset: store.endOffset + moreBytes,
    readQueue: (queue, request) => store.readQueue(queue, request),
  }
}

test('a new group starts at 0 in a queue that is not there yet or empty', async () => {
  const { store } = await RemotingWorld.open()
  expect(await firstOffset(store, undefined)).toBe(0)
  expect(await firstOffset(store, store.queue('orders', 1))).toBe(0)
})

test('a new group starts at 0 in a young queue, so that it misses nothing', async () => {
  const world = await worldWithMessages(3)
  const queue = world.store.findQueue('orders', 0)
  expect(queue?.maxOffset).toBe(3)
  expect(await firstOffset(world.store, queue)).toBe(0)
  expect(await firstOffset(later(world, YOUNG_QUEUE_BYTES / 2), queue)).toBe(0)
})

test('in an old queue, and in one that was trimmed, the client decides', async () => {
  const world = await worldWithMessages(3)
  const queue = world.store.findQueue('orders', 0)
  expect(await firstOffset(later(world, YOUNG_QUEUE_BYTES), queue)).toBeUndefined()
  const trimmed = world.store.queue('orders', 7)
  trimmed.startAt(5)
  expect(await firstOffset(world.store, trimmed)).toBeUndefined()
})
