import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readWholeFile } from '../../core/platform/index.ts'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { tagsCodeOf } from '../../model/message/index.ts'
import { writeAbortFile, writeApacheCheckpoint } from './apache-files.ts'
import { ConsumeQueue, PADDING_SIZE, UNIT_BYTES, UnitBlock } from './consume-queue.ts'
import { decodeManifest, encodeManifest, type Manifest } from './manifest.ts'

/** The bytes of a page's only example: what stands before two blanks. */
function exampleOf(name: string): Buffer {
  const page = readFileSync(new URL(`../../../docs/formats/${name}.md`, import.meta.url), 'utf8')
  const block = /```hex\n([^`]*)```/.exec(page)?.[1] ?? ''
  const lines = block.split('\n').map(line => /^[\da-f]+(?= {2})/.exec(line)?.[0] ?? '')
  return Buffer.from(lines.join(''), 'hex')
}

/** A file as an earlier build has written it. */
function golden(name: string): Buffer {
  return readFileSync(new URL(`../../../test/golden/store/${name}`, import.meta.url))
}

const MANIFEST: Manifest = {
  generation: 3,
  appliedOffset: 12_345,
  cleanStop: { endOffset: 12_345, exportsCrc: 305_419_896 },
  queues: { queueCount: 2, unitCount: 60, firstUnitCount: 0, logMinOffset: 0 },
  sections: { levels: { offsets: { 1: 7 } } },
}

describe('docs/formats/consume-queue.md', () => {
  test('shows units that are read as the page says', () => {
    const bytes = exampleOf('consume-queue')
    const units = new UnitBlock(bytes, bytes.length / UNIT_BYTES)
    const columns = [0, 1, 2].map(index => [
      units.commitLogOffset(index),
      units.size(index),
      units.tagsCode(index),
    ])
    expect(columns).toEqual([
      [12_345, 143, tagsCodeOf('TagA')],
      [20_000, PADDING_SIZE, 0],
      [20_000, 200, 0],
    ])
  })

  test('shows the bytes that a queue writes, and so did earlier builds', async () => {
    const world = new SimulatedWorld({ seed: 1 })
    const { files } = world.platform
    await world.finish(files.makeDirectory('/data'))
    const parts = { files, root: '/data', topic: 'T', queueId: 0, applier: undefined }
    const queue = new ConsumeQueue(parts)
    queue.appendUnit(12_345, 143, tagsCodeOf('TagA'))
    queue.appendPadding(20_000)
    queue.appendUnit(20_000, 200, tagsCodeOf(undefined))
    await world.finish(queue.writeTail())
    const file = await world.finish(readWholeFile(files, `/data/T/0/${'0'.repeat(20)}`))
    expect(file).toHaveLength(6_000_000)
    const example = exampleOf('consume-queue')
    expect(file?.subarray(0, example.length).toString('hex')).toBe(example.toString('hex'))
    expect(golden('consume-queue-units.bin').toString('hex')).toBe(example.toString('hex'))
  })
})

describe('docs/formats/manifest.md', () => {
  test('shows a manifest that is read as the page says', () => {
    expect(decodeManifest(exampleOf('manifest'))).toEqual(MANIFEST)
  })

  test('shows the bytes that are written', () => {
    expect(encodeManifest(MANIFEST).toString('hex')).toBe(exampleOf('manifest').toString('hex'))
  })

  test('is true of a manifest of an earlier build', () => {
    const { queues: _, ...earlier } = MANIFEST
    expect(decodeManifest(golden('manifest-v1.bin'))).toEqual(earlier)
  })
})

describe('docs/formats/checkpoint-and-abort.md', () => {
  test('shows the bytes that a clean stop leaves', async () => {
    const world = new SimulatedWorld({ seed: 1 })
    const { files } = world.platform
    await world.finish(files.makeDirectory('/data'))
    const state = { storeTimeMs: 1_700_000_000_005, endOffset: 12_345 }
    await world.finish(writeApacheCheckpoint(files, '/data', state))
    const bytes = await world.finish(readWholeFile(files, '/data/checkpoint'))
    const example = exampleOf('checkpoint-and-abort')
    expect(bytes?.toString('hex')).toBe(example.toString('hex').padEnd(2 * 4_096, '0'))
  })

  test('says what stands in the abort file', async () => {
    const world = new SimulatedWorld({ seed: 1 })
    const { files } = world.platform
    await world.finish(files.makeDirectory('/data'))
    await world.finish(writeAbortFile(files, '/data'))
    expect((await world.finish(readWholeFile(files, '/data/abort')))?.toString()).toBe('orrery\n')
  })
})

describe('a manifest', () => {
  test('of which any one bit is changed does not count', () => {
    const bytes = encodeManifest(MANIFEST)
    for (let index = 0; index < bytes.length * 8; index++) {
      const bad = Buffer.from(bytes)
      bad[index >> 3] = (bad[index >> 3] ?? 0) ^ (1 << (index & 7))
      // The reserved bytes and the version are under the header's checksum too.
      expect(decodeManifest(bad)).toBeUndefined()
    }
  })

  test('of which bytes are missing does not count', () => {
    const bytes = encodeManifest(MANIFEST)
    for (let length = 0; length < bytes.length; length++) {
      expect(decodeManifest(bytes.subarray(0, length))).toBeUndefined()
    }
  })
})
