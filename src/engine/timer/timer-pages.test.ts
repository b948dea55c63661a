import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readWholeFile } from '../../core/platform/index.ts'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { decodeRecord } from '../../model/message/index.ts'
import { sealedRecord } from '../../model/message/testing.ts'
import { Chunk, CHUNK_HEADER_BYTES } from './chunk.ts'
import { readChunk } from './chunk-reader.ts'
import { DelayOffsetsFile } from './levels/delay-offsets-file.ts'
import { PagePool } from './page-pool.ts'
import { TestBroker } from './testing.ts'
import { timerDeliverTimeMs, timerIdOf, timerRecordStart } from './timer-record.ts'

function pageOf(name: string): string {
  return readFileSync(new URL(`../../../docs/formats/${name}.md`, import.meta.url), 'utf8')
}

/** The bytes of the example: what stands in hex before the words of each line. */
function exampleOf(name: string): Buffer {
  const block = /```hex\n([^`]*)```/.exec(pageOf(name))?.[1] ?? ''
  return Buffer.concat(block.split('\n').map(bytesOfLine))
}

function bytesOfLine(line: string): Buffer {
  const hex = /^(?:[\da-f]{2})+(?: (?:[\da-f]{2})+(?= ))*/.exec(line)?.[0] ?? ''
  return Buffer.from(hex.replaceAll(' ', ''), 'hex')
}

async function worldWith(path: string, content: Buffer): Promise<SimulatedWorld> {
  const world = new SimulatedWorld({ seed: 1 })
  const { files } = world.outside
  const write = async (): Promise<void> => {
    await files.makeDirectory('/data')
    const file = await files.open(path, 'write')
    await file.write([content], 0)
    await file.close()
  }
  await world.finish(write())
  return world
}

describe('docs/formats/timer-chunk.md', () => {
  test('shows a chunk that is read as the page says', async () => {
    const example = exampleOf('timer-chunk')
    const world = await worldWith('/data/a', example)
    const section = {
      number: 5,
      sizeBytes: example.length,
      count: 1,
      dueMinMs: 1_800_000_000_000,
      dueMaxMs: 1_800_000_000_000,
      doneBytes: CHUNK_HEADER_BYTES,
      doneCount: 0,
      removedCount: 0,
      removedBytes: 0,
      timerIdMin: 12_345,
    }
    const place = { path: '/data/a', section }
    const chunk = await world.finish(Chunk.load(world.platform, new PagePool(), place))
    const seen: unknown[] = []
    const visitor = {
      record: (source: Buffer, at: number): void => {
        const { topic, body } = decodeRecord(source, timerRecordStart(at))
        const deliverTimeMs = timerDeliverTimeMs(source, at)
        seen.push({ deliverTimeMs, timerId: timerIdOf(source, at), topic, body: body.toString() })
      },
    }
    const range = { position: CHUNK_HEADER_BYTES, bytesMax: 1024 }
    await world.finish(readChunk(chunk, range, { visitor, log: world.platform.log }))
    expect(seen).toEqual([
      { deliverTimeMs: 1_800_000_000_000, timerId: 12_345, topic: 'TopicTest', body: 'hello' },
    ])
    expect(world.logLines).toEqual([])
  })

  test('shows the bytes that we write for that message', async () => {
    const world = await worldWith('/data/other', Buffer.alloc(1))
    const place = { path: '/data/a', number: 5 }
    const chunk = Chunk.create(world.platform.files, new PagePool(), place)
    const record = sealedRecord({})
    const header = { deliverTimeMs: 1_800_000_000_000, timerId: 12_345 }
    chunk.append(header, record, 0, record.length)
    await world.finish(chunk.file.write())
    const bytes = await world.finish(readWholeFile(world.outside.files, '/data/a'))
    expect(bytes?.toString('hex')).toBe(exampleOf('timer-chunk').toString('hex'))
  })

  test('names what the manifest holds of the timers', async () => {
    const world = new SimulatedWorld({ seed: 1 })
    let broker = await TestBroker.open(world, {}, sink => sink.refused.add('Target'))
    const { clock } = world.platform
    broker.accept({ key: 1, deliverTimeMs: clock.timeMs() + 10 })
    broker.accept({ key: 2, deliverTimeMs: clock.timeMs() + 3_600_000 })
    await world.runFor(1_000)
    await broker.stop()
    broker = await TestBroker.open(world)
    const page = pageOf('timer-chunk')
    const names = new Set(['ladder', 'parked', 'levels', 'fired', 'removed'])
    const collect = (value: unknown): void => {
      if (Array.isArray(value)) for (const item of value) collect(item)
      else if (typeof value === 'object' && value !== null) {
        for (const [name, part] of Object.entries(value)) {
          if (!/^\d+$/.test(name)) names.add(name)
          collect(part)
        }
      }
    }
    for (const name of ['ladder', 'parked', 'levels', 'fired', 'removed'])
      collect(broker.store.section(name))
    expect(names.size).toBeGreaterThan(15)
    expect([...names].filter(name => !page.includes(`\`${name}\``))).toEqual([])
  })
})

describe('docs/formats/delay-offset.md', () => {
  test('shows a file that is read as the page says', async () => {
    const world = await worldWith('/data/delayOffset.json', exampleOf('delay-offset'))
    const file = new DelayOffsetsFile(world.platform.files, '/data/delayOffset.json')
    const expected = new Map([
      [1, 3],
      [3, 0],
    ])
    expect(await world.finish(file.read())).toEqual(expected)
  })

  test('shows the bytes that we write', async () => {
    const world = await worldWith('/data/other', Buffer.alloc(1))
    const path = '/data/delayOffset.json'
    const offsets = new Map([
      [1, 3],
      [3, 0],
    ])
    await world.finish(new DelayOffsetsFile(world.platform.files, path).write(offsets))
    const bytes = await world.finish(readWholeFile(world.outside.files, path))
    expect(bytes?.toString()).toBe(exampleOf('delay-offset').toString())
  })

  test.each([
    ['', {}],
    ['{}', {}],
    ['not json', {}],
    ['{"offsetTable":{}}', {}],
    ['{"offsetTable":{"1":5,"18":7},"dataVersion":{"counter":2}}', { 1: 5, 18: 7 }],
    ['{\n\t"dataVersion":{"counter":2},\n\t"offsetTable":{2:1\n\t}\n}', { 2: 1 }],
  ])('a file with %j is read as %j', async (content, offsets) => {
    const world = await worldWith('/data/delayOffset.json', Buffer.from(content))
    const file = new DelayOffsetsFile(world.platform.files, '/data/delayOffset.json')
    const found = await world.finish(file.read())
    expect(Object.fromEntries(found)).toEqual(offsets)
  })
})
