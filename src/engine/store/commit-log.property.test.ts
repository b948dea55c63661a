import { assert, asyncProperty, array, constantFrom, integer, record } from 'fast-check'
import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { checkRecord, decodeRecord, recordCommitLogOffset } from '../../model/message/index.ts'
import { CommitLog } from './commit-log.ts'
import { SegmentFiles } from './segment-files.ts'
import { messageOf, STORE_OPTIONS } from './testing.ts'

const RECORD_BYTES_MAX = 4_096

interface Step {
  readonly bodyBytes: number
  /** How much happens before the next append. */
  readonly pauseMs: number
}

/** Appends, and compares with a plain array: what is held in memory, and what is on disk. */
async function compare(steps: readonly Step[], segmentBytes: number): Promise<void> {
  const world = new SimulatedWorld({ seed: 1 })
  const { platform } = world
  const segments = new SegmentFiles(platform.files, '/commitlog', { segmentBytes, root: '' })
  const expected: { offset: number; body: string }[] = []
  const log = new CommitLog({
    platform,
    options: {
      ...STORE_OPTIONS,
      segmentBytes,
      recordBytesMax: RECORD_BYTES_MAX,
      cacheBytes: 4 * RECORD_BYTES_MAX,
    },
    segments,
    endOffset: 0,
    onFlushed: () => log.release(log.flushedOffset),
    onFull: () => undefined,
    onFailed: error => {
      throw error
    },
  })
  for (const [index, { bodyBytes, pauseMs }] of steps.entries()) {
    const body = String(index).padEnd(bodyBytes, 'b')
    const draft = messageOf('T', body)
    if (log.roomBytes < 2 * RECORD_BYTES_MAX)
      await world.run(() => log.flushedOffset === log.endOffset)
    const offset = log.append(draft, index, 1)
    expected.push({ offset, body })
    expect(log.isInMemory(offset)).toBe(true)
    for (const held of expected.filter(({ offset: at }) => log.isInMemory(at))) {
      const position = log.memoryPosition(held.offset)
      expect(decodeRecord(log.memory, position).body.toString()).toBe(held.body)
    }
    if (pauseMs > 0) await world.runFor(pauseMs)
  }
  await world.run(() => log.flushedOffset === log.endOffset)
  const found: { offset: number; body: string }[] = []
  const disk = Buffer.alloc(segments.endOffset)
  expect(await world.finish(segments.read(disk, 0))).toBe(disk.length)
  for (let position = 0; position < disk.length;) {
    const check = checkRecord(disk, position, disk.length)
    if (check.kind === 'end') break
    if (check.kind === 'blank') {
      position += segmentBytes - (position % segmentBytes)
      continue
    }
    expect(check.kind).toBe('record')
    expect(recordCommitLogOffset(disk, position)).toBe(position)
    found.push({ offset: position, body: decodeRecord(disk, position).body.toString() })
    position += check.kind === 'record' ? check.size : 1
  }
  expect(found).toEqual(expected)
}

test('the log holds what a plain list of records holds, in memory and on disk', async () => {
  const steps = array(
    record({
      bodyBytes: integer({ min: 1, max: 3_000 }),
      pauseMs: constantFrom(0, 0, 0, 0.4, 3),
    }),
    { minLength: 1, maxLength: 60, size: 'max' },
  )
  const same = asyncProperty(steps, constantFrom(8_192, 12_288, 65_536), compare)
  await assert(same, { numRuns: 60 })
})
