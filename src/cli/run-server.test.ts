import { expect, test } from 'vitest'
import { BrokerError } from '../core/base/index.ts'
import { loadOptions } from '../core/config/index.ts'
import { SimulatedWorld } from '../core/platform/simulated/index.ts'
import { type RunningServer, startServer } from '../server/index.ts'
import { runServer } from './run-server.ts'

const ASKED = Promise.resolve()
const ignore = (): void => undefined

function start(world: SimulatedWorld): Promise<RunningServer> {
  return startServer(loadOptions({ flags: { data: '/data' } }).options, world.platform)
}

test('a stop that is asked for while starting ends the start, and lets go of the folder', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const { platform } = world
  let readyCount = 0
  const onReady = (): void => {
    readyCount++
  }
  const run = runServer({ platform, starting: start(world), stopAsked: ASKED, onReady })
  expect(await world.finish(run)).toBe(0)
  expect(readyCount).toBe(0)
  // The folder and the ports are free again.
  const again = await world.finish(start(world))
  await world.finish(again.stop())
})

test('a start that hangs is given up within 5 s of the signal', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const { platform } = world
  const starting = new Promise<RunningServer>(() => undefined)
  const startMs = world.uptimeMs
  const run = runServer({ platform, starting, stopAsked: ASKED, onReady: ignore })
  expect(await world.finish(run)).toBe(1)
  expect(world.uptimeMs - startMs).toBeLessThan(5000)
})

test('a start that fails after the signal ends with 1, and before it with its error', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const { platform } = world
  const failed = (): Promise<RunningServer> =>
    new Promise((_resolve, reject) => {
      platform.timers.after(1000, () => {
        reject(new BrokerError('STORE_LOCKED'))
      })
    })
  const asked = runServer({ platform, starting: failed(), stopAsked: ASKED, onReady: ignore })
  expect(await world.finish(asked)).toBe(1)
  const never = new Promise<void>(() => undefined)
  const unasked = runServer({ platform, starting: failed(), stopAsked: never, onReady: ignore })
  await expect(world.finish(unasked)).rejects.toMatchObject({ code: 'STORE_LOCKED' })
})
