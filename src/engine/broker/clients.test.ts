import { expect, test } from 'vitest'
import { SimulatedWorld } from '../../core/platform/simulated/index.ts'
import {
  CLIENT_EXPIRY_MS,
  ClientRegistry,
  GROUPS_PER_CONNECTION_MAX,
  type ClientChannel,
  type ClientHeartbeat,
} from './clients.ts'
import type { ConsumerHeartbeat, Subscription } from './consumer-group.ts'

function channel(remotePort: number): ClientChannel {
  return { remoteHost: '10.0.0.1', remotePort, send: () => undefined }
}

function subscription(topic: string, version = 1): Subscription {
  return { topic, expressionType: 'TAG', expression: `v${version}`, version }
}

function consumer(changes: Partial<ConsumerHeartbeat> = {}): ConsumerHeartbeat {
  return {
    group: 'g',
    consumeType: 'CONSUME_PASSIVELY',
    messageModel: 'CLUSTERING',
    consumeFromWhere: 'CONSUME_FROM_LAST_OFFSET',
    subscriptions: [subscription('T')],
    ...changes,
  }
}

function beat(clientId: string, changes: Partial<ClientHeartbeat> = {}): ClientHeartbeat {
  return {
    clientId,
    language: 'JAVA',
    version: 479,
    producerGroups: [],
    consumers: [consumer()],
    ...changes,
  }
}

/** A registry, and whom it told about which group since the last look. */
function registry(): {
  readonly world: SimulatedWorld
  readonly clients: ClientRegistry
  readonly told: () => readonly string[]
} {
  const world = new SimulatedWorld({ seed: 1 })
  const clients = new ClientRegistry(world.platform)
  let notices: string[] = []
  clients.onGroupChanged((group, members) => {
    notices.push(`${group}: ${members.map(({ remotePort }) => remotePort).join(' ')}`)
  })
  const told = (): readonly string[] => {
    const seen = notices
    notices = []
    return seen
  }
  return { world, clients, told }
}

test('a new member is told to all, itself included, and a repeated heartbeat to none', () => {
  const { clients, told } = registry()
  const [a, b] = [channel(1), channel(2)]
  clients.heartbeat(a, beat('a'))
  expect(told()).toEqual(['g: 1'])
  clients.heartbeat(b, beat('b'))
  expect(told()).toEqual(['g: 1 2'])
  clients.heartbeat(a, beat('a'))
  clients.heartbeat(b, beat('b'))
  expect(told()).toEqual([])
  expect(clients.consumerGroup('g')?.clientIds()).toEqual(['a', 'b'])
})

test('leaving is told to those who stay, whether by a word or by a closed connection', () => {
  const { clients, told } = registry()
  const [a, b, c] = [channel(1), channel(2), channel(3)]
  for (const [at, id] of [
    [a, 'a'],
    [b, 'b'],
    [c, 'c'],
  ] as const)
    clients.heartbeat(at, beat(id))
  told()
  clients.unregister(b, { consumer: 'g', producer: undefined })
  expect(told()).toEqual(['g: 1 3'])
  clients.unregister(b, { consumer: 'g', producer: 'never' })
  expect(told()).toEqual([])
  clients.close(a)
  expect(told()).toEqual(['g: 3'])
  clients.close(c)
  expect(told()).toEqual([])
  expect(clients.consumerGroup('g')).toBeUndefined()
  expect(clients.clientCount).toBe(0)
})

test('a broadcast group is told nothing', () => {
  const { clients, told } = registry()
  const consumers = [consumer({ messageModel: 'BROADCASTING' })]
  clients.heartbeat(channel(1), beat('a', { consumers }))
  clients.heartbeat(channel(2), beat('b', { consumers }))
  expect(told()).toEqual([])
})

test('a topic more or less is told, a newer expression for the same topic is not', () => {
  const { clients, told } = registry()
  const a = channel(1)
  const set = (...subscriptions: Subscription[]): void => {
    clients.heartbeat(a, beat('a', { consumers: [consumer({ subscriptions })] }))
  }
  set(subscription('T', 5))
  told()
  set(subscription('T', 6))
  expect(told()).toEqual([])
  expect(clients.consumerGroup('g')?.subscription('T')?.version).toBe(6)
  set(subscription('T', 4))
  expect(clients.consumerGroup('g')?.subscription('T')?.version).toBe(6)
  set(subscription('T', 6), subscription('U'))
  expect(told()).toEqual(['g: 1'])
  set(subscription('U'))
  expect(told()).toEqual(['g: 1'])
  expect(clients.consumerGroup('g')?.subscription('T')).toBeUndefined()
})

test('a heartbeat without subscriptions keeps those of the one before', () => {
  const { clients, told } = registry()
  const a = channel(1)
  clients.heartbeat(a, beat('a'))
  told()
  clients.heartbeat(a, beat('a', { consumers: [consumer({ subscriptions: undefined })] }))
  expect(told()).toEqual([])
  expect(clients.consumerGroup('g')?.subscription('T')).toEqual(subscription('T'))
})

test('who is silent for two minutes of uptime is gone; a step of the clock makes nobody silent', async () => {
  const { world, clients, told } = registry()
  clients.start()
  const [a, b] = [channel(1), channel(2)]
  clients.heartbeat(a, beat('a', { producerGroups: ['p'] }))
  clients.heartbeat(b, beat('b'))
  told()
  world.stepClock(10 * CLIENT_EXPIRY_MS)
  await world.runFor(CLIENT_EXPIRY_MS - 20_000)
  clients.heartbeat(b, beat('b'))
  await world.runFor(40_000)
  expect(told()).toEqual(['g: 2'])
  expect(clients.clientCount).toBe(1)
  clients.stop()
  await world.runFor(10 * CLIENT_EXPIRY_MS)
  expect(clients.clientCount).toBe(1)
})

test('one connection cannot fill memory with groups or topics', () => {
  const { clients } = registry()
  const a = channel(1)
  const producerGroups = Array.from(
    { length: GROUPS_PER_CONNECTION_MAX },
    (_, index) => `p${index}`,
  )
  clients.heartbeat(a, beat('a', { producerGroups }))
  const tooMany = beat('a', { producerGroups: ['one-more'] })
  expect(() => clients.heartbeat(a, tooMany)).toThrow(
    expect.objectContaining({ code: 'PARAMETER_INVALID' }),
  )
  const subscriptions = Array.from({ length: 1001 }, (_, index) => subscription(`T${index}`))
  const wide = beat('b', { consumers: [consumer({ subscriptions })] })
  expect(() => clients.heartbeat(channel(2), wide)).toThrow(
    expect.objectContaining({ code: 'PARAMETER_INVALID' }),
  )
  expect(clients.clientCount).toBe(1)
})

test('a client that is in no group is not remembered', () => {
  const { clients } = registry()
  const a = channel(1)
  clients.heartbeat(a, beat('a', { producerGroups: [], consumers: [] }))
  expect(clients.clientCount).toBe(0)
  clients.close(a)
  expect(clients.clientCount).toBe(0)
})
