import { describe, expect, test } from 'vitest'
import { crc32 } from '../../core/base/index.ts'
import { replaceFile } from '../../core/platform/index.ts'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { encodeManifest, type Manifest, ManifestFile } from './manifest.ts'
import { rejectionOf } from './testing.ts'

function manifestOf(generation: number): Manifest {
  const sections = { noted: 'x'.repeat(100 * (1 + (generation % 3))) }
  return { generation, appliedOffset: generation * 100, cleanStop: undefined, sections }
}

async function newFolder(seed = 1): Promise<SimulatedWorld> {
  const world = new SimulatedWorld({ seed })
  await world.finish(world.outside.files.makeDirectory('/orrery'))
  await world.finish(world.outside.files.syncDirectory('/'))
  return world
}

function fileOf(world: SimulatedWorld): ManifestFile {
  return new ManifestFile(world.platform.files, '/orrery', world.platform.log)
}

describe('the manifest file', () => {
  test('is not there in a new folder', async () => {
    const world = await newFolder()
    expect(await world.finish(fileOf(world).read())).toBeUndefined()
  })

  test('holds the last one whose write ended, or the next, after every power cut', async () => {
    for (let seed = 1; seed <= 60; seed++) {
      const world = await newFolder(seed)
      const count = 1 + (seed % 4)
      for (let generation = 1; generation <= count; generation++) {
        await world.finish(fileOf(world).write(manifestOf(generation)))
      }
      const writing = fileOf(world).write(manifestOf(count + 1))
      await world.runFor((seed % 10) * 0.5)
      world.crash()
      writing.catch(() => undefined)
      const found = await world.finish(fileOf(world).read())
      const possible = [manifestOf(count), manifestOf(count + 1)]
      expect(possible).toContainEqual(found)
    }
  })

  test('names a copy that is not whole, and uses the other one', async () => {
    const world = await newFolder()
    await world.finish(fileOf(world).write(manifestOf(1)))
    await world.finish(fileOf(world).write(manifestOf(2)))
    for (const name of ['manifest-b', 'manifest-a']) {
      world.disk.flipBit(`/orrery/${name}`, 60, 1)
      expect(await world.finish(fileOf(world).read())).toEqual(manifestOf(2))
      expect(world.logLines.at(-1)).toMatchObject({
        level: 'warn',
        fields: { file: `/orrery/${name}` },
      })
    }
  })

  test('spoils no second copy when one is spoilt already', async () => {
    for (let seed = 1; seed <= 60; seed++) {
      const world = await newFolder(seed)
      const file = fileOf(world)
      await world.finish(file.write(manifestOf(1)))
      const path = seed % 2 === 0 ? /manifest-a/ : /manifest-b/
      world.faults.failNext({ call: 'write', path, error: 'STORE_FULL' })
      expect(await rejectionOf(world.finish(file.write(manifestOf(2))))).toBe('STORE_FULL')
      const writing = file.write(manifestOf(3))
      await world.runFor((seed % 10) * 0.5)
      world.crash()
      writing.catch(() => undefined)
      const found = await world.finish(fileOf(world).read())
      expect(found?.generation).toBeGreaterThanOrEqual(seed % 2 === 0 ? 1 : 2)
    }
  })

  test('is refused when neither copy is whole', async () => {
    const world = await newFolder()
    await world.finish(fileOf(world).write(manifestOf(1)))
    await world.finish(fileOf(world).write(manifestOf(2)))
    world.disk.flipBit('/orrery/manifest-a', 40, 1)
    world.disk.flipBit('/orrery/manifest-b', 0, 1)
    expect(await rejectionOf(world.finish(fileOf(world).read()))).toBe('STORE_DAMAGED')
  })

  test('is refused when a later version has written it', async () => {
    const world = await newFolder()
    const bytes = encodeManifest(manifestOf(1))
    bytes.writeUInt32BE(2, 4)
    bytes.writeUInt32BE(crc32(bytes, 0, 28), 28)
    await world.finish(replaceFile(world.outside.files, '/orrery/manifest-a', bytes))
    expect(await rejectionOf(world.finish(fileOf(world).read()))).toBe('STORE_DAMAGED')
  })

  test('is refused when a whole copy holds something else than a manifest', async () => {
    const other = ['[]', '{}', '{"appliedOffset":"1","sections":{}}', '{"appliedOffset":1', '0']
    for (const payload of other) {
      const world = await newFolder()
      await world.finish(
        replaceFile(world.outside.files, '/orrery/manifest-a', withPayload(payload)),
      )
      expect(await rejectionOf(world.finish(fileOf(world).read()))).toBe('STORE_DAMAGED')
    }
  })
})

/** A copy whose checksums match. */
function withPayload(json: string): Buffer {
  const payload = Buffer.from(json)
  const bytes = Buffer.concat([encodeManifest(manifestOf(1)).subarray(0, 32), payload])
  bytes.writeUInt32BE(payload.length, 16)
  bytes.writeUInt32BE(crc32(payload, 0, payload.length), 20)
  bytes.writeUInt32BE(crc32(bytes, 0, 28), 28)
  return bytes
}
