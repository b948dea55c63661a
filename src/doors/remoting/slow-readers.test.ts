import { expect, test } from 'vitest'
import { REQUEST_CODE } from '../../model/wire/index.ts'
import {
  pullFields,
  RemotingWorld,
  sendFields,
  type WireClient,
} from '../../../test/support/remoting-world.ts'

const { SEND_MESSAGE_V2, PULL_MESSAGE } = REQUEST_CODE
const MIB = 1_048_576
const PULL_COUNT = 10
/** What the simulated network takes from each sender. */
const ON_THE_WAY_BYTES = 256 * 1024
const LIMITS = {
  unsentBytesHigh: MIB,
  unsentBytesMax: 64 * MIB,
  unsentTotalBytesHigh: 3 * MIB,
  carriedTotalBytesMax: 64 * MIB,
}

/** A broker with more messages than its memory holds: those at the beginning come from disk. */
async function filledWorld(bodyBytes: number): Promise<RemotingWorld> {
  const world = await RemotingWorld.open({ memoryLimits: LIMITS })
  const client = await world.connect()
  for (let filledBytes = 0; filledBytes < 44 * MIB; filledBytes += bodyBytes) {
    const extFields = sendFields('orders')
    await client.ask({ code: SEND_MESSAGE_V2, extFields }, Buffer.alloc(bodyBytes))
  }
  client.destroy()
  return world
}

async function slowReaders(world: RemotingWorld, count: number): Promise<readonly WireClient[]> {
  const clients = await Promise.all(Array.from({ length: count }, () => world.connect()))
  for (const client of clients) {
    client.pauseReading()
    for (let index = 0; index < PULL_COUNT; index++) pull(client, index)
  }
  return clients
}

function pull(client: WireClient, queueOffset: number): number {
  const extFields = pullFields('orders', { queueOffset: String(queueOffset) })
  return client.send({ code: PULL_MESSAGE, extFields })
}

test.each([
  ['small', 100_000],
  ['larger than a pull', 700_000],
])('a client that reads nothing is read no more for than it may have: %s', async (_, bytes) => {
  const world = await filledWorld(bytes)
  const [client] = await slowReaders(world, 1)
  await world.world.runFor(2000)
  const { getBytes } = world.broker.statistics.broker
  expect(getBytes).toBeGreaterThan(0)
  expect(getBytes).toBeLessThan(MIB + ON_THE_WAY_BYTES + bytes)
  client?.resumeReading()
  await world.world.run(() => client?.received.length === PULL_COUNT)
  expect(client?.received.map(({ header }) => header.code)).toEqual(Array(PULL_COUNT).fill(0))
})

test.each([
  ['small', 100_000],
  ['larger than a pull', 700_000],
])('many that read nothing have no more than all may have: %s', async (_, bytes) => {
  const world = await filledWorld(bytes)
  const count = 12
  const clients = await slowReaders(world, count)
  await world.world.runFor(5000)
  const { getBytes } = world.broker.statistics.broker
  expect(getBytes).toBeLessThan(3 * MIB + count * ON_THE_WAY_BYTES + bytes)
  for (const client of clients) client.resumeReading()
  await world.world.run(() => clients.every(({ received }) => received.length === PULL_COUNT))
  expect(clients.map(({ received }) => received.length)).toEqual(Array(count).fill(PULL_COUNT))
})

test('those that read nothing lose their place to one that reads', async () => {
  const world = await filledWorld(700_000)
  const clients = await slowReaders(world, 8)
  await world.world.runFor(5000)
  const reader = await world.connect()
  const opaques = [0, 1, 2, 3].map(offset => pull(reader, offset))
  await world.world.runFor(90_000)
  expect(opaques.map(opaque => reader.answerTo(opaque)?.header.code)).toEqual([0, 0, 0, 0])
  expect(clients.some(({ isClosed }) => isClosed)).toBe(true)
  expect(reader.isClosed).toBe(false)
})
