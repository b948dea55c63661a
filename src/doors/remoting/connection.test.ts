import { expect, test } from 'vitest'
import { InvariantError } from '../../core/base/index.ts'
import type { Clock } from '../../core/platform/index.ts'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { encodeFrame } from '../../model/wire/index.ts'
import { WireClient } from '../../../test/support/remoting-world.ts'
import type { FrameHandler } from './connection.ts'
import { FramedServer, SERVER_LIMITS } from './framed-server.ts'
import { MemoryBudget } from './memory-budget.ts'

const REQUEST = encodeFrame({ code: 1, opaque: 1, flag: 0 })

class ServerWorld {
  readonly world: SimulatedWorld = new SimulatedWorld({ seed: 1 })
  #port = 0

  async listen(
    handle: Partial<FrameHandler>,
    clock: Clock = this.world.platform.clock,
  ): Promise<void> {
    const { network, timers, log } = this.world.platform
    const handler: FrameHandler = {
      onFrame: () => undefined,
      onChunkEnd: () => undefined,
      onDrain: () => undefined,
      onClose: () => undefined,
      ...handle,
    }
    const budget = new MemoryBudget()
    const parts = { network, clock, timers, log, budget, handler, limits: SERVER_LIMITS }
    const server = new FramedServer(parts)
    const { port } = await this.world.finish(server.listen({ host: '127.0.0.1', port: 0 }))
    this.#port = port
  }

  async connect(): Promise<WireClient> {
    const address = { host: '127.0.0.1', port: this.#port, timeoutMs: 1000 }
    const { network } = this.world.outside
    return new WireClient(await this.world.finish(network.connect(address)), this.world)
  }
}

test('an error that nobody foresaw closes its connection, and the log has where it was', async () => {
  const servers = new ServerWorld()
  await servers.listen({
    onFrame: () => {
      throw new RangeError('Maximum call stack size exceeded')
    },
  })
  const other = await servers.connect()
  for (let count = 0; count < 3; count++) {
    const client = await servers.connect()
    client.write(REQUEST)
    await client.untilClosed()
    expect(client.isClosed).toBe(true)
  }
  expect(other.isClosed).toBe(false)
  const lines = servers.world.logLines.filter(({ level }) => level === 'error')
  expect(lines).toHaveLength(1)
  expect(JSON.stringify(lines[0], errorStack)).toContain('connection.test.ts')
})

test('a broken invariant of ours is not held up', async () => {
  const servers = new ServerWorld()
  await servers.listen({
    onFrame: () => {
      throw new InvariantError('broken')
    },
  })
  const client = await servers.connect()
  client.write(REQUEST)
  await expect(client.untilClosed()).rejects.toThrow(InvariantError)
})

test('a connection whose frames take long lets others have their turn', async () => {
  const servers = new ServerWorld()
  const { clock } = servers.world.platform
  let uptimeMs = 0
  // As if each look at the clock came 2 ms after the last.
  const slow = { timeMs: () => clock.timeMs(), uptimeMs: () => (uptimeMs += 2) }
  const turns: number[] = []
  let frames = 0
  await servers.listen(
    {
      onFrame: () => {
        frames++
      },
      onChunkEnd: () => {
        turns.push(frames)
        frames = 0
      },
    },
    slow,
  )
  const client = await servers.connect()
  client.write(Buffer.concat(Array.from({ length: 1000 }, () => REQUEST)))
  const sum = (): number => turns.reduce((total, count) => total + count, 0)
  await servers.world.run(() => sum() === 1000)
  expect(sum()).toBe(1000)
  expect(Math.max(...turns)).toBeLessThanOrEqual(48)
})

function errorStack(_name: string, value: unknown): unknown {
  return value instanceof Error ? value.stack : value
}
