import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../../core/platform/simulated/index.ts'
import { sealedRecord } from '../../../model/message/testing.ts'
import { Chunk } from '../chunk.ts'
import { PagePool } from '../page-pool.ts'
import { ChunkSearch } from './chunk-search.ts'

const DUE_MS = 1_800_000_000_000
const PATH = '/data/1800000000000-5'

test.each(['a message is looked for', 'its index is made'])(
  'a chunk keeps its file while %s',
  async what => {
    const world = new SimulatedWorld({ seed: 1 })
    await world.finish(world.outside.files.makeDirectory('/data'))
    const { files, log } = world.platform
    const chunk = Chunk.create(files, new PagePool(), { path: PATH, number: 5 })
    const record = sealedRecord({}, { queueOffset: 7, commitLogOffset: 12, storeTimeMs: DUE_MS })
    const ref = { timerId: 12, deliverTimeMs: DUE_MS }
    chunk.append(ref, record, 0, record.length)
    await world.finish(chunk.file.write())
    // As after a start.
    chunk.index = undefined
    const search = new ChunkSearch(log)
    const isFind = what === 'a message is looked for'
    const looking = isFind ? search.find(chunk, ref) : search.indexOf(chunk)
    expect(chunk.isHeld).toBe(true)
    await world.finish<unknown>(looking)
    expect(chunk.isHeld).toBe(false)
    expect((await world.finish(search.find(chunk, ref)))?.record).toEqual(record)
  },
)

test('of looks for large messages only so many read at once', async () => {
  const world = new SimulatedWorld({ seed: 2 })
  await world.finish(world.outside.files.makeDirectory('/data'))
  const { files, log } = world.platform
  const chunk = Chunk.create(files, new PagePool(), { path: PATH, number: 5 })
  const body = Buffer.alloc(200_000, 7)
  const stamps = { queueOffset: 7, commitLogOffset: 12, storeTimeMs: DUE_MS }
  const record = sealedRecord({ body, bodyEnd: body.length }, stamps)
  const ref = { timerId: 12, deliverTimeMs: DUE_MS }
  chunk.append(ref, record, 0, record.length)
  await world.finish(chunk.file.write())
  const search = new ChunkSearch(log)
  let readCount = 0
  world.faults.onCall = ({ call }) => {
    if (call === 'read') readCount++
  }
  const looks = Array.from({ length: 20 }, () => search.find(chunk, ref))
  // Enough turns for all that may read to have begun; no read ends before the world runs.
  for (let turn = 0; turn < 50; turn++) await Promise.resolve()
  expect(readCount).toBe(8)
  const found = await world.finish(Promise.all(looks))
  expect(found.every(find => find?.record.equals(record))).toBe(true)
})
