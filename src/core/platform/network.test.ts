import { describe, expect, it } from 'vitest'
import type { Connection, Listener, Network, Timers } from './index.ts'
import { realPlatform } from './index.ts'
import { SimulatedWorld } from './simulated/index.ts'

interface Place {
  readonly network: Network
  readonly timers: Timers
  readonly run: <T>(body: () => Promise<T>) => Promise<T>
}

function realPlace(): Place {
  const { network, timers } = realPlatform({ logLevel: 'silent' })
  return { network, timers, run: body => body() }
}

function simulatedPlace(): Place {
  const world = new SimulatedWorld({ seed: 11 })
  const { network, timers } = world.platform
  return { network, timers, run: body => world.finish(body()) }
}

/** Keeps what a connection tells, and lets a test wait for it. */
class Ear {
  readonly connection: Connection
  readonly chunks: Buffer[] = []
  drainCount = 0
  closeCount = 0
  #waiting: (() => void)[] = []

  constructor(connection: Connection) {
    this.connection = connection
    connection.start({
      onData: chunk => {
        this.chunks.push(Buffer.from(chunk))
        this.#wake()
      },
      onDrain: () => {
        this.drainCount++
        this.#wake()
      },
      onClose: () => {
        this.closeCount++
        this.#wake()
      },
    })
  }

  get sizeBytes(): number {
    return this.chunks.reduce((total, chunk) => total + chunk.length, 0)
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>(resolve => {
        this.#waiting.push(resolve)
      })
    }
  }

  closed(): Promise<void> {
    return this.until(() => this.closeCount > 0)
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }
}

interface Pair {
  readonly listener: Listener
  readonly client: Connection
  readonly server: Connection
}

async function connectPair(network: Network): Promise<Pair> {
  let accept: ((connection: Connection) => void) | undefined
  const accepted = new Promise<Connection>(resolve => {
    accept = resolve
  })
  const listener = await network.listen({ host: '127.0.0.1', port: 0 }, connection => {
    accept?.(connection)
  })
  const { port } = listener
  const client = await network.connect({ host: '127.0.0.1', port, timeoutMs: 5_000 })
  return { listener, client, server: await accepted }
}

const BIG = Buffer.alloc(8 * 1024 * 1024, 'orrery')

describe.each([
  ['real', realPlace],
  ['simulated', simulatedPlace],
])('the %s network', (_name, newPlace) => {
  function test(title: string, body: (pair: Pair, place: Place) => Promise<void>): void {
    it(title, async () => {
      const place = newPlace()
      await place.run(async () => {
        const pair = await connectPair(place.network)
        await body(pair, place)
        pair.client.destroy()
        pair.server.destroy()
        await pair.listener.close()
      })
    })
  }

  test('names both ends the same from both sides', async ({ client, server, listener }) => {
    expect(client.remoteHost).toBe('127.0.0.1')
    expect(client.remotePort).toBe(listener.port)
    expect(server.localPort).toBe(listener.port)
    expect(server.remotePort).toBe(client.localPort)
    await Promise.resolve()
  })

  test('carries bytes in order, both ways, also those sent before the start', async pair => {
    const client = new Ear(pair.client)
    pair.client.write(Buffer.from('early '))
    pair.client.write(BIG)
    const server = new Ear(pair.server)
    pair.server.write(Buffer.from('answer'))
    await server.until(() => server.sizeBytes === BIG.length + 6)
    await client.until(() => client.sizeBytes === 6)
    const expected = Buffer.concat([Buffer.from('early '), BIG])
    expect(Buffer.concat(server.chunks).equals(expected)).toBe(true)
    expect(Buffer.concat(client.chunks).toString()).toBe('answer')
  })

  test('keeps what a paused reader does not take, and tells of the drain once', async pair => {
    const server = new Ear(pair.server)
    pair.server.pauseReading()
    const client = new Ear(pair.client)
    pair.client.write(BIG)
    pair.client.write(BIG)
    expect(pair.client.unsentBytes).toBeGreaterThan(0)
    expect(client.drainCount).toBe(0)
    pair.server.resumeReading()
    await client.until(() => client.drainCount > 0)
    expect(pair.client.unsentBytes).toBe(0)
    await server.until(() => server.sizeBytes === 2 * BIG.length)
    expect(client.drainCount).toBe(1)
  })

  test('sends what one turn writes at its end, as one', async ({ client, server }) => {
    const [near, far] = [new Ear(server), new Ear(client)]
    for (const piece of ['a', 'b', 'c']) server.write(Buffer.from(piece))
    expect(server.unsentBytes).toBe(3)
    await far.until(() => far.sizeBytes === 3)
    expect(Buffer.concat(far.chunks).toString()).toBe('abc')
    await near.until(() => near.drainCount > 0)
    expect(near.drainCount).toBe(1)
  })

  test('sends all that was written before an end, and closes both sides once', async pair => {
    const client = new Ear(pair.client)
    const server = new Ear(pair.server)
    pair.client.write(BIG)
    pair.client.end()
    pair.client.write(Buffer.from('too late'))
    await Promise.all([client.closed(), server.closed()])
    expect(server.sizeBytes).toBe(BIG.length)
    pair.client.destroy()
    pair.client.end()
    await Promise.resolve()
    expect([client.closeCount, server.closeCount]).toEqual([1, 1])
    expect(pair.client.unsentBytes).toBe(0)
  })

  test('lets an answer reach a client whose input is not read to its end', async pair => {
    const client = new Ear(pair.client)
    const server = new Ear(pair.server)
    pair.client.write(BIG)
    await server.until(() => server.sizeBytes > 0)
    const taken = server.sizeBytes
    pair.server.write(Buffer.from('go away'))
    pair.server.end()
    await client.closed()
    expect(Buffer.concat(client.chunks).toString()).toBe('go away')
    expect(server.sizeBytes).toBe(taken)
  })

  test('answers a client that has ended its side, then closes', async pair => {
    const client = new Ear(pair.client)
    const server = new Ear(pair.server)
    pair.server.write(BIG)
    pair.client.write(Buffer.from('bye'))
    await client.until(() => client.sizeBytes === BIG.length)
    pair.client.end()
    await Promise.all([client.closed(), server.closed()])
    expect(Buffer.concat(server.chunks).toString()).toBe('bye')
  })

  test('closes the other side after a destruction', async pair => {
    const client = new Ear(pair.client)
    const server = new Ear(pair.server)
    pair.server.destroy()
    expect(server.closeCount).toBe(0)
    await Promise.all([client.closed(), server.closed()])
    pair.client.write(Buffer.from('into the void'))
    expect(pair.client.unsentBytes).toBe(0)
  })

  test('tells of a close that came before the start', async (pair, { timers }) => {
    const client = new Ear(pair.client)
    pair.client.destroy()
    await client.closed()
    pair.server.destroy()
    await new Promise<void>(resolve => {
      timers.after(5, resolve)
    })
    const server = new Ear(pair.server)
    await server.closed()
    expect(server.closeCount).toBe(1)
  })

  test('refuses an address that is taken', async ({ listener }, { network }) => {
    const address = { host: '127.0.0.1', port: listener.port }
    const second = network.listen(address, () => undefined)
    await expect(second).rejects.toMatchObject({ code: 'ADDRESS_IN_USE', details: address })
  })

  test('stops to accept at once, and leaves connections open', async (pair, { network }) => {
    const server = new Ear(pair.server)
    await pair.listener.close()
    const address = { host: '127.0.0.1', port: pair.listener.port, timeoutMs: 5_000 }
    await expect(network.connect(address)).rejects.toMatchObject({ code: 'CONNECT_FAILED' })
    pair.client.write(Buffer.from('still here'))
    await server.until(() => server.sizeBytes === 10)
    const again = await network.listen(address, () => undefined)
    expect(again.port).toBe(pair.listener.port)
    await again.close()
  })
})

describe('the real network', () => {
  it('writes IPv4 addresses as such on a listener for both families', async () => {
    const { network } = realPlatform({ logLevel: 'silent' })
    const accepted: Connection[] = []
    const listener = await network.listen({ host: '::', port: 0 }, connection => {
      accepted.push(connection)
      connection.write(Buffer.from('.'))
    })
    const { port } = listener
    const connection = await network.connect({ host: '127.0.0.1', port, timeoutMs: 5_000 })
    const ear = new Ear(connection)
    await ear.until(() => ear.sizeBytes === 1)
    const hosts = accepted.map(({ remoteHost, localHost }) => [remoteHost, localHost])
    for (const each of [connection, ...accepted]) each.destroy()
    await listener.close()
    expect(hosts).toEqual([['127.0.0.1', '127.0.0.1']])
  })

  it('gives a reason when it cannot listen', async () => {
    const { network } = realPlatform({ logLevel: 'silent' })
    const listening = network.listen({ host: '192.0.2.1', port: 0 }, () => undefined)
    await expect(listening).rejects.toMatchObject({
      code: 'LISTEN_FAILED',
      details: { reason: 'EADDRNOTAVAIL' },
    })
  })
})
