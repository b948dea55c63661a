import { describe, expect, test } from 'vitest'
import { PullConsumer } from '../client/index.ts'
import { timerFiles } from '../engine/timer/testing.ts'
import type { ScheduleFilter } from '../model/schedule/index.ts'
import { REQUEST_CODE } from '../model/wire/index.ts'
import { served, type Served } from './testing/served.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const CANCEL = { kind: 'cancel' } as const

/** Messages whose bodies are their delays in seconds. */
async function sendAll(scene: Served, topic: string, delaysMs: readonly number[]): Promise<void> {
  const { world, client } = scene
  for (const delayMs of delaysMs) {
    await world.finish(client.send({ topic, delayMs, body: String(delayMs / SECOND_MS) }))
  }
}

async function pulled({ world, client }: Served, topic: string): Promise<string[]> {
  const bodies: string[] = []
  const consumer = new PullConsumer(client, 'billing')
  for (const queue of await world.finish(consumer.queues(topic))) {
    const { messages } = await world.finish(consumer.pull(queue, { offset: 0 }))
    bodies.push(...messages.map(({ body }) => body.toString()))
  }
  return bodies.toSorted((a, b) => Number(a) - Number(b))
}

function count({ world, scheduled }: Served, filter: ScheduleFilter = {}): Promise<number> {
  return world.finish(scheduled.count(filter))
}

const DELAYS = [3 * SECOND_MS, 20 * SECOND_MS, 5 * MINUTE_MS, 3 * HOUR_MS, 70 * 24 * HOUR_MS]

describe('a cancel by filter', () => {
  test('cancels what it means, near and far, and nothing else', async () => {
    const scene = await served()
    const { world, scheduled } = scene
    await sendAll(scene, 'orders', DELAYS)
    await sendAll(scene, 'mails', DELAYS)
    const all = { changedCount: 5, refusedCount: 0 }
    const filter = { topic: 'orders' }
    expect(await world.finish(scheduled.changeAll(filter, CANCEL, true))).toEqual(all)
    expect(await count(scene)).toBe(10)
    expect(await world.finish(scheduled.changeAll(filter, CANCEL, false))).toEqual(all)
    expect(await count(scene, filter)).toBe(0)
    expect(await count(scene)).toBe(5)
    await world.runFor(30 * SECOND_MS)
    expect(await pulled(scene, 'orders')).toEqual([])
    expect(await pulled(scene, 'mails')).toEqual(['3', '20'])
  })

  test('of deliver times leaves those before and behind', async () => {
    const scene = await served()
    const { world, scheduled } = scene
    const startMs = world.platform.clock.timeMs()
    await sendAll(scene, 'orders', DELAYS)
    const filter = { fromMs: startMs + 10 * SECOND_MS, toMs: startMs + 4 * HOUR_MS }
    const { changedCount } = await world.finish(scheduled.changeAll(filter, CANCEL, false))
    expect(changedCount).toBe(3)
    expect(await count(scene)).toBe(2)
  })

  test('does not mean what is sent afterwards', async () => {
    const scene = await served()
    const { world, scheduled } = scene
    await sendAll(scene, 'orders', [HOUR_MS])
    await world.finish(scheduled.changeAll({ topic: 'orders' }, CANCEL, false))
    await sendAll(scene, 'orders', [2 * HOUR_MS, 5 * SECOND_MS])
    expect(await count(scene)).toBe(2)
    await world.runFor(10 * SECOND_MS)
    expect(await pulled(scene, 'orders')).toEqual(['5'])
  })

  test.each(['power cut', 'power cut a moment later'])('holds over a %s', async how => {
    const first = await served()
    await sendAll(first, 'orders', DELAYS)
    await first.world.finish(first.scheduled.changeAll({ topic: 'orders' }, CANCEL, false))
    if (how !== 'power cut') await first.world.runFor(6 * SECOND_MS)
    first.world.crash()
    const scene = await served(first.world)
    await sendAll(scene, 'orders', [7 * SECOND_MS])
    await scene.world.runFor(40 * SECOND_MS)
    expect(await pulled(scene, 'orders')).toEqual(['7'])
    expect(await count(scene)).toBe(0)
  })

  test('is counted once when a crash comes between its marks and the manifest', async () => {
    const first = await served()
    await sendAll(first, 'orders', DELAYS)
    await sendAll(first, 'mails', [70 * 24 * HOUR_MS])
    await first.world.runFor(MINUTE_MS)
    await first.world.finish(first.scheduled.changeAll({ topic: 'orders' }, CANCEL, false))
    const { faults } = first.world
    faults.failNext({ call: 'write', path: /manifest/, error: 'STORE_FULL', count: 1_000 })
    await first.world.runFor(MINUTE_MS)
    expect(faults.counts().failedWrite).toBeGreaterThan(0)
    faults.heal()
    first.world.kill()
    const scene = await served(first.world)
    await scene.world.runFor(MINUTE_MS)
    expect(await count(scene)).toBe(1)
  })

  test('that meets a file which cannot be read does not hold up the others', async () => {
    const scene = await served()
    const { world, scheduled } = scene
    const startMs = world.platform.clock.timeMs()
    await sendAll(scene, 'orders', [70 * 24 * HOUR_MS])
    await world.runFor(MINUTE_MS)
    const [farFile = ''] = await timerFiles(world)
    await sendAll(scene, 'orders', [3 * HOUR_MS])
    await world.runFor(MINUTE_MS)
    const { faults } = world
    faults.failNext({ call: 'read', path: new RegExp(farFile), error: 'STORE_FAILED', count: 1e6 })
    const far = { topic: 'orders', fromMs: startMs + 60 * 24 * HOUR_MS }
    let isAnswered = false
    const changing = scheduled.changeAll(far, CANCEL, false).finally(() => {
      isAnswered = true
    })
    await world.runFor(5 * SECOND_MS)
    const near = { topic: 'orders', toMs: startMs + 4 * HOUR_MS }
    const one = { changedCount: 1, refusedCount: 0 }
    expect(await world.finish(scheduled.changeAll(near, CANCEL, false))).toEqual(one)
    expect(faults.counts().failedRead).toBeGreaterThan(1)
    expect(isAnswered).toBe(false)
    faults.heal()
    expect(await world.finish(changing)).toEqual(one)
  })

  test('makes a later cancel of one of them say cancelled', async () => {
    const scene = await served()
    const { world, client, scheduled } = scene
    const message = { topic: 'orders', delayMs: HOUR_MS, body: 'x' }
    const { recallHandle = '' } = await world.finish(client.send(message))
    await world.finish(scheduled.changeAll({ topic: 'orders' }, CANCEL, false))
    const recalled = client.recall({ topic: 'orders', recallHandle })
    expect(await world.finish(recalled)).toBe('cancelled')
    expect(await world.finish(client.move({ id: recallHandle }, { delayMs: 5 }))).toEqual({
      kind: 'cancelled',
    })
  })
})

async function sent({ world, client }: Served, delayMs: number): Promise<string> {
  const receipt = await world.finish(client.send({ topic: 'orders', delayMs, body: 'x' }))
  return receipt.recallHandle ?? ''
}

function answerOf({ world, client }: Served, recallHandle: string): Promise<string> {
  return world.finish(client.recall({ topic: 'orders', recallHandle }))
}

async function setPerm({ world, client }: Served, perm: string): Promise<void> {
  const [queue] = await world.finish(client.readableQueues('orders'))
  const extFields = { topic: 'orders', readQueueNums: '4', writeQueueNums: '4', perm }
  const code = REQUEST_CODE.UPDATE_AND_CREATE_TOPIC
  await world.finish(client.ask(queue?.address ?? '', { code, extFields }))
}

describe('after a cancel by filter', () => {
  test('a message that waited in memory only is cancelled, before its time and behind it', async () => {
    const first = await served()
    const moved = await sent(first, 2 * MINUTE_MS)
    await first.world.finish(first.client.move({ id: moved }, { delayMs: 4 * MINUTE_MS }))
    const handles = [await sent(first, 5 * MINUTE_MS), moved]
    await first.world.finish(first.scheduled.changeAll({ topic: 'orders' }, CANCEL, false))
    await first.world.runFor(MINUTE_MS)
    first.world.crash()
    const scene = await served(first.world)
    for (const handle of handles) expect(await answerOf(scene, handle)).toBe('cancelled')
    await scene.world.runFor(3 * HOUR_MS)
    for (const handle of handles) expect(await answerOf(scene, handle)).toBe('cancelled')
    expect(await pulled(scene, 'orders')).toEqual([])
  })

  test('a message that its topic had refused is cancelled', async () => {
    const first = await served()
    const handle = await sent(first, SECOND_MS)
    await setPerm(first, '4')
    await first.world.runFor(5 * SECOND_MS)
    expect(await count(first, { state: 'parked' })).toBe(1)
    await first.world.finish(first.scheduled.changeAll({}, CANCEL, false))
    await first.world.runFor(MINUTE_MS)
    first.world.crash()
    const scene = await served(first.world)
    await setPerm(scene, '6')
    await scene.world.runFor(MINUTE_MS)
    expect(await answerOf(scene, handle)).toBe('cancelled')
    expect(await pulled(scene, 'orders')).toEqual([])
  })

  test('a message that was delivered before is too late', async () => {
    const first = await served()
    const moved = await sent(first, 10 * MINUTE_MS)
    await first.world.finish(first.client.move({ id: moved }, { delayMs: 2 * SECOND_MS }))
    const handles = [await sent(first, 2 * SECOND_MS), moved]
    await first.world.runFor(4 * SECOND_MS)
    await first.world.finish(first.scheduled.changeAll({}, CANCEL, false))
    for (const handle of handles) expect(await answerOf(first, handle)).toBe('too-late')
    first.world.crash()
    const scene = await served(first.world)
    for (const handle of handles) expect(await answerOf(scene, handle)).toBe('too-late')
    await scene.world.runFor(3 * HOUR_MS)
    for (const handle of handles) expect(await answerOf(scene, handle)).toBe('too-late')
  })

  test('a message that was accepted behind it and delivered is too late', async () => {
    const scene = await served()
    await scene.world.finish(scene.scheduled.changeAll({}, CANCEL, false))
    const handle = await sent(scene, 2 * SECOND_MS)
    await scene.world.runFor(4 * SECOND_MS)
    expect(await answerOf(scene, handle)).toBe('too-late')
  })
})

describe('a shift by filter', () => {
  test('makes each due later, under its old id', async () => {
    const scene = await served()
    const { world, client, scheduled } = scene
    const startMs = world.platform.clock.timeMs()
    const message = { topic: 'orders', delayMs: HOUR_MS, body: 'x' }
    const { recallHandle } = await world.finish(client.send(message))
    await sendAll(scene, 'orders', DELAYS)
    const shift = { kind: 'shift', shiftMs: 24 * HOUR_MS } as const
    const { changedCount } = await world.finish(scheduled.changeAll({}, shift, false))
    expect(changedCount).toBe(6)
    const page = await world.finish(scheduled.list({}, { limit: 100, cursor: undefined }))
    expect(page.messages).toHaveLength(6)
    expect(
      page.messages.every(({ deliverTimeMs }) => deliverTimeMs >= startMs + 24 * HOUR_MS),
    ).toBe(true)
    expect(page.messages.map(({ id }) => id)).toContain(recallHandle)
  })

  test('to a time that has come delivers now', async () => {
    const scene = await served()
    const { world, scheduled } = scene
    await sendAll(scene, 'orders', [MINUTE_MS, HOUR_MS, 30 * HOUR_MS])
    const shift = { kind: 'shift', shiftMs: -2 * HOUR_MS } as const
    await world.finish(scheduled.changeAll({ topic: 'orders' }, shift, false))
    await world.runFor(5 * SECOND_MS)
    expect(await pulled(scene, 'orders')).toEqual(['60', '3600'])
    expect(await count(scene)).toBe(1)
  })

  test('leaves those that would be due beyond the longest delay', async () => {
    const scene = await served()
    const { world, scheduled } = scene
    const yearMs = 365 * 24 * HOUR_MS
    await sendAll(scene, 'orders', [HOUR_MS, 9 * yearMs])
    const shift = { kind: 'shift', shiftMs: 5 * yearMs } as const
    expect(await world.finish(scheduled.changeAll({}, shift, false))).toEqual({
      changedCount: 1,
      refusedCount: 1,
    })
    expect(await count(scene)).toBe(2)
  })

  test('goes on after a crash, and shifts none twice', async () => {
    const first = await served()
    const startMs = first.world.platform.clock.timeMs()
    const delaysMs = Array.from({ length: 700 }, (_, index) => HOUR_MS + index * SECOND_MS)
    await sendAll(first, 'orders', delaysMs)
    const shift = { kind: 'shift', shiftMs: 24 * HOUR_MS } as const
    first.scheduled.changeAll({}, shift, false).catch(() => undefined)
    const before = { toMs: startMs + 24 * HOUR_MS }
    let restCount = 700
    while (restCount > 350) {
      await first.world.runFor(1)
      restCount = await count(first, before)
    }
    first.world.crash()
    const scene = await served(first.world)
    await scene.world.runFor(20 * SECOND_MS)
    expect(await count(scene, before)).toBe(0)
    expect(await count(scene, { toMs: startMs + 26 * HOUR_MS })).toBe(700)
  })
})

describe('of messages that cannot simply be moved, a shift by filter', () => {
  const DAY = { kind: 'shift', shiftMs: 24 * HOUR_MS } as const

  test('moves those that are larger than new ones may be by now', async () => {
    const first = await served()
    const { client } = first
    const body = 'x'.repeat(200_000)
    const large = { topic: 'orders', delayMs: HOUR_MS, body }
    const { recallHandle: id = '' } = await first.world.finish(client.send(large))
    await sendAll(first, 'orders', [HOUR_MS])
    first.world.crash()
    const scene = await served(first.world, { maxMessageSize: '4096' })
    const { world, scheduled } = scene
    const both = { changedCount: 2, refusedCount: 0 }
    expect(await world.finish(scheduled.changeAll({}, DAY, false))).toEqual(both)
    const moved = scene.client.move({ id }, { delayMs: 2 * HOUR_MS })
    expect(await world.finish(moved)).toMatchObject({ kind: 'moved' })
  })

  test('leaves those that cannot be read, and says so once', async () => {
    const scene = await served()
    const { world, scheduled } = scene
    await sendAll(scene, 'orders', [70 * 24 * HOUR_MS, 70 * 24 * HOUR_MS + 1])
    await world.runFor(MINUTE_MS)
    const [file = ''] = await timerFiles(world)
    const { faults } = world
    let readCount = 0
    faults.onCall = ({ call, path }) => {
      // The list has read it then.
      if (call !== 'read' || path !== file || ++readCount > 1) return
      world.platform.timers.soon(() => {
        faults.failNext({ call, path: new RegExp(file), error: 'STORE_FAILED', count: 1e6 })
      })
    }
    const none = { changedCount: 0, refusedCount: 2 }
    expect(await world.finish(scheduled.changeAll({}, DAY, false))).toEqual(none)
    const said = world.logLines.filter(({ fields }) => fields['refusedCount'] !== undefined)
    expect(said).toMatchObject([{ level: 'warn', fields: { refusedCount: 2, STORE_FAILED: 2 } }])
    faults.onCall = undefined
    faults.heal()
    const both = { changedCount: 2, refusedCount: 0 }
    expect(await world.finish(scheduled.changeAll({}, DAY, false))).toEqual(both)
  })

  test('does not hold up the next one while a file cannot be read', async () => {
    const scene = await served()
    const { world, scheduled } = scene
    const startMs = world.platform.clock.timeMs()
    await sendAll(scene, 'orders', [70 * 24 * HOUR_MS])
    await world.runFor(MINUTE_MS)
    const [file = ''] = await timerFiles(world)
    await sendAll(scene, 'orders', [3 * HOUR_MS])
    const { faults } = world
    faults.failNext({ call: 'read', path: new RegExp(file), error: 'STORE_FAILED', count: 1e6 })
    const changing = scheduled.changeAll({ fromMs: startMs + 60 * 24 * HOUR_MS }, DAY, false)
    await world.runFor(5 * SECOND_MS)
    const one = { changedCount: 1, refusedCount: 0 }
    const near = { toMs: startMs + 4 * HOUR_MS }
    expect(await world.finish(scheduled.changeAll(near, DAY, false))).toEqual(one)
    faults.heal()
    expect(await world.finish(changing)).toEqual(one)
  })
})

test('shifts by filter are carried out one at a time, in their order', async () => {
  const scene = await served()
  const { world, scheduled } = scene
  const delaysMs = Array.from({ length: 700 }, (_, index) => HOUR_MS + index * SECOND_MS)
  await sendAll(scene, 'orders', delaysMs)
  await sendAll(scene, 'mails', [HOUR_MS])
  const day = { kind: 'shift', shiftMs: 24 * HOUR_MS } as const
  const answered: number[] = []
  const shifts = ['orders', 'mails'].map(async topic => {
    const { changedCount } = await scheduled.changeAll({ topic }, day, false)
    answered.push(changedCount)
  })
  await world.finish(Promise.all(shifts))
  expect(answered).toEqual([700, 1])
})

test.each([
  ['a state', { state: 'parked' } as const, CANCEL],
  ['times in the wrong order', { fromMs: 2, toMs: 1 }, CANCEL],
  ['a topic that is too long', { topic: 'x'.repeat(256) }, CANCEL],
  ['a tag that is too long', { tag: 'x'.repeat(256) }, CANCEL],
  ['a key that is too long', { key: 'x'.repeat(1_000_000) }, CANCEL],
  ['a beginning of a key that is too long', { keyPrefix: 'x'.repeat(256) }, CANCEL],
  ['an empty key, which would mean all,', { key: '' }, CANCEL],
  ['an empty topic, which would mean all,', { topic: '' }, CANCEL],
  ['a shift by nothing', {}, { kind: 'shift', shiftMs: 0 } as const],
])('%s is refused', async (_name, filter, change) => {
  const scene = await served()
  const changing = scene.scheduled.changeAll(filter, change, false)
  await expect(scene.world.finish(changing)).rejects.toMatchObject({ code: 'PARAMETER_INVALID' })
})
