import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InvariantError } from '../../base/index.ts'
import type { KeyValueChange, KeyValues, Platform } from '../index.ts'
import { SimulatedWorld } from './index.ts'

const FOLDER = '/data/map'
const ALL_FROM = Buffer.alloc(0)
const ALL_TO = Buffer.alloc(8, 0xff)

/** Few and short, so that they meet. */
const keys = fc.uint8Array({ maxLength: 2, max: 3 }).map(bytes => Buffer.from(bytes))
const values = fc.option(
  fc.uint8Array({ maxLength: 4 }).map(bytes => Buffer.from(bytes)),
  { nil: undefined },
)
const batches = fc.array(fc.record({ key: keys, value: values }), { maxLength: 6 })

type Step =
  | { readonly kind: 'write'; readonly changes: readonly KeyValueChange[]; durable: boolean }
  | { readonly kind: 'range'; readonly from: Buffer; readonly to: Buffer; countMax: number }
  | { readonly kind: 'get'; readonly key: Buffer }
  | { readonly kind: 'kill' }

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: writes() },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('range' as const),
        from: keys,
        to: keys,
        countMax: fc.nat(8),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('get' as const), key: keys }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('kill' as const) }) },
  ),
  { maxLength: 30 },
)

function writes(): fc.Arbitrary<Step> {
  return fc.record({
    kind: fc.constant('write' as const),
    changes: batches,
    durable: fc.boolean(),
  })
}

/** A plain map from hexadecimal, which sorts as the bytes do. */
type Model = ReadonlyMap<string, string>

function applied(model: Model, changes: readonly KeyValueChange[]): Model {
  const next = new Map(model)
  for (const { key, value } of changes) {
    if (value === undefined) next.delete(key.toString('hex'))
    else next.set(key.toString('hex'), value.toString('hex'))
  }
  return next
}

function textOf(model: Model): string {
  return [...model]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, value]) => `${key}=${value}`)
    .join(' ')
}

async function contentOf(platform: Platform): Promise<string> {
  const map = await platform.keyValues.open(FOLDER)
  const entries = await map.range(ALL_FROM, ALL_TO, 10_000)
  await map.close()
  return entries
    .map(({ key, value }) => `${key.toString('hex')}=${value.toString('hex')}`)
    .join(' ')
}

function open(world: SimulatedWorld): Promise<KeyValues> {
  return world.finish(world.platform.keyValues.open(FOLDER))
}

function putNumber(index: number): readonly KeyValueChange[] {
  const bytes = Buffer.from([index])
  // Two keys: half a batch would show.
  return [
    { key: bytes, value: bytes },
    { key: Buffer.concat([bytes, bytes]), value: bytes },
  ]
}

/** How many of the first batches of `putNumber` are there; fails when it is not the first few. */
function keptCountOf(content: string, count: number): number {
  const versions: string[] = []
  let model: Model = new Map()
  for (let index = 0; index <= count; index++) {
    versions.push(textOf(model))
    model = applied(model, putNumber(index))
  }
  expect(versions).toContain(content)
  return versions.indexOf(content)
}

/** All that can be seen of a run with failures and a power cut. */
async function traceOf(seed: number): Promise<string> {
  const world = new SimulatedWorld({ seed })
  world.faults.rates.calls.keyValueWrite = 0.1
  const map = await open(world)
  const writing = Array.from({ length: 10 }, (_, index) => map.write(putNumber(index), false))
  await world.finish(Promise.allSettled(writing))
  world.crash()
  return `${await world.finish(contentOf(world.platform))} ${world.trace}`
}

describe('the simulated key-value maps', () => {
  it('are what a plain sorted map is, across processes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), steps, async (seed, script) => {
        const world = new SimulatedWorld({ seed })
        let model: Model = new Map()
        let map = await open(world)
        for (const step of script) {
          if (step.kind === 'write') {
            await world.finish(map.write(step.changes, step.durable))
            model = applied(model, step.changes)
          } else if (step.kind === 'range') {
            const [from, to] = [step.from.toString('hex'), step.to.toString('hex')]
            const found = await world.finish(map.range(step.from, step.to, step.countMax))
            const inside = [...model.keys()].filter(key => key >= from && key < to).toSorted()
            expect(found.map(({ key }) => key.toString('hex'))).toEqual(
              inside.slice(0, step.countMax),
            )
            for (const { key, value } of found) {
              expect(value.toString('hex')).toBe(model.get(key.toString('hex')))
            }
          } else if (step.kind === 'get') {
            const value = await world.finish(map.get(step.key))
            expect(value?.toString('hex')).toBe(model.get(step.key.toString('hex')))
          } else {
            world.kill()
            map = await open(world)
          }
        }
        await world.finish(map.close())
        expect(await world.finish(contentOf(world.platform))).toBe(textOf(model))
      }),
      { numRuns: 150 },
    )
  })

  it('lose in a power cut the latest writes at most, and none up to a durable one', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.array(writes()), async (seed, script) => {
        const world = new SimulatedWorld({ seed })
        const map = await open(world)
        let model: Model = new Map()
        let possible = ['']
        for (const step of script) {
          if (step.kind !== 'write') continue
          await world.finish(map.write(step.changes, step.durable))
          model = applied(model, step.changes)
          if (step.durable) possible = []
          possible.push(textOf(model))
        }
        world.crash()
        expect(possible).toContain(await world.finish(contentOf(world.platform)))
      }),
      { numRuns: 150 },
    )
  })

  it('lose any number of the latest writes, over the seeds, and count them', async () => {
    const seen = new Set<number>()
    for (let seed = 0; seed < 100; seed++) {
      const world = new SimulatedWorld({ seed })
      const map = await open(world)
      for (let index = 0; index < 4; index++) {
        await world.finish(map.write(putNumber(index), index === 0))
      }
      world.crash()
      const keptCount = keptCountOf(await world.finish(contentOf(world.platform)), 4)
      expect(world.faults.counts().lostBatch).toBe(4 - keptCount)
      seen.add(keptCount)
    }
    expect(seen).toEqual(new Set([1, 2, 3, 4]))
  })

  it('keep whole writes when the process dies amid them, and all that were answered', async () => {
    const seen = new Set<string>()
    for (let seed = 0; seed < 300; seed++) {
      const world = new SimulatedWorld({ seed })
      const map = await open(world)
      let answeredCount = 0
      const work = async (): Promise<void> => {
        for (let index = 0; index < 5; index++) {
          await map.write(putNumber(index), true)
          answeredCount++
        }
      }
      void work()
      await world.runFor((seed % 30) / 10)
      const answered = answeredCount
      if (seed % 2 === 0) world.kill()
      else world.crash()
      const keptCount = keptCountOf(await world.finish(contentOf(world.platform)), 5)
      expect(keptCount === answered || keptCount === answered + 1).toBe(true)
      expect(answeredCount).toBe(answered)
      seen.add(`${seed % 2} ${keptCount - answered}`)
    }
    expect([...seen].toSorted()).toEqual(['0 0', '0 1', '1 0', '1 1'])
  })

  it('may have a write that failed once they are opened again, and refuse all until then', async () => {
    const seen = new Set<number>()
    for (let seed = 0; seed < 40; seed++) {
      const world = new SimulatedWorld({ seed })
      const map = await open(world)
      await world.finish(map.write(putNumber(0), true))
      world.faults.failNext({ call: 'keyValueWrite', path: /map/, error: 'STORE_FULL' })
      for (const index of [1, 2]) {
        const writing = world.finish(map.write(putNumber(index), false))
        await expect(writing).rejects.toMatchObject({ code: 'STORE_FULL' })
      }
      expect(await world.finish(map.get(Buffer.from([1])))).toBeUndefined()
      await world.finish(map.close())
      seen.add(keptCountOf(await world.finish(contentOf(world.platform)), 2))
      expect(world.faults.counts().failedKeyValueWrite).toBe(1)
    }
    expect(seen).toEqual(new Set([1, 2]))
  })

  it('fail when they are told to, and go on reading after that', async () => {
    const world = new SimulatedWorld({ seed: 3 })
    world.faults.failNext({ call: 'keyValueOpen', error: 'STORE_DAMAGED' })
    await expect(open(world)).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
    const map = await open(world)
    world.faults.failNext({ call: 'keyValueRead', error: 'STORE_FAILED', count: 2 })
    const reading = [map.get(ALL_FROM), map.range(ALL_FROM, ALL_TO, 1)]
    const outcomes = await world.finish(Promise.allSettled(reading))
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await world.finish(map.get(ALL_FROM))).toBeUndefined()
    expect(world.faults.counts()).toMatchObject({ failedCall: 1, failedKeyValueRead: 2 })
  })

  it('take room on the disk, and are refused what does not fit', async () => {
    const world = new SimulatedWorld({ seed: 4 })
    let map = await open(world)
    world.disk.capacityBytes = 3 * 4096
    await world.finish(map.write([{ key: ALL_TO, value: Buffer.alloc(6_000) }], false))
    expect(world.disk.usedBytes()).toBe(2 * 4096)
    const more = [{ key: ALL_FROM, value: Buffer.alloc(6_000) }]
    const refused = world.finish(map.write(more, false))
    await expect(refused).rejects.toMatchObject({ code: 'STORE_FULL' })
    expect(world.faults.counts().diskFull).toBe(1)
    world.disk.capacityBytes = 8 * 4096
    await world.finish(map.close())
    map = await open(world)
    await world.finish(map.write(more, false))
    expect(world.disk.usedBytes()).toBe(3 * 4096)
  })

  it('belong to a process until it ends, and answer no dead one', async () => {
    const world = new SimulatedWorld({ seed: 5 })
    const map = await open(world)
    const second = world.finish(world.outside.keyValues.open(FOLDER))
    await expect(second).rejects.toMatchObject({ code: 'STORE_LOCKED' })
    let settledCount = 0
    const count = (): void => {
      settledCount++
    }
    const before = [map.get(ALL_FROM), map.write(putNumber(1), false)]
    world.kill()
    const after = [map.get(ALL_FROM), map.write(putNumber(2), true), map.close()]
    for (const call of [...before, ...after]) call.then(count, count)
    const outside = await world.finish(world.outside.keyValues.open(FOLDER))
    expect(await world.finish(outside.get(Buffer.from([2])))).toBeUndefined()
    expect(settledCount).toBe(0)
  })

  it('stop a caller that changes bytes while they are written', async () => {
    const world = new SimulatedWorld({ seed: 6 })
    const map = await open(world)
    const key = Buffer.from('before')
    void map.write([{ key, value: undefined }], false)
    key.fill(0)
    await expect(world.run(() => false)).rejects.toBeInstanceOf(InvariantError)
  })

  it('make the same run of the same seed', async () => {
    expect(await traceOf(1)).toBe(await traceOf(1))
    expect(await traceOf(1)).not.toBe(await traceOf(2))
  })
})
