import { expect, test } from 'vitest'
import { BrokerError } from '../../core/base/index.ts'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import { ONEWAY_FLAG } from '../../model/wire/index.ts'
import { WireClient } from '../../../test/support/remoting-world.ts'
import { FramedServer, SERVER_LIMITS } from './framed-server.ts'
import { MemoryBudget } from './memory-budget.ts'
import type { Reply, Request } from './processor.ts'
import { RequestFrames } from './request-frames.ts'

async function served(
  handle: (request: Request) => Reply | Promise<Reply>,
): Promise<{ world: SimulatedWorld; server: FramedServer; client: WireClient }> {
  const world = new SimulatedWorld({ seed: 1 })
  const { network, clock, timers, log } = world.platform
  const handler = new RequestFrames(handle, log)
  const budget = new MemoryBudget()
  const parts = { network, clock, timers, log, budget, handler, limits: SERVER_LIMITS }
  const server = new FramedServer(parts)
  const { port } = await world.finish(server.listen({ host: '127.0.0.1', port: 0 }))
  const address = { host: '127.0.0.1', port, timeoutMs: 1000 }
  const socket = await world.finish(world.outside.network.connect(address))
  return { world, server, client: new WireClient(socket, world) }
}

test('a handler sees header and body, and its reply comes back under the same number', async () => {
  const { client } = await served(({ header, body }) => ({
    code: 0,
    remark: header.extFields['name'] ?? '',
    body: Buffer.from(String(body).toUpperCase()),
  }))
  const request = { code: 105, opaque: 77, extFields: { name: 'x' } }
  const answer = await client.ask(request, Buffer.from('abc'))
  expect(answer?.header).toMatchObject({ code: 0, opaque: 77, flag: 1, remark: 'x' })
  expect(String(answer?.body)).toBe('ABC')
})

test('a large body and a binary header arrive whole', async () => {
  const body = Buffer.alloc(100_000, 'x')
  const { client } = await served(() => Promise.resolve({ code: 0, body }))
  const answer = await client.ask({ code: 105 }, undefined, 1)
  expect(answer?.header.serializeType).toBe(1)
  expect(answer?.body.equals(body)).toBe(true)
})

test('what a handler throws becomes its code, and a one-way request gets nothing', async () => {
  const { client } = await served(() => {
    throw new BrokerError('TOPIC_NOT_FOUND', { topic: 'x' })
  })
  client.send({ code: 105, opaque: 1, flag: ONEWAY_FLAG })
  const answer = await client.ask({ code: 105, opaque: 2 })
  expect(answer?.header.code).toBe(17)
  expect(client.received).toHaveLength(1)
})

test('stopping closes what is idle', async () => {
  const { world, server, client } = await served(() => ({ code: 0 }))
  await client.ask({ code: 105 })
  await world.finish(server.stop())
  await client.untilClosed()
  expect(client.isClosed).toBe(true)
  expect(server.connectionCount).toBe(0)
})
