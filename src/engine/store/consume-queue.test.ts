import { describe, expect, test } from 'vitest'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { SYS_FLAG } from '../../model/message/index.ts'
import {
  ConsumeQueue,
  type KnownLog,
  PADDING_SIZE,
  QUEUE_SEGMENT_BYTES,
  UNIT_BYTES,
} from './consume-queue.ts'
import {
  flushed,
  messageOf,
  missing,
  readAll,
  send,
  type Sent,
  startStore,
  STORE_OPTIONS,
} from './testing.ts'

const ROOT = '/data/consumequeue'
const FILE = `${ROOT}/T/0/${'0'.repeat(20)}`

function newQueue(world: SimulatedWorld): ConsumeQueue {
  const { files } = world.platform
  return new ConsumeQueue({ files, root: ROOT, topic: 'T', queueId: 0, applier: undefined })
}

/** A queue of which unit `n` names the record at 100 n, as if all records were there. */
async function filled(world: SimulatedWorld, count: number): Promise<ConsumeQueue> {
  await world.finish(world.outside.files.makeDirectory(ROOT))
  const queue = newQueue(world)
  for (let offset = 0; offset < count; offset++) queue.appendUnit(offset * 100, 90, offset)
  await world.finish(queue.writeTail())
  await world.finish(queue.sync())
  return queue
}

function knownLog(world: SimulatedWorld, changes: Partial<KnownLog> = {}): KnownLog {
  return {
    commitLogMin: 0,
    commitLogEnd: Infinity,
    isClean: false,
    log: world.platform.log,
    recordAt: (unit, _queue, queueOffset) =>
      Promise.resolve(unit.commitLogOffset(0) === queueOffset * 100 ? 'own' : 'other'),
    ...changes,
  }
}

async function loaded(
  world: SimulatedWorld,
  changes: Partial<KnownLog> = {},
): Promise<ConsumeQueue> {
  const queue = newQueue(world)
  const known = knownLog(world, changes)
  await world.finish(queue.load(known))
  await world.finish(queue.trim(known.commitLogMin))
  return queue
}

async function placesOf(world: SimulatedWorld, queue: ConsumeQueue): Promise<number[]> {
  const units = await world.finish(queue.readUnits(0, queue.maxOffset))
  return Array.from({ length: units.count }, (_, index) => units.commitLogOffset(index))
}

async function overwrite(world: SimulatedWorld, offset: number, bytes: Buffer): Promise<void> {
  const file = await world.finish(world.outside.files.open(FILE, 'write'))
  await world.finish(file.write([bytes], offset * UNIT_BYTES))
  await world.finish(file.close())
}

describe('a consume queue', () => {
  test('reads units from file and memory as one, while they move', async () => {
    const world = new SimulatedWorld({ seed: 1 })
    const queue = await filled(world, 5_000)
    for (let offset = 5_000; offset < 9_000; offset++) queue.appendUnit(offset * 100, 90, offset)
    const reading = queue.readUnits(0, 9_000)
    const writing = queue.writeTail()
    queue.appendUnit(900_000, 90, 9_000)
    const units = await world.finish(reading)
    await world.finish(writing)
    const expected = Array.from({ length: 9_000 }, (_, offset) => offset * 100)
    const places = Array.from({ length: units.count }, (_, index) => units.commitLogOffset(index))
    expect(places).toEqual(expected)
    expect(await placesOf(world, queue)).toEqual([...expected, 900_000])
    expect(queue.isInTail(8_999)).toBe(false)
    expect(queue.isInTail(9_000)).toBe(true)
  })

  test('gives its handles back while somebody reads and writes', async () => {
    const world = new SimulatedWorld({ seed: 1 })
    const queue = await filled(world, 100)
    queue.appendUnit(10_000, 90, 0)
    const reading = queue.readUnits(0, 50)
    const writing = queue.writeTail()
    const syncing = queue.sync()
    await world.finish(Promise.all([reading, writing, syncing]))
    expect(await placesOf(world, queue)).toHaveLength(101)
  })

  test('forgets what belongs to the log behind the checkpoint', async () => {
    const world = new SimulatedWorld({ seed: 1 })
    await filled(world, 1_000)
    const queue = await loaded(world, { commitLogEnd: 70_000 })
    expect(queue.maxOffset).toBe(700)
    expect(queue.nextOffset).toBe(700)
  })

  test('is not taken in by torn units that look like old ones', async () => {
    const world = new SimulatedWorld({ seed: 1 })
    await filled(world, 1_000)
    const torn = Buffer.alloc(UNIT_BYTES)
    torn.writeInt32BE(90, 8)
    for (let offset = 700; offset < 1_000; offset++) await overwrite(world, offset, torn)
    for (const commitLogMin of [0, 50_000]) {
      const queue = await loaded(world, { commitLogEnd: 70_000, commitLogMin })
      expect(queue.maxOffset).toBe(700)
    }
  })

  test('passes over units that went bad, and keeps those behind them', async () => {
    let reportCount = 0
    for (let bad = 480; bad < 500; bad++) {
      const world = new SimulatedWorld({ seed: 1 })
      await filled(world, 501)
      for (const [position, bit] of [
        [0, 7],
        [8, 7],
        [0, 6],
      ] as const) {
        world.disk.flipBit(FILE, bad * UNIT_BYTES + position, bit)
        const queue = await loaded(world)
        expect(queue.maxOffset).toBe(501)
        await loaded(world)
      }
      for (const { level, fields } of world.logLines) {
        if (level !== 'error') continue
        reportCount++
        expect(fields).toMatchObject({ file: FILE, fromOffset: bad, toOffset: bad + 1 })
      }
    }
    // Those that the search for the end has met.
    expect(reportCount).toBeGreaterThan(3)
  })

  test('gives no number again when a unit went bad and the log is gone behind it', async () => {
    const world = new SimulatedWorld({ seed: 1 })
    await filled(world, 501)
    world.disk.flipBit(FILE, 499 * UNIT_BYTES + 1, 3)
    const known = { commitLogMin: 60_000, commitLogEnd: 70_000 }
    expect((await loaded(world, known)).nextOffset).toBe(501)
  })

  test('finds its first message though messages in the middle are missing', async () => {
    const world = new SimulatedWorld({ seed: 1 })
    const queue = await filled(world, 10)
    queue.nextOffset = 10
    for (let gap = 0; gap < 20; gap++) queue.appendPadding(3_000)
    queue.appendUnit(3_000, 90, 0)
    await world.finish(queue.trim(500))
    expect(queue.minOffset).toBe(5)
    await world.finish(queue.trim(2_000))
    expect(queue.minOffset).toBe(10)
    await world.finish(queue.trim(3_001))
    expect(queue.minOffset).toBe(31)
  })

  test('keeps the number behind a gap when retention has taken all of it', async () => {
    const world = new SimulatedWorld({ seed: 1 })
    const queue = await filled(world, 5)
    queue.nextOffset = 5
    queue.appendPadding(600)
    queue.appendUnit(600, 90, 0)
    await world.finish(queue.writeTail())
    await world.finish(queue.sync())
    const { minOffset, maxOffset, nextOffset } = await loaded(world, { commitLogMin: 10_000 })
    expect({ minOffset, maxOffset, nextOffset }).toEqual({
      minOffset: 7,
      maxOffset: 7,
      nextOffset: 7,
    })
  })

  test('finds its first message though a unit before it went bad', async () => {
    const world = new SimulatedWorld({ seed: 1 })
    const queue = await filled(world, 1_000)
    const bad = Buffer.alloc(UNIT_BYTES)
    bad.writeInt32BE(0x7000_0000, 0)
    bad.writeInt32BE(90, 8)
    for (const offset of [0, 300, 499, 520]) await overwrite(world, offset, bad)
    await world.finish(queue.trim(51_000))
    expect(queue.minOffset).toBe(510)
    await world.finish(queue.trim(52_000))
    expect(queue.minOffset).toBe(520)
    await world.finish(queue.trim(53_000))
    expect(queue.minOffset).toBe(530)
  })

  test('that begins late fills the file before it with padding', async () => {
    const world = new SimulatedWorld({ seed: 1 })
    await world.finish(world.outside.files.makeDirectory(ROOT))
    const queue = newQueue(world)
    queue.startAt(300_005)
    queue.appendUnit(30_000_500, 90, 1)
    await world.finish(queue.writeTail())
    await world.finish(queue.sync())
    const name = String(QUEUE_SEGMENT_BYTES).padStart(20, '0')
    const path = `${ROOT}/T/0/${name}`
    expect(await world.finish(world.outside.files.sizeOf(path))).toBe(QUEUE_SEGMENT_BYTES)
    const again = await loaded(world)
    expect([again.minOffset, again.maxOffset]).toEqual([300_005, 300_006])
    const units = await world.finish(again.readUnits(300_000, 1))
    expect(units.size(0)).toBe(PADDING_SIZE)
  })

  test('ends where its units end, although a bit in the zeros behind went bad', async () => {
    const world = new SimulatedWorld({ seed: 1 })
    await filled(world, 5)
    // The size of a unit that was never written; the record at its place, 0, is damaged too.
    world.disk.flipBit(FILE, 12 * 20 + 11, 3)
    const again = await loaded(world, { recordAt: () => Promise.resolve('damaged') })
    expect([again.minOffset, again.maxOffset]).toEqual([0, 5])
  })

  test('can be taken back, in memory and on disk', async () => {
    const world = new SimulatedWorld({ seed: 1 })
    const queue = await filled(world, 100)
    queue.appendUnit(10_000, 90, 0)
    queue.rewind(100)
    expect(await placesOf(world, queue)).toHaveLength(100)
    queue.rewind(40)
    queue.appendUnit(77, 90, 0)
    expect((await placesOf(world, queue)).slice(39)).toEqual([3_900, 77])
    await world.finish(queue.writeTail())
    await world.finish(queue.sync())
    const again = await loaded(world, { recordAt: () => Promise.resolve('own') })
    expect(again.maxOffset).toBe(41)
  })
})

describe('consume queues after a crash', () => {
  test('have every unit, over many writes, checkpoints and power cuts', async () => {
    const world = new SimulatedWorld({ seed: 9 })
    const options = { checkpointIntervalMs: 700, segmentBytes: 1024 * 1024 }
    const sent: Sent[] = []
    for (let round = 0; round < 6; round++) {
      const store = await startStore(world, options)
      for (let burst = 0; burst < 12; burst++) {
        for (let index = 0; index < 100; index++) {
          sent.push(send(world, store, { queueId: index % 2, body: `${round} ${burst} ${index}` }))
        }
        await flushed(world, store)
        await world.runFor(130)
      }
      expect(await missing(world, store, sent)).toEqual([])
      world.crash()
    }
    const store = await startStore(world, options)
    expect(await missing(world, store, sent)).toEqual([])
    expect(store.queue('TopicTest', 0).maxOffset).toBe(sent.length / 2)
  })

  test("have no unit for Apache's half and rolled back messages", async () => {
    const world = new SimulatedWorld({ seed: 9 })
    let store = await startStore(world)
    const queue = store.queue('TopicTest', 0)
    for (const sysFlag of [0, SYS_FLAG.TRANSACTION_COMMIT]) {
      store.append({ ...messageOf('TopicTest', `${sysFlag}`), sysFlag }, queue, 0, 1)
    }
    for (const sysFlag of [SYS_FLAG.TRANSACTION_PREPARED, SYS_FLAG.TRANSACTION_ROLLBACK]) {
      queue.nextOffset = 0
      store.append({ ...messageOf('TopicTest', 'hidden'), sysFlag }, queue, 0, 1)
    }
    await flushed(world, store)
    world.kill()
    store = await startStore(world)
    expect(await readAll(world, store)).toEqual(
      new Map([
        [0, '0'],
        [1, '8'],
      ]),
    )
  })

  test('of a piece of the log that was never written keep their numbers, with a warning', async () => {
    const world = new SimulatedWorld({ seed: 9 })
    let store = await startStore(world)
    const sent = Array.from({ length: 10 }, (_, index) => send(world, store, { body: `${index}` }))
    await flushed(world, store)
    world.kill()
    const [from = 0, to = 0] = [4, 6].map(index => sent[index]?.commitLogOffset)
    const path = `${STORE_OPTIONS.directory}/commitlog/${'0'.repeat(20)}`
    const log = await world.finish(world.outside.files.open(path, 'write'))
    await world.finish(log.write([Buffer.alloc(to - from)], from))
    await world.finish(log.close())
    store = await startStore(world)
    const found = await readAll(world, store)
    expect([...found.keys()]).toEqual([0, 1, 2, 3, 6, 7, 8, 9])
    expect(world.logLines.filter(({ level }) => level === 'error')).toEqual([])
    const warnings = world.logLines.filter(({ level }) => level === 'warn')
    const places = warnings.map(({ fields }) => fields['fromOffset'])
    // Before them, that there was no checkpoint yet.
    expect(places).toEqual([undefined, from, 4])
  })

  test('of a record that went bad keep their numbers, and say what is missing', async () => {
    const world = new SimulatedWorld({ seed: 9 })
    let store = await startStore(world)
    const sent = Array.from({ length: 10 }, (_, index) => send(world, store, { body: `${index}` }))
    await flushed(world, store)
    world.kill()
    const log = `${STORE_OPTIONS.directory}/commitlog/${'0'.repeat(20)}`
    world.disk.flipBit(log, (sent[4]?.commitLogOffset ?? 0) + 30, 2)
    store = await startStore(world)
    const found = await readAll(world, store)
    expect([...found.keys()]).toEqual([0, 1, 2, 3, 5, 6, 7, 8, 9])
    const messages = world.logLines.filter(({ level }) => level === 'error')
    expect(messages.map(({ fields }) => fields['fromOffset'])).toEqual([
      sent[4]?.commitLogOffset,
      4,
    ])
  })
})
