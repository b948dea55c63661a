import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeDurableDirectory, readWholeFile } from '../../core/platform/index.ts'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { PagePool } from './page-pool.ts'
import { StagedFile } from './staged-file.ts'

const actions = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('append' as const),
      sizeBytes: fc.integer({ min: 1, max: 40_000 }),
    }),
    fc.record({
      kind: fc.constant('change' as const),
      place: fc.double({ min: 0, max: 0.999, noNaN: true }),
    }),
    fc.record({ kind: fc.constant('write' as const) }),
    fc.record({ kind: fc.constant('sync' as const) }),
    fc.record({
      kind: fc.constant('read' as const),
      place: fc.double({ min: 0, max: 0.999, noNaN: true }),
    }),
  ),
  { maxLength: 40 },
)

async function written(file: StagedFile): Promise<void> {
  await file.write()
  await file.writeChanges()
  await file.sync()
}

test('a file with changed bytes reads as if it were all in memory, and is so on the disk', async () => {
  await fc.assert(
    fc.asyncProperty(actions, fc.nat(), async (all, seed) => {
      const world = new SimulatedWorld({ seed })
      await world.finish(makeDurableDirectory(world.platform.files, '/data'))
      const pool = new PagePool()
      const { files } = world.platform
      const file = new StagedFile({ files, pool, path: '/data/a', sizeBytes: 0 })
      let expected = Buffer.alloc(0)
      for (const action of all) {
        if (action.kind === 'append') {
          const bytes = Buffer.alloc(action.sizeBytes, expected.length % 251)
          const place = file.reserve(bytes.length)
          bytes.copy(place.bytes, place.position)
          expected = Buffer.concat([expected, bytes])
        } else if (action.kind === 'change' && expected.length > 0) {
          const position = Math.floor(action.place * expected.length)
          file.change(position, 0xff)
          expected[position] = 0xff
        } else if (action.kind === 'write') {
          // Others go on while it is written.
          void file.write()
        } else if (action.kind === 'sync') {
          file.freezeChanges()
          await world.finish(written(file))
          expect(file.isDurable).toBe(true)
        } else if (action.kind === 'read' && expected.length > 0) {
          const position = Math.floor(action.place * expected.length)
          const target = Buffer.alloc(Math.min(5_000, expected.length - position))
          await world.finish(file.read(target, position))
          expect(target.equals(expected.subarray(position, position + target.length))).toBe(true)
        }
      }
      file.freezeChanges()
      await world.finish(written(file))
      await world.finish(files.syncDirectory('/data'))
      expect(pool.stagedBytes + pool.changedBytes).toBe(0)
      world.crash()
      const onDisk = await world.finish(readWholeFile(world.outside.files, '/data/a'))
      if (expected.length > 0) expect(onDisk?.equals(expected)).toBe(true)
    }),
    { numRuns: 60 },
  )
})
