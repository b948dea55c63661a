import { expect, test } from 'vitest'
import type { Access } from '../../model/access/index.ts'
import { encodeFrame, ONEWAY_FLAG, REQUEST_CODE, RESPONSE_FLAG } from '../../model/wire/index.ts'
import {
  pullFields,
  RemotingWorld,
  sendFields,
  type WireClient,
} from '../../../test/support/remoting-world.ts'
import type { Processor } from './processor.ts'

const { SEND_MESSAGE_V2, PULL_MESSAGE, POP_MESSAGE } = REQUEST_CODE
const MIB = 1_048_576
const BODY = Buffer.from('hello')
const TEST_CODE = 30_001

function processor(handle: Processor['handle']): Processor {
  return { code: TEST_CODE, name: 'TEST', action: 'read', resources: () => [], handle }
}

function put(client: WireClient, body: Buffer = BODY): ReturnType<WireClient['ask']> {
  return client.ask({ code: SEND_MESSAGE_V2, extFields: sendFields('orders') }, body)
}

test.each<[string, Buffer]>([
  ['text of another protocol', Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n')],
  ['a TLS greeting', Buffer.from('1603010200010001fc0303', 'hex')],
  ['a negative length', Buffer.from('ffffffff00000000', 'hex')],
  ['a length beyond the limit', Buffer.from('7fffffff00000000', 'hex')],
  ['a header longer than the frame', Buffer.from('0000000800ffffff00000000', 'hex')],
  ['an unknown serialisation', Buffer.from('0000000602000002aaaa', 'hex')],
  ['a header that is not JSON', Buffer.from('00000006000000027b7b', 'hex')],
  ['a JSON header that is no object', Buffer.from('00000006000000023132', 'hex')],
  ['a binary header that is too short', Buffer.from('0000000601000002aaaa', 'hex')],
])('%s closes its connection and no other', async (_, bytes) => {
  const world = await RemotingWorld.open()
  const good = await world.connect()
  const bad = await world.connect()
  await put(good)
  bad.write(bytes)
  expect(await bad.untilClosed()).toBe(true)
  expect((await put(good))?.header.code).toBe(0)
  expect(world.door.connectionCount).toBe(1)
})

test('however many bad frames come, the log has a line a minute, with their number', async () => {
  const world = await RemotingWorld.open()
  const lines = (): unknown[] =>
    world.world.logLines
      .filter(({ message }) => message === 'connection closed')
      .map(line => line.fields)
  const sendBad = async (): Promise<void> => {
    const client = await world.connect()
    client.write(Buffer.from('ffffffff00000000', 'hex'))
    await client.untilClosed()
  }
  for (let count = 0; count < 20; count++) await sendBad()
  expect(lines()).toHaveLength(1)
  await world.world.runFor(60_000)
  await sendBad()
  expect(lines()).toEqual([
    expect.objectContaining({ remoteHost: '127.0.0.1' }),
    expect.objectContaining({ remoteHost: '127.0.0.1', leftOut: 19 }),
  ])
})

test('JSON that is nested thousands deep closes its connection and no other', async () => {
  const world = await RemotingWorld.open()
  const good = await world.connect()
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '1}'],
  ] as const) {
    const bad = await world.connect()
    const deep = open.repeat(5000) + close.repeat(5000)
    const header = Buffer.from(`{"code":105,"opaque":1,"extFields":{"topic":${deep}}}`)
    const prefix = Buffer.alloc(8)
    prefix.writeInt32BE(4 + header.length, 0)
    prefix.writeInt32BE(header.length, 4)
    bad.write(Buffer.concat([prefix, header]))
    expect(await bad.untilClosed()).toBe(true)
    expect((await put(good))?.header.code).toBe(0)
  }
})

test('requests before the malformed one are still carried out', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  await put(client)
  const extFields = sendFields('orders')
  const flag = ONEWAY_FLAG
  const good = encodeFrame({ code: SEND_MESSAGE_V2, opaque: 5, flag, extFields }, BODY)
  client.write(Buffer.concat([good, Buffer.from('ffffffff', 'hex')]))
  await client.untilClosed()
  await world.world.run(() => world.store.queue('orders', 0).maxOffset === 2)
  expect(world.store.queue('orders', 0).maxOffset).toBe(2)
})

test('random bytes never do more than close their connection', async () => {
  const world = await RemotingWorld.open({ seed: 7 })
  const good = await world.connect()
  for (let round = 0; round < 200; round++) {
    const client = await world.connect()
    const { random } = world.world.outside
    const bytes = random.bytes(1 + random.below(200))
    // Half of them with a length that lets the rest be looked at.
    if (round % 2 === 0 && bytes.length > 8) bytes.writeInt32BE(bytes.length - 4, 0)
    if (round % 4 === 0 && bytes.length > 8) bytes.writeInt32BE(bytes.length - 8, 4)
    client.write(bytes)
    await world.world.runFor(5)
    client.destroy()
  }
  expect((await put(good))?.header.code).toBe(0)
  await world.world.runFor(10)
  expect(world.door.connectionCount).toBe(1)
})

test('a frame that comes byte by byte is understood', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  const extFields = sendFields('orders')
  const frame = encodeFrame({ code: SEND_MESSAGE_V2, opaque: 5, flag: 0, extFields }, BODY)
  for (const byte of frame) {
    client.write(Buffer.from([byte]))
    await world.world.runFor(1)
  }
  await world.world.run(() => client.answerTo(5) !== undefined)
  expect(client.answerTo(5)?.header.code).toBe(0)
})

test('half a frame followed by the end of the connection leaves nothing behind', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  await put(client)
  const end = world.store.endOffset
  const extFields = sendFields('orders')
  const frame = encodeFrame({ code: SEND_MESSAGE_V2, opaque: 5, flag: 0, extFields }, BODY)
  client.write(frame.subarray(0, frame.length - 1))
  await world.world.runFor(20)
  client.destroy()
  await world.world.run(() => world.door.connectionCount === 0)
  expect(world.door.connectionCount).toBe(0)
  expect(world.store.endOffset).toBe(end)
})

test('unfinished frames of all clients together are bounded', async () => {
  const memoryLimits = {
    unsentBytesHigh: MIB,
    unsentBytesMax: 4 * MIB,
    unsentTotalBytesHigh: 4 * MIB,
    carriedTotalBytesMax: 300_000,
  }
  const world = await RemotingWorld.open({ memoryLimits })
  const clients = await Promise.all([1, 2, 3, 4].map(() => world.connect()))
  const part = Buffer.alloc(100_000)
  part.writeInt32BE(8 * MIB, 0)
  for (const client of clients) client.write(part)
  await world.world.runFor(100)
  expect(clients.filter(client => client.isClosed)).toHaveLength(1)
  expect(world.door.connectionCount).toBe(3)
})

test('thousands of idle connections do not keep others from being served', async () => {
  const world = await RemotingWorld.open()
  const { network } = world.world.outside
  const connecting = Array.from({ length: 5000 }, () =>
    network.connect({ host: '127.0.0.1', port: 10_911, timeoutMs: 1000 }),
  )
  await world.world.finish(Promise.all(connecting))
  await world.world.run(() => world.door.connectionCount === 5000)
  const client = await world.connect()
  expect((await put(client))?.header.code).toBe(0)
})

test('beyond the limit further connections are closed, and the operator is told once', async () => {
  const serverLimits = { connectionCountMax: 3, idleMsMax: 120_000 }
  const world = await RemotingWorld.open({ serverLimits })
  const clients = await Promise.all([1, 2, 3, 4, 5].map(() => world.connect()))
  await world.world.runFor(20)
  expect(clients.filter(client => client.isClosed)).toHaveLength(2)
  const lines = world.world.logLines.filter(line => /too many connections/.test(line.message))
  expect(lines).toHaveLength(1)
  clients.find(client => !client.isClosed)?.destroy()
  await world.world.runFor(20)
  expect((await put(await world.connect()))?.header.code).toBe(0)
})

test('a connection without traffic is closed after two minutes, one with some is not', async () => {
  const world = await RemotingWorld.open()
  const silent = await world.connect()
  const alive = await world.connect()
  for (let seconds = 0; seconds < 110; seconds += 10) {
    await put(alive)
    await world.world.runFor(10_000)
  }
  expect(silent.isClosed).toBe(false)
  for (let seconds = 0; seconds < 40; seconds += 10) {
    await put(alive)
    await world.world.runFor(10_000)
  }
  expect(silent.isClosed).toBe(true)
  expect(alive.isClosed).toBe(false)
})

test('a client that does not read gets no more than fits, and everything once it reads', async () => {
  const memoryLimits = {
    unsentBytesHigh: MIB,
    unsentBytesMax: 4 * MIB,
    unsentTotalBytesHigh: 8 * MIB,
    carriedTotalBytesMax: 64 * MIB,
  }
  const world = await RemotingWorld.open({ memoryLimits })
  const client = await world.connect()
  for (let index = 0; index < 4; index++) await put(client, Buffer.alloc(200_000, index))
  client.pauseReading()
  const opaques = Array.from({ length: 60 }, (_, index) => {
    const queueOffset = String(index % 4)
    return client.send({ code: PULL_MESSAGE, extFields: pullFields('orders', { queueOffset }) })
  })
  await world.world.runFor(5000)
  expect(client.isClosed).toBe(false)
  expect(world.broker.statistics.broker.getFoundCount).toBeLessThan(15)
  // Others are served meanwhile.
  const other = await world.connect()
  const answer = await other.ask({ code: PULL_MESSAGE, extFields: pullFields('orders') })
  expect(answer?.header.code).toBe(0)
  client.resumeReading()
  await world.world.run(() => opaques.every(opaque => client.answerTo(opaque) !== undefined))
  expect(opaques.map(opaque => client.answerTo(opaque)?.header.code)).toEqual(opaques.map(() => 0))
})

test('a client that never reads and is sent too much is cut off', async () => {
  const memoryLimits = {
    unsentBytesHigh: 100_000,
    unsentBytesMax: 300_000,
    unsentTotalBytesHigh: 8 * MIB,
    carriedTotalBytesMax: 64 * MIB,
  }
  // What has been begun is answered, however much it comes to.
  const big = processor(async () => {
    await Promise.resolve()
    return { code: 0, body: Buffer.alloc(50_000) }
  })
  const world = await RemotingWorld.open({ memoryLimits, processors: [big] })
  const client = await world.connect()
  client.pauseReading()
  const request = encodeFrame({ code: TEST_CODE, opaque: 1, flag: 0 })
  client.write(Buffer.concat(Array.from({ length: 100 }, () => request)))
  await world.world.runFor(1000)
  expect(client.isClosed).toBe(true)
  expect((await put(await world.connect()))?.header.code).toBe(0)
})

test('requests that came in one piece are begun as far as their answers are taken', async () => {
  const memoryLimits = {
    unsentBytesHigh: 100_000,
    unsentBytesMax: 10 * MIB,
    unsentTotalBytesHigh: 8 * MIB,
    carriedTotalBytesMax: 64 * MIB,
  }
  let begunCount = 0
  const big = processor(() => {
    begunCount++
    return { code: 0, body: Buffer.alloc(50_000) }
  })
  const world = await RemotingWorld.open({ memoryLimits, processors: [big] })
  const client = await world.connect()
  client.pauseReading()
  const request = encodeFrame({ code: TEST_CODE, opaque: 1, flag: 0 })
  client.write(Buffer.concat(Array.from({ length: 100 }, () => request)))
  await world.world.runFor(1000)
  // 256 KiB are on the way, and then one more than fits.
  expect(begunCount).toBeLessThan(12)
  client.resumeReading()
  await world.world.run(() => client.received.length === 100)
  expect(begunCount).toBe(100)
})

test('of the requests of one connection that are answered later few are begun at once', async () => {
  let openCount = 0
  let openCountMax = 0
  const later = processor(async (_request, { diskSpace }) => {
    openCount++
    openCountMax = Math.max(openCountMax, openCount)
    await diskSpace()
    openCount--
    return { code: 0 }
  })
  const world = await RemotingWorld.open({ processors: [later] })
  const client = await world.connect()
  const frames = Array.from({ length: 2000 }, (_, opaque) =>
    encodeFrame({ code: TEST_CODE, opaque, flag: 0 }),
  )
  client.write(Buffer.concat(frames))
  await world.world.run(() => client.received.length === frames.length)
  expect(openCountMax).toBeLessThanOrEqual(64)
  expect(new Set(client.received.map(({ header }) => header.opaque)).size).toBe(frames.length)
})

test('while the log cannot keep up, clients are read no further, and then on', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  await put(client)
  world.world.faults.rates.slowCall = 0.5
  const body = Buffer.alloc(900_000)
  const opaques = Array.from({ length: 60 }, () =>
    client.send({ code: SEND_MESSAGE_V2, extFields: sendFields('orders') }, body),
  )
  let unappliedMax = 0
  await world.world.run(() => {
    const unapplied = world.store.endOffset - world.store.appliedOffset
    unappliedMax = Math.max(unappliedMax, unapplied)
    return opaques.every(opaque => client.answerTo(opaque) !== undefined)
  })
  expect(opaques.map(opaque => client.answerTo(opaque)?.header.code)).toEqual(opaques.map(() => 0))
  expect(unappliedMax).toBeLessThan(12 * MIB)
})

test('a request that nobody serves is answered 3 and logged once', async () => {
  const world = await RemotingWorld.open()
  const client = await world.connect()
  for (let count = 0; count < 3; count++) {
    const answer = await client.ask({ code: POP_MESSAGE })
    expect(answer?.header.code).toBe(3)
    expect(answer?.header.remark).toContain('POP_MESSAGE')
  }
  const lines = world.world.logLines.filter(line => /not supported/.test(line.message))
  expect(lines).toHaveLength(1)
})

test('a response from a client and a one-way request are never answered', async () => {
  const failing = processor(() => {
    throw new Error('no')
  })
  const world = await RemotingWorld.open({ processors: [failing] })
  const client = await world.connect()
  client.send({ code: 0, flag: RESPONSE_FLAG })
  client.send({ code: 0, flag: RESPONSE_FLAG | ONEWAY_FLAG })
  client.send({ code: POP_MESSAGE, flag: ONEWAY_FLAG })
  client.send({ code: TEST_CODE, flag: ONEWAY_FLAG })
  await put(client)
  expect(client.received).toHaveLength(1)
})

test('an unforeseen error is answered 1 and logged, and the next request is served', async () => {
  const failing = processor(async () => {
    await Promise.resolve()
    throw new TypeError('x is not a function')
  })
  const world = await RemotingWorld.open({ processors: [failing] })
  const client = await world.connect()
  const answer = await client.ask({ code: TEST_CODE })
  expect(answer?.header.code).toBe(1)
  expect(answer?.header.remark).not.toContain('x is not a function')
  expect(world.world.logLines.filter(line => line.level === 'error')).toHaveLength(1)
  expect((await put(client))?.header.code).toBe(0)
})

test('what access denies is answered 16 and not carried out', async () => {
  const access: Access = {
    decide: ({ topic, action }) =>
      topic === 'secret' ? { kind: 'denied', reason: `no ${action}` } : { kind: 'allowed' },
  }
  const world = await RemotingWorld.open({ access })
  const client = await world.connect()
  const end = world.store.endOffset
  const send = { code: SEND_MESSAGE_V2, extFields: sendFields('secret') }
  const refused = await client.ask(send, BODY)
  expect(refused?.header.code).toBe(16)
  expect(refused?.header.remark).toContain('no send')
  expect(world.store.endOffset).toBe(end)
  const pull = { code: PULL_MESSAGE, extFields: pullFields('secret') }
  expect((await client.ask(pull))?.header.remark).toContain('no receive')
})

test('stopping refuses new clients, answers what is open and closes within two seconds', async () => {
  const slow = processor(
    (_request, { log }) =>
      new Promise(resolve => {
        log.info('slow request begins')
        world.world.platform.timers.after(500, () => {
          resolve({ code: 0, remark: 'late' })
        })
      }),
  )
  const never = { ...processor(() => new Promise(() => undefined)), code: TEST_CODE + 1 }
  const world = await RemotingWorld.open({ processors: [slow, never] })
  const [client, stuck, idle] = [
    await world.connect(),
    await world.connect(),
    await world.connect(),
  ]
  const opaque = client.send({ code: TEST_CODE })
  stuck.send({ code: TEST_CODE + 1 })
  const began = (): boolean => world.world.logLines.some(line => /begins/.test(line.message))
  await world.world.run(began)
  await world.world.runFor(10)
  const startMs = world.world.uptimeMs
  await world.world.finish(world.door.stop())
  expect(world.world.uptimeMs - startMs).toBeLessThan(2100)
  await world.world.runFor(100)
  expect(client.answerTo(opaque)?.header.remark).toBe('late')
  expect([client, stuck, idle].map(({ isClosed }) => isClosed)).toEqual([true, true, true])
  await expect(world.connect()).rejects.toThrow(/cannot be reached/)
})
