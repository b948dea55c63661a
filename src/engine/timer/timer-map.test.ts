import { expect, test } from 'vitest'
import { BrokerError } from '../../core/base/index.ts'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { TimerMap } from './timer-map.ts'

const KEY = Buffer.from('key')
const OTHER = Buffer.from('other')
const CHANGE = { key: KEY, value: Buffer.from('value') }

interface Scene {
  readonly world: SimulatedWorld
  readonly map: TimerMap
  openCount: number
}

/** What a call ends with: its value as text, or the code of its error. */
function endOf(call: Promise<unknown>): Promise<string> {
  return call.then(String, (error: unknown) => {
    return error instanceof BrokerError ? error.code : String(error)
  })
}

function scene(): Scene {
  const world = new SimulatedWorld({ seed: 1 })
  const open = (): ReturnType<typeof world.platform.keyValues.open> => {
    made.openCount++
    return world.platform.keyValues.open('/data/map')
  }
  const made: Scene = { world, map: new TimerMap({ open, exists: true }), openCount: 0 }
  return made
}

test('who reads or writes while it is closed, or after, is told so', async () => {
  const { world, map } = scene()
  await world.finish(map.write([CHANGE], true))
  const early = endOf(map.get(KEY))
  const closing = map.close()
  const late = [map.get(KEY), map.getMany([KEY, OTHER]), map.write([CHANGE], true)].map(endOf)
  await world.finish(closing)
  late.push(endOf(map.range(KEY, OTHER, 10)))
  expect(new Set(await world.finish(Promise.all(late)))).toEqual(new Set(['SHUTTING_DOWN']))
  expect(['value', 'SHUTTING_DOWN']).toContain(await world.finish(early))
})

test('writes that fail together open it anew once, and reads find it', async () => {
  const made = scene()
  const { world, map } = made
  await world.finish(map.write([CHANGE], true))
  world.faults.failNext({ call: 'keyValueWrite', error: 'STORE_FULL' })
  const writes = [map.write([CHANGE], true), map.write([CHANGE], true), map.write([CHANGE], true)]
  const ends = writes.map(endOf)
  const reads = Array.from({ length: 20 }, () => endOf(map.get(KEY)))
  expect(new Set(await world.finish(Promise.all(ends)))).toEqual(new Set(['STORE_FULL']))
  expect(new Set(await world.finish(Promise.all(reads)))).toEqual(new Set(['value']))
  expect(await world.finish(endOf(map.get(KEY)))).toBe('value')
  expect(made.openCount).toBe(2)
})
