import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Files, Platform } from '../index.ts'
import { readWholeFile, replaceFile } from '../index.ts'
import { SimulatedWorld } from './index.ts'

const FILE = '/data/log'
const SECTOR_BYTES = 512

type Step =
  | { readonly kind: 'write'; readonly position: number; readonly length: number }
  | { readonly kind: 'truncate'; readonly sizeBytes: number }
  | { readonly kind: 'sync' }

const steps = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('write' as const),
      position: fc.nat(20_000),
      length: fc.integer({ min: 1, max: 9_000 }),
    }),
    fc.record({ kind: fc.constant('truncate' as const), sizeBytes: fc.nat(20_000) }),
    fc.record({ kind: fc.constant('sync' as const) }),
  ),
  { maxLength: 12 },
)

async function prepare(files: Files): Promise<void> {
  await files.makeDirectory('/data')
  await files.syncDirectory('/')
}

/** What a byte-exact model of the file is after a step. */
function applied(content: Buffer, step: Step, fill: number): Buffer {
  if (step.kind === 'sync') return content
  const sizeBytes =
    step.kind === 'truncate'
      ? step.sizeBytes
      : Math.max(content.length, step.position + step.length)
  const next = Buffer.alloc(sizeBytes)
  content.copy(next)
  if (step.kind === 'write') next.fill(fill, step.position, step.position + step.length)
  return next
}

/** Performs the steps; returns the content at the last sync, at the end, and all after the sync. */
async function perform(
  { files }: Platform,
  script: readonly Step[],
): Promise<{ synced: Buffer; written: Buffer; versions: readonly Buffer[] }> {
  await prepare(files)
  const file = await files.open(FILE, 'write')
  await files.syncDirectory('/data')
  let written: Buffer = Buffer.alloc(0)
  let synced = written
  let versions: Buffer[] = [written]
  for (const [index, step] of script.entries()) {
    if (step.kind === 'truncate') await file.truncate(step.sizeBytes)
    else if (step.kind === 'sync') await file.datasync()
    else await file.write([Buffer.alloc(step.length, index + 1)], step.position)
    written = applied(written, step, index + 1)
    if (step.kind === 'sync') {
      synced = written
      versions = []
    }
    versions.push(written)
  }
  return { synced, written, versions }
}

/** All that can be seen of a run with failures and a power cut. */
async function trace(seed: number): Promise<string> {
  const world = new SimulatedWorld({ seed })
  world.faults.rates.calls.write = 0.2
  const script = Array.from({ length: 20 }, (_, index) => {
    return { kind: 'write', position: index * 100, length: 150 } as const
  })
  await world.finish(perform(world.platform, script).catch(() => undefined))
  world.crash()
  const content = await world.finish(readWholeFile(world.platform.files, FILE))
  const { random } = world.platform
  return [world.trace, content?.toString('hex'), random.below(1_000_000)].join(' ')
}

describe('the simulated disk', () => {
  it('keeps exactly what was written when the process is killed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), steps, async (seed, script) => {
        const world = new SimulatedWorld({ seed })
        const { written } = await world.finish(perform(world.platform, script))
        world.kill()
        const content = await world.finish(readWholeFile(world.platform.files, FILE))
        expect(content?.equals(written)).toBe(true)
      }),
      { numRuns: 60 },
    )
  })

  it('keeps what was synced when the power is cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), steps, async (seed, script) => {
        const world = new SimulatedWorld({ seed })
        const { synced } = await world.finish(
          perform(world.platform, [...script, { kind: 'sync' }]),
        )
        world.crash()
        const content = await world.finish(readWholeFile(world.platform.files, FILE))
        expect(content?.equals(synced)).toBe(true)
      }),
      { numRuns: 60 },
    )
  })

  it('makes each byte after a power cut one that was there since the last sync, or 0', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), steps, async (seed, script) => {
        const world = new SimulatedWorld({ seed })
        const { versions } = await world.finish(perform(world.platform, script))
        world.crash()
        const content = await world.finish(readWholeFile(world.platform.files, FILE))
        const longest = Math.max(...versions.map(({ length }) => length))
        expect(content?.length).toBeLessThanOrEqual(longest)
        for (const [position, byte] of (content ?? Buffer.alloc(0)).entries()) {
          const possible = byte === 0 || versions.some(version => version[position] === byte)
          if (!possible) expect.fail(`byte ${position} is ${byte}, which nothing has written`)
        }
      }),
      { numRuns: 60 },
    )
  })

  it('tears at sectors only, and shows every fate of an unsynced write over the seeds', async () => {
    const fates = new Set<string>()
    for (let seed = 0; seed < 200; seed++) {
      const world = new SimulatedWorld({ seed })
      const write = { kind: 'write', position: 700, length: 4 * SECTOR_BYTES } as const
      await world.finish(perform(world.platform, [write]))
      world.crash()
      const content = await world.finish(readWholeFile(world.platform.files, FILE))
      const image = Buffer.alloc(6 * SECTOR_BYTES)
      content?.copy(image)
      const expected = Buffer.alloc(6 * SECTOR_BYTES)
      expected.fill(1, 700, 700 + 4 * SECTOR_BYTES)
      let keptCount = 0
      for (let sector = 0; sector < 6; sector++) {
        const [start, end] = [sector * SECTOR_BYTES, (sector + 1) * SECTOR_BYTES]
        const bytes = image.subarray(start, end)
        const kept = bytes.equals(expected.subarray(start, end))
        expect(kept || bytes.every(byte => byte === 0)).toBe(true)
        if (kept && bytes.includes(1)) keptCount++
      }
      fates.add(keptCount === 0 ? 'lost' : keptCount === 5 ? 'kept' : 'torn')
    }
    expect([...fates].toSorted()).toEqual(['kept', 'lost', 'torn'])
  })

  it('keeps a later write and loses an earlier one in some seeds', async () => {
    const seen = new Set<string>()
    for (let seed = 0; seed < 200; seed++) {
      const world = new SimulatedWorld({ seed })
      const script = [0, 1, 2].map(index => {
        return { kind: 'write', position: index * SECTOR_BYTES, length: SECTOR_BYTES } as const
      })
      await world.finish(perform(world.platform, script))
      world.crash()
      const content = await world.finish(readWholeFile(world.platform.files, FILE))
      const kept = [0, 1, 2].map(index => ((content?.[index * SECTOR_BYTES] ?? 0) > 0 ? 1 : 0))
      seen.add(kept.join(''))
    }
    // All eight subsets, not only the prefixes.
    expect(seen.size).toBe(8)
  })

  it('makes a replacement atomic, and durable once it has returned', async () => {
    const seen = new Set<string>()
    for (let seed = 0; seed < 300; seed++) {
      const world = new SimulatedWorld({ seed })
      const { files } = world.platform
      await world.finish(prepare(files))
      await world.finish(replaceFile(files, '/data/a', Buffer.from('old')))
      let replaced = false
      const replacing = replaceFile(files, '/data/a', Buffer.alloc(3_000, 'new')).then(() => {
        replaced = true
        return replaced
      })
      void replacing
      await world.runFor((seed % 60) / 10)
      if (seed % 3 === 0) world.kill()
      else world.crash()
      const content = await world.finish(readWholeFile(world.platform.files, '/data/a'))
      const text = content?.toString() ?? 'missing'
      if (replaced) expect(text).toBe('new'.repeat(1_000))
      expect(['old', 'new'.repeat(1_000)]).toContain(text)
      seen.add(`${text.slice(0, 3)} ${replaced}`)
    }
    expect([...seen].toSorted()).toEqual(['new false', 'new true', 'old false'])
  })

  it('loses names that were not synced in some seeds, and never those that were', async () => {
    const seen = new Set<string>()
    for (let seed = 0; seed < 100; seed++) {
      const world = new SimulatedWorld({ seed })
      const { files } = world.platform
      await world.finish(prepare(files))
      const work = async (): Promise<void> => {
        for (const name of ['kept', 'removed', 'first']) {
          await (await files.open(`/data/${name}`, 'write')).close()
        }
        await files.syncDirectory('/data')
        await (await files.open('/data/created', 'write')).close()
        await files.remove('/data/removed')
        await files.rename('/data/first', '/data/second')
        await files.rename('/data/second', '/data/third')
      }
      await world.finish(work())
      world.crash()
      const names = await world.finish(world.platform.files.list('/data'))
      expect(names).toContain('kept')
      const renamed = names.filter(name => ['first', 'second', 'third'].includes(name))
      expect(renamed).toHaveLength(1)
      for (const name of names) seen.add(name)
      if (!names.includes('created')) seen.add('not created')
      if (!names.includes('removed')) seen.add('not there')
    }
    const expected = ['created', 'first', 'kept', 'not created', 'not there', 'removed', 'second']
    expect([...seen].toSorted()).toEqual([...expected, 'third'])
  })

  it('makes the same run of the same seed, and another of another', async () => {
    const traces = await Promise.all([trace(1), trace(1), trace(2), trace(2)])
    expect(traces[0]).toBe(traces[1])
    expect(traces[2]).toBe(traces[3])
    expect(traces[0]).not.toBe(traces[2])
  })
})
