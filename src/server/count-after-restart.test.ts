import { expect, test } from 'vitest'
import { type BrokerClient, connectRemoting, ScheduledMessagesClient } from '../client/index.ts'
import { loadOptions } from '../core/config/index.ts'
import { SimulatedWorld } from '../core/platform/simulated/index.ts'
import { startServer } from './start-server.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS

interface Scene {
  readonly client: BrokerClient
  readonly scheduled: ScheduledMessagesClient
}

async function served(world: SimulatedWorld): Promise<Scene> {
  const { options } = loadOptions({ flags: { data: '/data' } })
  await world.finish(startServer(options, world.platform))
  const nameserver = '127.0.0.1:9876'
  const client = await world.finish(connectRemoting({ platform: world.outside, nameserver }))
  return { client, scheduled: new ScheduledMessagesClient(client) }
}

test('what was delivered before the clock went back and the broker died is not counted', async () => {
  const world = new SimulatedWorld({ seed: 1 })
  const first = await served(world)
  for (const delayMs of [20.1, 20.2, 20.3, 20.9].map(minutes => minutes * MINUTE_MS)) {
    await world.finish(first.client.send({ topic: 'orders', delayMs, body: 'x' }))
  }
  await world.runFor(MINUTE_MS)
  world.stepClock(19.2 * MINUTE_MS)
  await world.runFor(20 * SECOND_MS)
  expect(await world.finish(first.scheduled.count({}))).toBe(1)
  world.stepClock(-15 * MINUTE_MS)
  await world.runFor(20 * SECOND_MS)
  world.kill()
  const second = await served(world)
  await world.runFor(20 * SECOND_MS)
  expect(await world.finish(second.scheduled.count({}))).toBe(1)
  await world.runFor(17 * MINUTE_MS)
  expect(await world.finish(second.scheduled.count({}))).toBe(0)
})
