import { describe, expect, test } from 'vitest'
import { type ObservedCall, SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { SegmentFiles } from './segment-files.ts'
import { rejectionOf } from './testing.ts'

const ROOT = '/data'
const DIRECTORY = '/data/queue/topic/0'
const SEGMENT_BYTES = 4096

async function newSegments(seed = 1): Promise<{ world: SimulatedWorld; segments: SegmentFiles }> {
  const world = new SimulatedWorld({ seed })
  const { files } = world.outside
  await world.finish(files.makeDirectory(ROOT))
  await world.finish(files.syncDirectory('/'))
  return { world, segments: await load(world) }
}

async function load(world: SimulatedWorld): Promise<SegmentFiles> {
  const segments = new SegmentFiles(world.platform.files, DIRECTORY, {
    segmentBytes: SEGMENT_BYTES,
    root: ROOT,
  })
  await world.finish(segments.load())
  return segments
}

async function fill(world: SimulatedWorld, segments: SegmentFiles, count: number): Promise<void> {
  await world.finish(segments.writeAcross(Buffer.alloc(count * SEGMENT_BYTES, 7), 0))
  await world.finish(segments.sync())
}

describe('segment files', () => {
  test.each([1, 2, 3, 4, 5, 6])(
    'are there after a power cut once they are synced (SEED=%i)',
    async seed => {
      const { world, segments } = await newSegments(seed)
      await fill(world, segments, 3)
      world.crash()
      const found = Buffer.alloc(3 * SEGMENT_BYTES)
      const got = await world.finish((await load(world)).read(found, 0))
      expect(got).toBe(found.length)
      expect(found.every(byte => byte === 7)).toBe(true)
    },
  )

  test('finish the reads under way when their handles are given back', async () => {
    const { world, segments } = await newSegments()
    await fill(world, segments, 1)
    const target = Buffer.alloc(100)
    const reading = segments.read(target, 0)
    const closing = segments.closeHandles()
    expect(await world.finish(reading)).toBe(100)
    await world.finish(closing)
    expect(target[99]).toBe(7)
  })

  test('finish the reads under way when the file is removed', async () => {
    const { world, segments } = await newSegments()
    await fill(world, segments, 3)
    const target = Buffer.alloc(100)
    const reading = segments.read(target, 0)
    const removing = segments.removeBefore(2 * SEGMENT_BYTES)
    expect(await world.finish(reading)).toBe(100)
    expect(await world.finish(removing)).toBe(2)
    expect(segments.firstOffset).toBe(2 * SEGMENT_BYTES)
    expect(await world.finish(segments.read(target, 0))).toBe(0)
  })

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'are durable when a sync ends that began during another one and a write (SEED=%i)',
    async seed => {
      const { world, segments } = await newSegments(seed)
      await fill(world, segments, 1)
      const writing = segments.write([Buffer.alloc(512, 8)], 0)
      const early = segments.sync()
      await world.finish(writing)
      await world.finish(segments.sync())
      world.crash()
      early.catch(() => undefined)
      const found = Buffer.alloc(512)
      await world.finish((await load(world)).read(found, 0))
      expect(found.every(byte => byte === 8)).toBe(true)
    },
  )

  test('are not synced before a sync of the same bytes under way has ended', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const { world, segments } = await newSegments(seed)
      await fill(world, segments, 1)
      await world.finish(segments.write([Buffer.alloc(512, 8)], 0))
      const first = segments.sync()
      await world.finish(segments.sync())
      world.crash()
      first.catch(() => undefined)
      const found = Buffer.alloc(512)
      await world.finish((await load(world)).read(found, 0))
      expect(found.every(byte => byte === 8)).toBe(true)
    }
  })

  test('that a killed process has made and not named durably are, once their names are', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const { world, segments } = await newSegments(seed)
      world.faults.failNext({ call: 'datasync', error: 'STORE_FAILED' })
      await world.finish(rejectionOf(segments.write([Buffer.from('lost')], 0)))
      world.kill()
      const found = await load(world)
      if (found.isEmpty) continue
      await world.finish(found.completeLengths())
      await world.finish(found.syncNames())
      await fill(world, found, 1)
      world.crash()
      expect((await load(world)).endOffset).toBe(SEGMENT_BYTES)
    }
  })

  test('are never taken for durable once a sync has failed, whoever waits for it', async () => {
    const { world, segments } = await newSegments()
    await fill(world, segments, 1)
    await world.finish(segments.write([Buffer.from('more')], 100))
    world.faults.failNext({ call: 'datasync', error: 'STORE_FAILED' })
    const syncs = [segments.sync(), segments.sync()]
    const codes = await world.finish(Promise.all(syncs.map(sync => rejectionOf(sync))))
    expect(codes).toEqual(['STORE_FAILED', 'STORE_FAILED'])
    expect(await world.finish(rejectionOf(segments.sync()))).toBe('STORE_FAILED')
  })

  test('have no hole when one of the old ones could not be removed at first', async () => {
    for (const call of ['remove', 'syncDirectory'] as const) {
      const { world, segments } = await newSegments()
      await fill(world, segments, 4)
      world.faults.failNext({ call, error: 'STORE_FAILED' })
      const removing = segments.removeBefore(3 * SEGMENT_BYTES)
      expect(await world.finish(rejectionOf(removing))).toBe('STORE_FAILED')
      await world.finish(segments.removeBefore(3 * SEGMENT_BYTES))
      expect((await load(world)).bases).toEqual([3 * SEGMENT_BYTES])
      world.crash()
      expect((await load(world)).bases).toEqual([3 * SEGMENT_BYTES])
    }
  })

  test('have no hole after a power cut while old ones are removed', async () => {
    for (let seed = 1; seed <= 30; seed++) {
      const { world, segments } = await newSegments(seed)
      await fill(world, segments, 5)
      const removing = segments.removeBefore(4 * SEGMENT_BYTES)
      await world.runFor((seed % 10) * 0.7)
      world.crash()
      removing.catch(() => undefined)
      const found = await load(world)
      expect(found.endOffset).toBe(5 * SEGMENT_BYTES)
    }
  })

  test('have no hole after a power cut while the end is cut off', async () => {
    for (let seed = 1; seed <= 30; seed++) {
      const { world, segments } = await newSegments(seed)
      await fill(world, segments, 5)
      const cutting = segments.cut(100)
      await world.runFor((seed % 10) * 0.7)
      world.crash()
      cutting.catch(() => undefined)
      const found = await load(world)
      expect(found.firstOffset).toBe(0)
      await world.finish(found.cut(100))
      const rest = Buffer.alloc(SEGMENT_BYTES)
      expect(await world.finish(found.read(rest, 0))).toBe(SEGMENT_BYTES)
      expect(rest.subarray(100).every(byte => byte === 0)).toBe(true)
      expect(found.endOffset).toBe(SEGMENT_BYTES)
    }
  })

  test('refuse to go on when one of them is missing', async () => {
    const { world, segments } = await newSegments()
    await fill(world, segments, 3)
    await world.finish(world.outside.files.remove(segments.pathOf(SEGMENT_BYTES)))
    expect(await rejectionOf(load(world))).toBe('STORE_DAMAGED')
  })

  test('fail for good when a sync fails, even for lack of room', async () => {
    const { world, segments } = await newSegments()
    await fill(world, segments, 1)
    await world.finish(segments.write([Buffer.alloc(8, 1)], 0))
    world.faults.failNext({ call: 'datasync', error: 'STORE_FULL' })
    expect(await rejectionOf(world.finish(segments.sync()))).toBe('STORE_FAILED')
  })

  test('make a new file again after there was no room for it, and leak no handle', async () => {
    const { world, segments } = await newSegments()
    const calls: ObservedCall[] = []
    world.faults.onCall = call => calls.push(call)
    world.faults.failNext({ call: 'truncate', error: 'STORE_FULL' })
    const part = Buffer.alloc(8, 1)
    expect(await rejectionOf(world.finish(segments.write([part], 0)))).toBe('STORE_FULL')
    await world.finish(segments.write([part], 0))
    await world.finish(segments.closeHandles())
    const countOf = (name: string): number => calls.filter(({ call }) => call === name).length
    expect(countOf('open')).toBe(2)
    expect(countOf('close')).toBe(2)
  })

  test('give a short file its full length', async () => {
    const { world, segments } = await newSegments()
    await fill(world, segments, 1)
    const file = await world.finish(world.outside.files.open(segments.pathOf(0), 'write'))
    await world.finish(file.truncate(100))
    const found = await load(world)
    await world.finish(found.completeLengths())
    const rest = Buffer.alloc(SEGMENT_BYTES, 1)
    expect(await world.finish(found.read(rest, 0))).toBe(SEGMENT_BYTES)
    expect(rest.subarray(100).every(byte => byte === 0)).toBe(true)
  })
})
