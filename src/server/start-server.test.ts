import { expect, test } from 'vitest'
import { loadOptions } from '../core/config/index.ts'
import type { Platform } from '../core/platform/index.ts'
import { SimulatedWorld } from '../core/platform/simulated/index.ts'
import { startServer } from './start-server.ts'

test('a disk that fails before the doors are open ends the broker nevertheless', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const { options } = loadOptions({ flags: { data: '/data' } })
  const { network, timers } = world.platform
  let listenCount = 0
  const platform: Platform = {
    ...world.platform,
    network: {
      connect: address => network.connect(address),
      listen: async (address, onConnection) => {
        listenCount++
        if (listenCount > 1) await slowly()
        return network.listen(address, onConnection)
      },
    },
  }
  // The engine runs by then, and a checkpoint fails that nobody is there to hear of.
  const slowly = (): Promise<void> => {
    world.faults.failNext({ call: 'datasync', path: /manifest/, error: 'STORE_FAILED' })
    return new Promise(resolve => {
      timers.after(60_000, resolve)
    })
  }
  const server = await world.finish(startServer(options, platform))
  const failure = await world.finish(server.failed)
  expect(failure.code).toBe('STORE_FAILED')
})
