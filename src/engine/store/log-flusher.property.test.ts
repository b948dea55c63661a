import { assert, asyncProperty, array, constantFrom, integer, record } from 'fast-check'
import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { checkRecord, decodeRecord } from '../../model/message/index.ts'
import { CommitLog } from './commit-log.ts'
import { SegmentFiles } from './segment-files.ts'
import { messageOf, STORE_OPTIONS } from './testing.ts'

const SEGMENT_BYTES = 1_048_576
const RECORD_BYTES_MAX = 131_072

interface Step {
  readonly bodyBytes: number
  readonly pauseMs: number
}

/**
 * Large records, so that two pieces are often under way at once, and a power cut: whatever was
 * called flushed is on the disk, in whatever order the pieces came back.
 */
async function cutThePower(seed: number, steps: readonly Step[]): Promise<number> {
  const world = new SimulatedWorld({ seed })
  world.faults.rates.slowCall = 0.3
  await world.finish(world.outside.files.makeDirectory('/commitlog'))
  await world.finish(world.outside.files.syncDirectory(''))
  const { platform } = world
  const segments = new SegmentFiles(platform.files, '/commitlog', {
    segmentBytes: SEGMENT_BYTES,
    root: '',
  })
  let flushedOffset = 0
  let overlapCount = 0
  const log = new CommitLog({
    platform,
    options: {
      ...STORE_OPTIONS,
      segmentBytes: SEGMENT_BYTES,
      recordBytesMax: RECORD_BYTES_MAX,
      cacheBytes: 16 * RECORD_BYTES_MAX,
    },
    segments,
    endOffset: 0,
    onFlushed: () => {
      expect(log.flushedOffset).toBeGreaterThan(flushedOffset)
      flushedOffset = log.flushedOffset
      log.release(flushedOffset)
    },
    onFull: () => undefined,
    onFailed: error => {
      throw error
    },
  })
  world.faults.onCall = ({ call, path, position }) => {
    const offset = Number(path.slice(-20)) + (position ?? 0)
    // What lies between is still under way.
    if (call === 'write' && offset > log.flushedOffset) overlapCount++
  }
  const expected: { offset: number; body: string }[] = []
  for (const [index, { bodyBytes, pauseMs }] of steps.entries()) {
    const body = String(index).padEnd(bodyBytes, 'b')
    if (log.roomBytes < 2 * RECORD_BYTES_MAX)
      await world.run(() => log.flushedOffset === log.endOffset)
    expected.push({ offset: log.append(messageOf('T', body), index, 1), body })
    if (pauseMs > 0) await world.runFor(pauseMs)
  }
  world.crash()
  const disk = new SegmentFiles(world.outside.files, '/commitlog', {
    segmentBytes: SEGMENT_BYTES,
    root: '',
  })
  await world.finish(disk.load())
  for (const { offset, body } of expected) {
    if (offset >= flushedOffset) break
    const bytes = Buffer.alloc(RECORD_BYTES_MAX)
    const got = await world.finish(disk.read(bytes, offset))
    expect(checkRecord(bytes, 0, got).kind).toBe('record')
    expect(decodeRecord(bytes, 0).body.toString()).toBe(body)
  }
  return overlapCount
}

test('what is called flushed survives a power cut, also while two pieces are under way', async () => {
  let overlapCount = 0
  const steps = array(
    record({
      bodyBytes: integer({ min: 1, max: 100_000 }),
      pauseMs: constantFrom(0, 0, 0.2, 1, 5),
    }),
    { minLength: 1, maxLength: 40, size: 'max' },
  )
  const survives = asyncProperty(integer({ min: 1 }), steps, async (seed, sent) => {
    overlapCount += await cutThePower(seed, sent)
  })
  await assert(survives, { numRuns: 60 })
  expect(overlapCount).toBeGreaterThan(0)
})
