import { describe, expect, test } from 'vitest'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { sealedRecord } from '../../model/message/testing.ts'
import { BLANK_MAGIC } from '../../model/message/index.ts'
import { scanLog, type ScanResult } from './log-scan.ts'
import { SegmentFiles } from './segment-files.ts'

const SEGMENT_BYTES = 64 * 1024
const RECORD_BYTES_MAX = 16 * 1024

interface Written {
  readonly world: SimulatedWorld
  readonly segments: SegmentFiles
  /** Where each record begins. */
  readonly offsets: number[]
  /** Where each segment's blank begins. */
  readonly blanks: number[]
  endOffset: number
}

/** A log with a record for each body, laid out as the commit log does. */
async function write(
  bodies: readonly Buffer[],
  segmentBytes = SEGMENT_BYTES,
  recordBytesMax = RECORD_BYTES_MAX,
): Promise<Written> {
  const world = new SimulatedWorld({ seed: 1 })
  const { files } = world.outside
  await world.finish(files.makeDirectory('/data'))
  const segments = new SegmentFiles(files, '/data/commitlog', { segmentBytes, root: '/data' })
  const written: Written = { world, segments, offsets: [], blanks: [], endOffset: 0 }
  let offset = 0
  for (const body of bodies) {
    const draft = { body, bodyEnd: body.length }
    const size = sealedRecord(draft).length
    expect(size).toBeLessThan(recordBytesMax)
    const room = segmentBytes - (offset % segmentBytes)
    if (size + 8 > room) {
      const blank = Buffer.alloc(8)
      blank.writeUInt32BE(room)
      blank.writeInt32BE(BLANK_MAGIC, 4)
      await world.finish(segments.write([blank], offset))
      written.blanks.push(offset)
      offset += room
    }
    const stamps = { queueOffset: 0, commitLogOffset: offset, storeTimeMs: 1 }
    await world.finish(segments.write([sealedRecord(draft, stamps)], offset))
    written.offsets.push(offset)
    offset += size
  }
  written.endOffset = offset
  return written
}

async function scan(
  log: Written,
  recordBytesMax = RECORD_BYTES_MAX,
): Promise<{ result: ScanResult; found: number[]; passed: string[] }> {
  const found: number[] = []
  const passed: string[] = []
  const visitor = {
    record: (_source: Buffer, _position: number, offset: number) => void found.push(offset),
    passedOver: (isUnwritten: boolean) => void passed.push(isUnwritten ? 'unwritten' : 'damaged'),
    blockDone: () => Promise.resolve(),
  }
  const parts = { visitor, log: log.world.platform.log, recordBytesMax }
  return { result: await log.world.finish(scanLog(log.segments, 0, parts)), found, passed }
}

function flip(log: Written, offset: number): void {
  const base = log.segments.baseOf(offset)
  log.world.disk.flipBit(log.segments.pathOf(base), offset - base, 3)
}

const BODIES = Array.from({ length: 40 }, (_, index) => Buffer.alloc(5_000, index + 1))

describe('a scan of the log', () => {
  test('visits every record over several segments, to the end', async () => {
    const log = await write(BODIES)
    const { result, found } = await scan(log)
    expect(log.blanks.length).toBeGreaterThan(2)
    expect(found).toEqual(log.offsets)
    expect(result).toEqual({ endOffset: log.endOffset, isTorn: false, damaged: [] })
  })

  test('passes over each single damaged record, wherever it lies, and names file and range', async () => {
    for (let index = 0; index < BODIES.length - 1; index++) {
      const log = await write(BODIES)
      const from = log.offsets[index] ?? 0
      flip(log, from + 200)
      const { result, found } = await scan(log)
      expect(found).toEqual(log.offsets.filter(offset => offset !== from))
      expect(result.damaged).toEqual([{ from, to: log.offsets[index + 1] }])
      expect(result.endOffset).toBe(log.endOffset)
      const line = log.world.logLines.find(({ level }) => level === 'error')
      const file = log.segments.pathOf(log.segments.baseOf(from))
      expect(line?.fields).toMatchObject({
        file,
        fromOffset: from,
        toOffset: log.offsets[index + 1],
      })
    }
  })

  test('warns of a piece that was never written when the one behind it was', async () => {
    const log = await write(BODIES)
    const [, from = 0, , to = 0] = log.offsets
    await log.world.finish(log.segments.write([Buffer.alloc(to - from)], from))
    const { result, found, passed } = await scan(log)
    expect(found).toEqual(log.offsets.toSpliced(1, 2))
    expect(result).toEqual({ endOffset: log.endOffset, isTorn: false, damaged: [{ from, to }] })
    expect(passed).toEqual(['unwritten'])
    const lines = log.world.logLines.filter(({ level }) => level === 'warn' || level === 'error')
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({ level: 'warn', fields: { fromOffset: from, toOffset: to } })
    expect(lines[0]?.message).toContain('never written')
  })

  test('calls a piece damaged of which a part is there, though it begins with zeros', async () => {
    const log = await write(BODIES)
    const [, from = 0, to = 0] = log.offsets
    await log.world.finish(log.segments.write([Buffer.alloc(512)], from))
    const { result, passed } = await scan(log)
    expect(result.damaged).toEqual([{ from, to }])
    expect(passed).toEqual(['damaged'])
    expect(log.world.logLines.filter(({ level }) => level === 'error')).toHaveLength(1)
  })

  test('goes on in the next segment when the blank at the end of one is damaged', async () => {
    for (const position of [4, 5, 6, 7]) {
      const log = await write(BODIES)
      flip(log, (log.blanks[1] ?? 0) + position)
      const { result, found } = await scan(log)
      expect(found).toEqual(log.offsets)
      expect(result.endOffset).toBe(log.endOffset)
    }
  })

  test('takes a damaged record with zeros in it for damage, not for the end', async () => {
    const log = await write([Buffer.alloc(5_000), Buffer.alloc(5_000), Buffer.from('x')])
    flip(log, (log.offsets[0] ?? 0) + 20)
    const { result, found } = await scan(log)
    expect(found).toEqual(log.offsets.slice(1))
    expect(result.endOffset).toBe(log.endOffset)
  })

  test('finds the next record though it reaches over the end of a block', async () => {
    const recordBytesMax = 1024 * 1024
    const bodies = Array.from({ length: 9 }, (_, index) => Buffer.alloc(900_000, index + 1))
    for (let index = 0; index < bodies.length - 1; index++) {
      const log = await write(bodies, 16 * 1024 * 1024, recordBytesMax)
      const from = log.offsets[index] ?? 0
      flip(log, from + 100)
      const { found } = await scan(log, recordBytesMax)
      expect(found).toEqual(log.offsets.filter(offset => offset !== from))
    }
  })

  test('ends before a last record that is not whole, and says so', async () => {
    const log = await write(BODIES)
    const last = log.offsets.at(-1) ?? 0
    flip(log, last + 100)
    const { result, found } = await scan(log)
    expect(found).toEqual(log.offsets.slice(0, -1))
    expect(result).toEqual({ endOffset: last, isTorn: true, damaged: [] })
    expect(log.world.logLines.at(-1)).toMatchObject({
      level: 'warn',
      fields: { fromOffset: last, reason: 'checksum of the record' },
    })
  })

  test('takes a whole record in another place for damage', async () => {
    const log = await write(BODIES)
    const stamps = { queueOffset: 0, commitLogOffset: 5, storeTimeMs: 1 }
    const draft = { body: BODIES[3] ?? Buffer.alloc(0), bodyEnd: 5_000 }
    const from = log.offsets[3] ?? 0
    await log.world.finish(log.segments.write([sealedRecord(draft, stamps)], from))
    const { result } = await scan(log)
    expect(result.damaged).toEqual([{ from, to: log.offsets[4] }])
  })
})
