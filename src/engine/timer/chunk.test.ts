import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { crc32 } from '../../core/base/index.ts'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { sealedRecord } from '../../model/message/testing.ts'
import { Chunk, CHUNK_HEADER_BYTES } from './chunk.ts'
import { readChunk } from './chunk-reader.ts'
import { PagePool } from './page-pool.ts'
import {
  checkTimerRecord,
  isMarkSound,
  TIMER_HEADER_BYTES,
  timerDeliverTimeMs,
  timerIdOf,
  timerMark,
  timerRecordStart,
  writeTimerHeader,
} from './timer-record.ts'

const DUE_MS = 1_800_000_000_000
const PATH = '/data/1800000000000-5'

async function newWorld(): Promise<SimulatedWorld> {
  const world = new SimulatedWorld({ seed: 1 })
  await world.finish(world.outside.files.makeDirectory('/data'))
  return world
}

function newChunk(world: SimulatedWorld): Chunk {
  return Chunk.create(world.platform.files, new PagePool(), { path: PATH, number: 5 })
}

/** The accept record of a message with a body of so many bytes, at its timer id. */
function recordOf(timerId: number, bodyBytes: number): Buffer {
  const body = Buffer.alloc(bodyBytes, timerId)
  const stamps = { queueOffset: 7, commitLogOffset: timerId, storeTimeMs: DUE_MS }
  return sealedRecord({ body, bodyEnd: bodyBytes }, stamps)
}

function fill(chunk: Chunk, bodySizes: readonly number[]): void {
  for (const [index, bodyBytes] of bodySizes.entries()) {
    const record = recordOf(1000 + index, bodyBytes)
    const header = { deliverTimeMs: DUE_MS + index, timerId: 1000 + index }
    chunk.append(header, record, 0, record.length)
  }
}

interface Seen {
  readonly timerId: number
  readonly deliverTimeMs: number
  readonly record: Buffer
}

async function readAll(world: SimulatedWorld, chunk: Chunk, bytesMax: number): Promise<Seen[]> {
  const seen: Seen[] = []
  const visitor = {
    record: (source: Buffer, at: number, size: number): void => {
      const record = Buffer.from(source.subarray(timerRecordStart(at), at + size))
      const deliverTimeMs = timerDeliverTimeMs(source, at)
      seen.push({ timerId: timerIdOf(source, at), deliverTimeMs, record })
    },
  }
  let position = CHUNK_HEADER_BYTES
  while (position < chunk.sizeBytes) {
    const range = { position, bytesMax }
    position = await world.finish(readChunk(chunk, range, { visitor, log: world.platform.log }))
  }
  return seen
}

function expected(bodySizes: readonly number[]): Seen[] {
  return bodySizes.map((bodyBytes, index) => ({
    timerId: 1000 + index,
    deliverTimeMs: DUE_MS + index,
    record: recordOf(1000 + index, bodyBytes),
  }))
}

/** Turns a byte of the file over, as a bad disk does. */
async function damage(world: SimulatedWorld, position: number): Promise<void> {
  const change = async (): Promise<void> => {
    const file = await world.outside.files.open(PATH, 'write')
    const byte = Buffer.alloc(1)
    await file.read(byte, position)
    byte[0] = (byte[0] ?? 0) ^ 0xff
    await file.write([byte], position)
    await file.close()
  }
  await world.finish(change())
}

describe('a chunk', () => {
  test('gives back what was appended, from memory, file and both, in blocks of any size', async () => {
    const world = await newWorld()
    const sizes = fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 40 })
    const property = fc.asyncProperty(
      sizes,
      sizes,
      fc.integer({ min: 200, max: 20_000 }),
      async (written, staged, bytesMax) => {
        const chunk = newChunk(world)
        fill(chunk, written)
        await world.finish(chunk.file.write())
        expect(await readAll(world, chunk, bytesMax)).toEqual(expected(written))
        const more = [...written, ...staged]
        for (const [index, bodyBytes] of more.entries()) {
          if (index < written.length) continue
          const record = recordOf(1000 + index, bodyBytes)
          const header = { deliverTimeMs: DUE_MS + index, timerId: 1000 + index }
          chunk.append(header, record, 0, record.length)
        }
        expect(await readAll(world, chunk, bytesMax)).toEqual(expected(more))
        expect(chunk.count).toBe(more.length)
        expect([chunk.dueMinMs, chunk.dueMaxMs]).toEqual([DUE_MS, DUE_MS + more.length - 1])
        await world.finish(chunk.file.remove())
      },
    )
    await fc.assert(property, { numRuns: 15 })
  })

  test('takes appends while it is being written', async () => {
    const world = await newWorld()
    const chunk = newChunk(world)
    fill(chunk, [100, 200])
    let isUnderWay = false
    world.faults.onCall = ({ call }) => {
      if (call === 'write') isUnderWay = true
    }
    const writing = chunk.file.write()
    await world.run(() => isUnderWay)
    const record = recordOf(1002, 300)
    chunk.append({ deliverTimeMs: DUE_MS + 2, timerId: 1002 }, record, 0, record.length)
    expect(await readAll(world, chunk, 10_000)).toEqual(expected([100, 200, 300]))
    await world.finish(writing)
    expect(chunk.file.stagedBytes).toBe(TIMER_HEADER_BYTES + record.length)
    await world.finish(chunk.file.write())
    await world.finish(chunk.file.sync())
    expect(chunk.file.isDurable).toBe(true)
  })

  test('of thousands of parts looks at each a few times only until it is over', async () => {
    const world = await newWorld()
    const chunk = newChunk(world)
    const count = 4_000
    fill(chunk, Array<number>(count).fill(10))
    const recordBytes = (chunk.sizeBytes - CHUNK_HEADER_BYTES) / count
    let lookCount = 0
    for (let index = 0; index < count; index++) {
      const part = chunk.beginPart()
      const liveCount = 0
      Object.defineProperty(part, 'liveCount', { get: () => (lookCount++, liveCount) })
      chunk.endPart(part, CHUNK_HEADER_BYTES + (index + 1) * recordBytes, 1)
      // A checkpoint now and then.
      if (index % 50 === 49) chunk.settleParts()
    }
    expect(chunk.isDone).toBe(true)
    expect(lookCount).toBeLessThanOrEqual(2 * count)
  })

  test('writes again what a full disk refused', async () => {
    const world = await newWorld()
    const chunk = newChunk(world)
    fill(chunk, [100, 200])
    world.faults.failNext({ call: 'write', error: 'STORE_FULL' })
    const failing = world.finish(chunk.file.write())
    await expect(failing).rejects.toMatchObject({ code: 'STORE_FULL' })
    await world.finish(chunk.file.write())
    expect(chunk.file.stagedBytes).toBe(0)
    expect(await readAll(world, chunk, 10_000)).toEqual(expected([100, 200]))
  })

  test('is cut to what the manifest names', async () => {
    const world = await newWorld()
    const chunk = newChunk(world)
    fill(chunk, [100, 200])
    const section = chunk.section()
    fill(chunk, [300])
    await world.finish(chunk.file.write())
    await world.finish(chunk.file.close())
    const place = { path: PATH, section }
    const loaded = await world.finish(Chunk.load(world.platform, new PagePool(), place))
    expect(await world.finish(world.outside.files.sizeOf(PATH))).toBe(section.sizeBytes)
    expect(await readAll(world, loaded, 10_000)).toEqual(expected([100, 200]))
  })

  test('that is missing is reported with its file', async () => {
    const world = await newWorld()
    const chunk = newChunk(world)
    fill(chunk, [100])
    const place = { path: '/data/missing', section: chunk.section() }
    const loading = Chunk.load(world.platform, new PagePool(), place)
    await expect(world.finish(loading)).rejects.toMatchObject({
      code: 'STORE_DAMAGED',
      details: { file: '/data/missing', expectedBytes: chunk.sizeBytes },
    })
  })

  test('that was cut off is reported with its range, and the rest is served', async () => {
    const world = await newWorld()
    const chunk = newChunk(world)
    fill(chunk, [100, 200, 300])
    await world.finish(chunk.file.write())
    await world.finish(chunk.file.close())
    const section = chunk.section()
    const cut = await world.finish(world.outside.files.open(PATH, 'write'))
    await world.finish(cut.truncate(section.sizeBytes - 10))
    const place = { path: PATH, section }
    const loaded = await world.finish(Chunk.load(world.platform, new PagePool(), place))
    expect(await readAll(world, loaded, 10_000)).toEqual(expected([100, 200]))
    expect(world.logLines[0]).toMatchObject({
      level: 'error',
      fields: {
        file: PATH,
        fromPosition: section.sizeBytes - 10,
        toPosition: section.sizeBytes,
      },
    })
  })

  test('of another version is refused', async () => {
    const world = await newWorld()
    const chunk = newChunk(world)
    fill(chunk, [100])
    await world.finish(chunk.file.write())
    const place = { path: PATH, section: chunk.section() }
    const later = Buffer.alloc(CHUNK_HEADER_BYTES)
    const change = async (): Promise<void> => {
      const file = await world.outside.files.open(PATH, 'write')
      await file.read(later, 0)
      later.writeUInt32BE(3, 4)
      later.writeUInt32BE(crc32(later, 0, 28), 28)
      await file.write([later], 0)
      await file.close()
    }
    await world.finish(change())
    const loading = Chunk.load(world.platform, new PagePool(), place)
    await expect(world.finish(loading)).rejects.toMatchObject({
      code: 'STORE_DAMAGED',
      details: { file: PATH, version: 3, supported: 2 },
    })
  })

  test('with a damaged header of the file is read all the same, and reported', async () => {
    const world = await newWorld()
    const chunk = newChunk(world)
    fill(chunk, [100])
    await world.finish(chunk.file.write())
    await damage(world, 7)
    const place = { path: PATH, section: chunk.section() }
    const loaded = await world.finish(Chunk.load(world.platform, new PagePool(), place))
    expect(await readAll(world, loaded, 10_000)).toEqual(expected([100]))
    expect(world.logLines.at(-1)?.fields).toMatchObject({ file: PATH, fromPosition: 0 })
  })

  test('with a damaged record serves the others and reports file and range', async () => {
    const world = await newWorld()
    const chunk = newChunk(world)
    fill(chunk, [100, 200, 300])
    await world.finish(chunk.file.write())
    const second = CHUNK_HEADER_BYTES + TIMER_HEADER_BYTES + recordOf(1000, 100).length
    const third = second + TIMER_HEADER_BYTES + recordOf(1001, 200).length
    await damage(world, second + TIMER_HEADER_BYTES + 120)
    const [first, , last] = expected([100, 200, 300])
    expect(await readAll(world, chunk, 10_000)).toEqual([first, last])
    expect(world.logLines.at(-1)?.fields).toMatchObject({
      file: PATH,
      fromPosition: second,
      toPosition: third,
      reason: 'checksum of the record',
    })
  })

  test('with a damaged header of a record goes on at the next one, in blocks of any size', async () => {
    for (const blockBytes of [10_000, 700, 430, 60]) {
      const world = await newWorld()
      const chunk = newChunk(world)
      fill(chunk, [100, 200, 300, 90])
      await world.finish(chunk.file.write())
      const second = CHUNK_HEADER_BYTES + TIMER_HEADER_BYTES + recordOf(1000, 100).length
      const third = second + TIMER_HEADER_BYTES + recordOf(1001, 200).length
      await damage(world, second + 6)
      const [first, , ...rest] = expected([100, 200, 300, 90])
      expect(await readAll(world, chunk, blockBytes)).toEqual([first, ...rest])
      const places = world.logLines.map(({ fields }) => fields)
      expect(places[0]).toMatchObject({ file: PATH, fromPosition: second })
      expect(places.at(-1)).toMatchObject({ toPosition: third })
    }
  })
})

describe('a timer record', () => {
  test('of which any bit is turned is never taken for whole, or shows it in its mark', () => {
    const record = recordOf(12_345, 40)
    const bytes = Buffer.alloc(TIMER_HEADER_BYTES + record.length)
    writeTimerHeader(bytes, 0, { deliverTimeMs: DUE_MS, timerId: 12_345 }, record.length)
    record.copy(bytes, TIMER_HEADER_BYTES)
    expect(checkTimerRecord(bytes, 0, bytes.length)).toEqual({ kind: 'record', size: bytes.length })
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes)
      changed[bit >>> 3] = (changed[bit >>> 3] ?? 0) ^ (1 << (bit & 7))
      const isWhole = checkTimerRecord(changed, 0, changed.length).kind === 'record'
      expect(isWhole && isMarkSound(changed, 0)).toBe(false)
      if (isWhole) expect(timerMark(changed, 0)).toBe('waits')
    }
  })

  test('that is cut anywhere asks for more, and reads nothing behind the limit', () => {
    const record = recordOf(12_345, 40)
    const bytes = Buffer.alloc(TIMER_HEADER_BYTES + record.length)
    writeTimerHeader(bytes, 0, { deliverTimeMs: DUE_MS, timerId: 12_345 }, record.length)
    record.copy(bytes, TIMER_HEADER_BYTES)
    for (let limit = 0; limit < bytes.length; limit++) {
      const needsBytes = limit < TIMER_HEADER_BYTES ? TIMER_HEADER_BYTES : bytes.length
      expect(checkTimerRecord(bytes, 0, limit)).toEqual({ kind: 'cut', needsBytes })
    }
  })
})
