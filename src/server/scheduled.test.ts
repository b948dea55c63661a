import { describe, expect, test } from 'vitest'
import { PullConsumer } from '../client/index.ts'
import { decodeRecallHandle, encodeRecallHandle } from '../model/message/index.ts'
import { REQUEST_CODE } from '../model/wire/index.ts'
import { served, type Served } from './testing/served.ts'

async function sent({ world, client }: Served, delayMs: number, key: string): Promise<string> {
  const message = { topic: 'orders', body: key, keys: [key], delayMs }
  const receipt = await world.finish(client.send(message))
  return receipt.recallHandle ?? ''
}

/** Bodies of all messages of the topic that can be pulled. */
async function pulled({ world, client }: Served): Promise<string[]> {
  const bodies: string[] = []
  const consumer = new PullConsumer(client, 'billing')
  for (const queue of await world.finish(consumer.queues('orders'))) {
    const { messages } = await world.finish(consumer.pull(queue, { offset: 0 }))
    bodies.push(...messages.map(({ body }) => body.toString()))
  }
  return bodies.toSorted()
}

test('a message that is recalled is never delivered, and its neighbours are', async () => {
  const scene = await served()
  const { world, client } = scene
  const handles = [await sent(scene, 60_000, 'a'), await sent(scene, 60_000, 'b')]
  const [recallHandle = ''] = handles
  expect(await world.finish(client.recall({ topic: 'orders', recallHandle }))).toBe('cancelled')
  expect(await world.finish(client.recall({ topic: 'orders', recallHandle }))).toBe('cancelled')
  await world.runFor(65_000)
  expect(await pulled(scene)).toEqual(['b'])
})

test('the answer holds over a power cut', async () => {
  const first = await served()
  const handle = await sent(first, 600_000, 'a')
  const recall = { topic: 'orders', recallHandle: handle }
  expect(await first.world.finish(first.client.recall(recall))).toBe('cancelled')
  first.world.crash()
  const scene = await served(first.world)
  expect(await scene.world.finish(scene.client.recall(recall))).toBe('cancelled')
  await scene.world.runFor(605_000)
  expect(await pulled(scene)).toEqual([])
})

test('what is delivered is too late to recall', async () => {
  const scene = await served()
  const recallHandle = await sent(scene, 1_000, 'a')
  await scene.world.runFor(2_000)
  const recalled = scene.client.recall({ topic: 'orders', recallHandle })
  expect(await scene.world.finish(recalled)).toBe('too-late')
  expect(await pulled(scene)).toEqual(['a'])
})

test.each([
  ['another unique key', { uniqueKey: 'FORGED' }],
  ['another deliver time', { deliverTimeMs: 1_900_000_000_000 }],
  ['another place', { timerId: 3 }],
])('a handle with %s is not known, and recalls nothing', async (_name, changes) => {
  const scene = await served()
  const handle = decodeRecallHandle(await sent(scene, 60_000, 'a'))
  if (handle === undefined) throw new Error('the send was answered without a handle')
  const recallHandle = encodeRecallHandle({ ...handle, ...changes })
  const recalled = scene.client.recall({ topic: 'orders', recallHandle })
  expect(await scene.world.finish(recalled)).toBe('unknown')
  await scene.world.runFor(65_000)
  expect(await pulled(scene)).toEqual(['a'])
})

describe('a handle as Apache makes it', () => {
  test('is looked for among what waits by so many at once, and no more', async () => {
    const scene = await served(undefined, { messageIndexEnable: 'off' })
    const handle = decodeRecallHandle(await sent(scene, 60_000, 'a'))
    if (handle === undefined) throw new Error('the send was answered without a handle')
    const { timerId: _, ...theirs } = handle
    const recallHandle = encodeRecallHandle({ ...theirs, uniqueKey: 'FORGED' })
    const recalls = Array.from({ length: 40 }, () => {
      return scene.client.recall({ topic: 'orders', recallHandle })
    })
    const answers = await scene.world.finish(Promise.allSettled(recalls))
    const refused = answers.filter(({ status }) => status === 'rejected')
    expect(refused).toHaveLength(8)
    expect(refused[0]).toMatchObject({ reason: { code: 'STORE_BUSY' } })
  })

  test.each([
    ['with one millisecond more than the deliver time', 1],
    ['rounded down to a second', -400],
  ])('%s recalls the message that it means', async (_name, offMs) => {
    const scene = await served()
    const handle = decodeRecallHandle(await sent(scene, 60_000, 'a'))
    await sent(scene, 60_000, 'b')
    if (handle === undefined) throw new Error('the send was answered without a handle')
    const { timerId: _, ...theirs } = handle
    const deliverTimeMs = handle.deliverTimeMs + offMs
    const recallHandle = encodeRecallHandle({ ...theirs, deliverTimeMs })
    const recall = { topic: 'orders', recallHandle }
    expect(await scene.world.finish(scene.client.recall(recall))).toBe('cancelled')
    expect(await scene.world.finish(scene.client.recall(recall))).toBe('cancelled')
    await scene.world.runFor(65_000)
    expect(await pulled(scene)).toEqual(['b'])
  })

  test.each([
    ['after the log has gone', { retention: '1h', messageIndexEnable: 'on' }],
    ['without an index', { messageIndexEnable: 'off' }],
  ])('recalls a message that waits %s', async (_name, flags) => {
    const scene = await served(undefined, flags)
    const handle = decodeRecallHandle(await sent(scene, 3 * 86_400_000, 'a'))
    await sent(scene, 3 * 86_400_000, 'b')
    if (handle === undefined) throw new Error('the send was answered without a handle')
    scene.world.stepClock(2 * 86_400_000)
    await scene.world.runFor(200_000)
    const { timerId: _, ...theirs } = handle
    const recallHandle = encodeRecallHandle({ ...theirs, deliverTimeMs: handle.deliverTimeMs + 1 })
    const recall = { topic: 'orders', recallHandle }
    expect(await scene.world.finish(scene.client.recall(recall))).toBe('cancelled')
    const other = encodeRecallHandle({ ...theirs, uniqueKey: 'OTHER' })
    const unknown = scene.client.recall({ topic: 'orders', recallHandle: other })
    expect(await scene.world.finish(unknown)).toBe('unknown')
    scene.world.stepClock(86_400_000)
    await scene.world.runFor(10_000)
    expect(await pulled(scene)).toEqual(['b'])
  })

  test('with a time of another message is not known', async () => {
    const scene = await served()
    const handle = decodeRecallHandle(await sent(scene, 60_000, 'a'))
    if (handle === undefined) throw new Error('the send was answered without a handle')
    const { timerId: _, ...theirs } = handle
    const deliverTimeMs = handle.deliverTimeMs + 5_000
    const recallHandle = encodeRecallHandle({ ...theirs, deliverTimeMs })
    const recalled = scene.client.recall({ topic: 'orders', recallHandle })
    expect(await scene.world.finish(recalled)).toBe('unknown')
  })
})

test.each(['', 'orders+'])(
  'a send with TIMER_DEL_UNIQKEY=%s… cancels that message',
  async before => {
    const scene = await served()
    const { world, client } = scene
    const handle = decodeRecallHandle(await sent(scene, 60_000, 'a'))
    await sent(scene, 60_000, 'b')
    const { uniqueKey, deliverTimeMs } = handle ?? { uniqueKey: '', deliverTimeMs: 0 }
    const properties = { TIMER_DEL_UNIQKEY: before + uniqueKey }
    const mark = { topic: 'orders', body: '0', properties, deliverTimeMs }
    await world.finish(client.send(mark))
    await world.runFor(65_000)
    expect(await pulled(scene)).toEqual(['b'])
    await expect(world.finish(client.send(mark))).resolves.toMatchObject({ queueOffset: 0 })
  },
)

describe('a message that is moved', () => {
  test('comes at its new time, later or earlier, and keeps its handle', async () => {
    const scene = await served()
    const { world, client } = scene
    const later = await sent(scene, 5_000, 'later')
    const earlier = await sent(scene, 3_600_000, 'earlier')
    const nowMs = world.platform.clock.timeMs()
    const moved = await world.finish(client.move({ id: later }, { deliverTimeMs: nowMs + 60_000 }))
    expect(moved).toEqual({ kind: 'moved', deliverTimeMs: nowMs + 60_000 })
    expect(await world.finish(client.move({ id: earlier }, { delayMs: 2_000 }))).toMatchObject({
      kind: 'moved',
    })
    await world.runFor(8_000)
    expect(await pulled(scene)).toEqual(['earlier'])
    await world.runFor(60_000)
    expect(await pulled(scene)).toEqual(['earlier', 'later'])
    expect(await world.finish(client.move({ id: later }, { delayMs: 1_000 }))).toEqual({
      kind: 'too-late',
    })
  })

  test('is delivered now when its new time has come', async () => {
    const scene = await served()
    const handle = await sent(scene, 3_600_000, 'a')
    await scene.world.finish(scene.client.move({ id: handle }, { delayMs: 0 }))
    await scene.world.runFor(100)
    expect(await pulled(scene)).toEqual(['a'])
  })

  test('can be cancelled by its first handle, after a power cut too', async () => {
    const first = await served()
    const handle = await sent(first, 600_000, 'a')
    await first.world.finish(first.client.move({ id: handle }, { delayMs: 900_000 }))
    first.world.crash()
    const scene = await served(first.world)
    const recall = { topic: 'orders', recallHandle: handle }
    expect(await scene.world.finish(scene.client.recall(recall))).toBe('cancelled')
    const again = scene.client.move({ id: handle }, { delayMs: 1_000 })
    expect(await scene.world.finish(again)).toEqual({ kind: 'cancelled' })
    await scene.world.runFor(1_000_000)
    expect(await pulled(scene)).toEqual([])
  })

  test.each([
    ['seconds for milliseconds', { deliverTimeMs: 1_800_000_000 }, 'DELIVER_TIME_IN_SECONDS'],
    ['more than the limit', { delayMs: 400_000_000_000 }, 'DELIVER_TIME_TOO_FAR'],
    ['negative', { deliverTimeMs: -1 }, 'DELAY_NEGATIVE'],
    ['no number', { delayMs: Number.NaN }, 'PARAMETER_INVALID'],
    ['given twice', { delayMs: 1_000, deliverTimeMs: 1_900_000_000_000 }, 'PARAMETER_INVALID'],
    ['a negative delay', { delayMs: -1 }, 'DELAY_NEGATIVE'],
    ['a delay beyond all times', { delayMs: Number.MAX_SAFE_INTEGER }, 'DELIVER_TIME_TOO_FAR'],
  ])('is left alone when the new time is %s', async (_name, when, code) => {
    const scene = await served()
    const handle = await sent(scene, 20_000, 'a')
    const moving = scene.world.finish(scene.client.move({ id: handle }, when))
    await expect(moving).rejects.toMatchObject({ code })
    await scene.world.runFor(25_000)
    expect(await pulled(scene)).toEqual(['a'])
  })
})

test('a move without a time is refused', async () => {
  const scene = await served()
  const { world, client } = scene
  const extFields = { id: await sent(scene, 20_000, 'a') }
  const [queue] = await world.finish(client.readableQueues('orders'))
  const code = REQUEST_CODE.MOVE_SCHEDULED_MESSAGE
  const answer = await world.finish(client.ask(queue?.address ?? '', { code, extFields }))
  expect(answer.remark).toMatch(/^PARAMETER_INVALID: .*give one of deliverTimeMs and delayMs/)
})

test('a recalled message is known as such after a restart, however soon it was due', async () => {
  const first = await served()
  const handle = await sent(first, 4_500, 'a')
  const recall = { topic: 'orders', recallHandle: handle }
  expect(await first.world.finish(first.client.recall(recall))).toBe('cancelled')
  first.world.crash()
  const scene = await served(first.world)
  expect(await scene.world.finish(scene.client.recall(recall))).toBe('cancelled')
  await scene.world.runFor(20_000)
  expect(await scene.world.finish(scene.client.recall(recall))).toBe('cancelled')
  expect(await pulled(scene)).toEqual([])
})

test('a made-up handle of a cancelled message is not known', async () => {
  const { world, client, ...rest } = await served()
  const recallHandle = await sent({ world, client, ...rest }, 60_000, 'a')
  await world.finish(client.recall({ topic: 'orders', recallHandle }))
  const handle = decodeRecallHandle(recallHandle)
  if (handle === undefined) throw new Error('the send was answered without a handle')
  const forged = encodeRecallHandle({ ...handle, uniqueKey: 'FORGED' })
  const recalled = client.recall({ topic: 'orders', recallHandle: forged })
  expect(await world.finish(recalled)).toBe('unknown')
})
