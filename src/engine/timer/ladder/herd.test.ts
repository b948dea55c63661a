import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../../core/platform/simulated/index.ts'
import { type Accepted, mistakes, TestBroker, timerFiles } from '../testing.ts'

const MIB = 1024 * 1024
const HOUR_MS = 3_600_000
const STEP_BYTES = MIB
const BODY_BYTES = 12_000
const FILE_COUNT = 24
const COUNT_PER_FILE = 90
const LIMITS = {
  store: { cacheBytes: 8 * MIB, unappliedBytesMax: 4 * MIB },
  timers: { windowBytesMax: MIB },
}

function nowOf(world: SimulatedWorld): number {
  return world.platform.clock.timeMs()
}

test('a millisecond of many files is read once, in order, in bounded memory', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  let broker = await TestBroker.open(world, LIMITS)
  const deliverTimeMs = Math.ceil(nowOf(world) / HOUR_MS + 4) * HOUR_MS
  const accepted: Accepted[] = []
  for (let file = 0; file < FILE_COUNT; file++) {
    for (let index = 0; index < COUNT_PER_FILE; index++) {
      const key = accepted.length
      accepted.push(broker.accept({ key, deliverTimeMs, bodyBytes: BODY_BYTES }))
    }
    await world.finish(broker.store.whenApplied(broker.store.endOffset - 1))
    // Each start closes the files that are there.
    await broker.stop()
    broker = await TestBroker.open(world, LIMITS)
  }
  expect(await timerFiles(world)).toHaveLength(FILE_COUNT)
  let fileBytes = 0
  for (const path of await timerFiles(world)) {
    fileBytes += (await world.finish(world.outside.files.sizeOf(path))) ?? 0
  }
  let readBytes = 0
  let loadedBytesMost = 0
  let stagedBytesMost = 0
  world.faults.onCall = ({ call, path, sizeBytes }) => {
    if (call === 'read' && path.includes('/ladder/')) readBytes += sizeBytes
    const { loadedBytes, stagedBytes } = broker.timers.statistics()
    loadedBytesMost = Math.max(loadedBytesMost, loadedBytes)
    stagedBytesMost = Math.max(stagedBytesMost, stagedBytes)
  }
  world.stepClock(deliverTimeMs - 12_000 - nowOf(world))
  await world.runFor(30_000)
  const published = await broker.published()
  expect(mistakes(accepted, published)).toEqual([])
  expect(published.map(({ key }) => key)).toEqual(accepted.map(({ key }) => key))
  expect(fileBytes).toBeGreaterThan(20 * STEP_BYTES)
  // Of a step the last record, which is cut off, is read again with the next one.
  expect(readBytes).toBeLessThan(fileBytes * 1.05)
  expect(loadedBytesMost).toBeLessThanOrEqual(LIMITS.timers.windowBytesMax + 3 * STEP_BYTES)
  expect(stagedBytesMost).toBe(0)
  await world.runFor(10_000)
  expect(await timerFiles(world)).toEqual([])
  await broker.stop()
}, 60_000)
