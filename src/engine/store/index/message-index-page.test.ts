import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../../core/platform/simulated/index.ts'
import { flushed, STORE_OPTIONS } from '../testing.ts'
import {
  APACHE_GEOMETRY,
  decodeIndexHeader,
  encodeIndexHeader,
  indexFileBytes,
  itemPosition,
  slotPosition,
} from './index-layout.ts'
import { sendKeyed, startIndexed } from './testing.ts'

/** Pieces of the page's example: `position: bytes`, and what stands behind two blanks. */
function examplePieces(): readonly { readonly position: number; readonly bytes: Buffer }[] {
  const path = '../../../../docs/formats/message-index.md'
  const page = readFileSync(new URL(path, import.meta.url), 'utf8')
  const block = /```hex\n([^`]*)```/.exec(page)?.[1] ?? ''
  return Array.from(block.matchAll(/^ *(\d+): ([\da-f]+)(?= {2})/gm), ([, position, hex = '']) => ({
    position: Number(position),
    bytes: Buffer.from(hex, 'hex'),
  }))
}

/** As the first store of a world sends it: record by record, ten seconds apart. */
async function exampleFile(): Promise<Buffer> {
  const startTimeMs = 1_700_000_000_005
  const world = new SimulatedWorld({ seed: 1, startTimeMs })
  const scene = await startIndexed(world, { geometry: APACHE_GEOMETRY })
  const offsets: number[] = []
  for (const after of [1_000, 11_500, 12_000]) {
    await world.runFor(startTimeMs + after - world.platform.clock.timeMs())
    offsets.push(sendKeyed(scene, { uniqueKey: `u${offsets.length}`, keys: 'k1' }))
    await flushed(world, scene.store)
  }
  await world.finish(scene.store.stop())
  const directory = `${STORE_OPTIONS.directory}/index`
  const [name = ''] = await world.finish(world.outside.files.list(directory))
  const file = await world.finish(world.outside.files.open(`${directory}/${name}`, 'read'))
  expect(await world.finish(world.outside.files.sizeOf(`${directory}/${name}`))).toBe(420_000_040)
  const head = Buffer.alloc(itemPosition(APACHE_GEOMETRY, 8))
  await world.finish(file.read(head, 0))
  return head
}

test('docs/formats/message-index.md shows the bytes that are written', async () => {
  const file = await exampleFile()
  const pieces = examplePieces()
  expect(pieces.length).toBeGreaterThan(30)
  const expected = Buffer.alloc(file.length)
  for (const { position, bytes } of pieces) bytes.copy(expected, position)
  // Every other byte is zero.
  const differs: string[] = []
  for (let at = 0; at < file.length; at += 4) {
    if (file.readUInt32BE(at) !== expected.readUInt32BE(at)) {
      differs.push(`${at}: ${file.toString('hex', at, at + 4)}`)
    }
  }
  expect(differs).toEqual([])
})

test('the places of a file are those of Apache RocketMQ', () => {
  expect(indexFileBytes(APACHE_GEOMETRY)).toBe(420_000_040)
  // The key k1 of TopicTest has the hash 2746024, which is its slot too.
  expect(slotPosition(2_746_024)).toBe(10_984_136)
  expect(itemPosition(APACHE_GEOMETRY, 1)).toBe(20_000_060)
})

test('a header is read as it was written, and an empty one of Apache as empty', () => {
  const header = {
    beginTimeMs: 1_700_000_000_005,
    endTimeMs: 1_700_000_012_005,
    beginOffset: 0,
    endOffset: 2 ** 45,
    usedSlotCount: 4,
    nextItem: 7,
  }
  expect(decodeIndexHeader(encodeIndexHeader(header))).toEqual(header)
  expect(decodeIndexHeader(Buffer.alloc(40)).nextItem).toBe(1)
})
