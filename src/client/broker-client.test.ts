import { describe, expect, test } from 'vitest'
import { BrokerError } from '../core/base/index.ts'
import { decodeHeartbeat, REQUEST_CODE, RESPONSE_CODE } from '../model/wire/index.ts'
import { forEachBatchItem, parseProperties } from '../model/message/index.ts'
import { type BrokerClient, connectRemoting, type ConnectOptions } from './broker-client.ts'
import type { OutgoingMessage } from './outgoing-message.ts'
import { BROKER, NAMESERVER, ScriptedCluster, type TopicTable } from './testing/scripted-cluster.ts'

interface Scene {
  readonly cluster: ScriptedCluster
  readonly client: BrokerClient
}

async function scene(topics: TopicTable, options: Partial<ConnectOptions> = {}): Promise<Scene> {
  const cluster = new ScriptedCluster(1, topics)
  await cluster.start()
  const { platform } = cluster.world
  const source = options.broker === undefined ? { nameserver: NAMESERVER } : {}
  const connecting = connectRemoting({ platform, clientId: 'me', ...source, ...options })
  return { cluster, client: await cluster.world.finish(connecting) }
}

async function sentProperties(message: Partial<OutgoingMessage>): Promise<Map<string, string>> {
  const { cluster, client } = await scene({ T: 1 })
  await cluster.world.finish(client.send({ topic: 'T', body: 'x', ...message }))
  const [request] = cluster.broker.of(REQUEST_CODE.SEND_MESSAGE_V2)
  return parseProperties(request?.fields['i'] ?? '')
}

describe('sending', () => {
  test('greets the broker, sends and tells where the message is', async () => {
    const { cluster, client } = await scene({ T: 1 })
    const receipt = await cluster.world.finish(client.send({ topic: 'T', body: 'hello' }))
    expect(cluster.broker.requests.map(request => request.code)).toEqual([34, 310])
    expect(receipt).toEqual({
      messageId: expect.stringMatching(/^[0-9A-F]{32}$/),
      offsetMessageId: 'ID',
      recallHandle: 'handle',
      brokerName: 'broker-a',
      queueId: 0,
      queueOffset: 12,
    })
    const [request] = cluster.broker.of(310)
    expect(request?.body.toString()).toBe('hello')
    expect(request?.fields).toMatchObject({ b: 'T', e: '0', f: '0', m: 'false', n: 'broker-a' })
  })

  test('goes to all queues in turn', async () => {
    const { cluster, client } = await scene({ T: 3 })
    for (let count = 0; count < 6; count++) {
      await cluster.world.finish(client.send({ topic: 'T', body: 'x' }))
    }
    const queueIds = cluster.broker.of(310).map(request => Number(request.fields['e']))
    expect(queueIds.toSorted((a, b) => a - b)).toEqual([0, 0, 1, 1, 2, 2])
    expect(cluster.nameserver.of(105)).toHaveLength(1)
  })

  test('a topic that is unknown gets the queues that the broker will create', async () => {
    const { cluster, client } = await scene({ TBW102: 8 })
    for (let count = 0; count < 8; count++) {
      await cluster.world.finish(client.send({ topic: 'New', body: 'x' }))
    }
    const queueIds = new Set(cluster.broker.of(310).map(request => request.fields['e']))
    expect(queueIds).toEqual(new Set(['0', '1', '2', '3']))
  })

  test('fails by name when topics are not created', async () => {
    const { cluster, client } = await scene({})
    const sending = cluster.world.finish(client.send({ topic: 'New', body: 'x' }))
    await expect(sending).rejects.toMatchObject({ code: 'TOPIC_NOT_FOUND' })
  })

  test.each([
    [{ delayMs: 10_000 }, 'TIMER_DELAY_MS', '10000'],
    [{ deliverTimeMs: 1_800_000_000_000 }, 'TIMER_DELIVER_MS', '1800000000000'],
    [{ level: 3 }, 'DELAY', '3'],
    [{ tags: 'TagA' }, 'TAGS', 'TagA'],
    [{ keys: ['k1', 'k2'] }, 'KEYS', 'k1 k2'],
    [{ properties: { user: 'value' } }, 'user', 'value'],
  ])('the message %j has the property %s', async (message, name, value) => {
    const properties = await sentProperties(message)
    expect(properties.get(name)).toBe(value)
  })

  test.each([
    [{ delayMs: 1, level: 1 }, 'PARAMETER_INVALID'],
    [{ delayMs: Number.NaN }, 'DELAY_INVALID'],
    [{ deliverTimeMs: 1.5 }, 'DELAY_INVALID'],
    [{ properties: { a: 'b\u0002' } }, 'MESSAGE_INVALID'],
  ])('the message %j is refused before it is sent', async (message, code) => {
    await expect(sentProperties(message)).rejects.toMatchObject({ code })
  })

  test('a batch has a key for each message and one place', async () => {
    const { cluster, client } = await scene({ T: 1 })
    const messages = ['a', 'b'].map(body => ({ topic: 'T', body, tags: body }))
    const receipt = await cluster.world.finish(client.sendBatch(messages))
    expect(receipt).toMatchObject({ queueId: 0, queueOffset: 12 })
    expect(new Set(receipt.messageIds).size).toBe(2)
    const body = cluster.broker.of(320)[0]?.body ?? Buffer.alloc(0)
    const keys: unknown[] = []
    forEachBatchItem(body, 0, body.length, item => {
      keys.push(parseProperties(item.properties).get('UNIQ_KEY'))
    })
    expect(keys).toEqual(receipt.messageIds)
  })

  test('a batch of two topics or with a delay is refused', async () => {
    const { client } = await scene({ T: 1 })
    const message = { topic: 'T', body: '' }
    for (const other of [{ topic: 'U' }, { delayMs: 5 }]) {
      const sending = client.sendBatch([message, { ...message, ...other }])
      await expect(sending).rejects.toMatchObject({ code: 'PARAMETER_INVALID' })
    }
    await expect(client.sendBatch([])).rejects.toMatchObject({ code: 'PARAMETER_INVALID' })
  })

  test('a one-way message is marked as such', async () => {
    const { cluster, client } = await scene({ T: 1 })
    await cluster.world.finish(client.sendOneway({ topic: 'T', body: 'x' }))
    await cluster.world.runFor(10)
    expect(cluster.broker.of(310).map(request => request.oneway)).toEqual([true])
  })

  test('works without a name server when the broker is given', async () => {
    const { cluster, client } = await scene({}, { broker: BROKER })
    cluster.broker.setScript(request => {
      if (request.code !== REQUEST_CODE.GET_TOPIC_CONFIG) return cluster.answer(request)
      const config = { topicName: 'T', readQueueNums: 1, writeQueueNums: 1, perm: 6 }
      return { body: Buffer.from(JSON.stringify(config)) }
    })
    const receipt = await cluster.world.finish(client.send({ topic: 'T', body: 'x' }))
    expect(receipt.queueOffset).toBe(12)
    expect(cluster.nameserver.requests).toEqual([])
  })
})

describe('failures', () => {
  test('an answer other than success rejects with its code and remark', async () => {
    const { cluster, client } = await scene({ T: 1 })
    cluster.broker.setScript(request =>
      request.code === 310
        ? { code: RESPONSE_CODE.MESSAGE_ILLEGAL, remark: 'too far' }
        : cluster.answer(request),
    )
    const sending = cluster.world.finish(client.send({ topic: 'T', body: 'x' }))
    await expect(sending).rejects.toMatchObject({
      code: 'REQUEST_FAILED',
      details: { code: 13, remark: 'too far' },
    })
  })

  test('an error that the remark names rejects as that error, with its details', async () => {
    const { cluster, client } = await scene({ T: 1 })
    const refused = new BrokerError('DELIVER_TIME_TOO_FAR', { limitMs: 5, option: 'x' })
    cluster.broker.setScript(request =>
      request.code === 310
        ? { code: RESPONSE_CODE.MESSAGE_ILLEGAL, remark: `${refused.code}: ${refused.message}` }
        : cluster.answer(request),
    )
    const sending = cluster.world.finish(client.send({ topic: 'T', body: 'x' }))
    await expect(sending).rejects.toMatchObject({
      code: 'DELIVER_TIME_TOO_FAR',
      details: { limitMs: '5', option: 'x' },
      message: refused.message,
    })
  })

  test('a broker in the place of the name server is told apart', async () => {
    const { cluster, client } = await scene({ T: 1 })
    cluster.nameserver.setScript(() => ({
      code: RESPONSE_CODE.REQUEST_CODE_NOT_SUPPORTED,
      remark: ' request type 105 not supported',
    }))
    const sending = cluster.world.finish(client.send({ topic: 'T', body: 'x' }))
    await expect(sending).rejects.toMatchObject({
      code: 'NOT_A_NAME_SERVER',
      details: { address: NAMESERVER },
    })
  })

  test('no answer in time rejects, and one that comes later does no harm', async () => {
    const { cluster, client } = await scene({ T: 1 }, { requestTimeoutMs: 500 })
    cluster.broker.setScript(request =>
      request.code === 310 ? undefined : cluster.answer(request),
    )
    const startMs = cluster.world.uptimeMs
    const sending = cluster.world.finish(client.send({ topic: 'T', body: 'x' }))
    await expect(sending).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' })
    expect(cluster.world.uptimeMs - startMs).toBeGreaterThanOrEqual(500)
    cluster.broker.of(310)[0]?.answer({})
    cluster.broker.setScript(request => cluster.answer(request))
    const receipt = await cluster.world.finish(client.send({ topic: 'T', body: 'x' }))
    expect(receipt.queueOffset).toBe(12)
  })

  test('a lost connection rejects what is under way and is made again', async () => {
    const { cluster, client } = await scene({ T: 1 })
    cluster.broker.setScript(request => {
      if (request.code !== 310) return cluster.answer(request)
      request.connection.destroy()
      return undefined
    })
    const sending = cluster.world.finish(client.send({ topic: 'T', body: 'x' }))
    await expect(sending).rejects.toMatchObject({ code: 'CONNECTION_LOST' })
    cluster.broker.setScript(request => cluster.answer(request))
    await cluster.world.finish(client.send({ topic: 'T', body: 'x' }))
    expect(cluster.broker.of(34)).toHaveLength(2)
  })

  test('answers find their requests in whatever order they come', async () => {
    const { cluster, client } = await scene({ T: 1 })
    cluster.broker.setScript(request =>
      request.code === 310 ? undefined : cluster.answer(request),
    )
    const sending = ['a', 'b'].map(body => client.send({ topic: 'T', body }))
    await cluster.world.run(() => cluster.broker.of(310).length === 2)
    for (const request of cluster.broker.of(310).toReversed()) {
      const queueOffset = request.body.toString() === 'a' ? '1' : '2'
      request.answer({ extFields: { msgId: 'ID', queueId: '0', queueOffset } })
    }
    const receipts = await cluster.world.finish(Promise.all(sending))
    expect(receipts.map(receipt => receipt.queueOffset)).toEqual([1, 2])
  })

  test('bytes that are no frame close the connection', async () => {
    const { cluster, client } = await scene({ T: 1 })
    cluster.broker.setScript(request => {
      request.connection.write(Buffer.from('HTTP/1.1 400 Bad Request'))
      return undefined
    })
    const sending = cluster.world.finish(client.send({ topic: 'T', body: 'x' }))
    await expect(sending).rejects.toMatchObject({ code: 'CONNECTION_LOST' })
  })

  test('nobody listening is told at once', async () => {
    const cluster = new ScriptedCluster(1, {})
    const { platform } = cluster.world
    const connecting = connectRemoting({ platform, nameserver: NAMESERVER })
    await expect(cluster.world.finish(connecting)).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
    })
  })

  test.each(['nowhere', 'host:99999', ':1', 'a:b:1'])(
    'the address %s is refused',
    async nameserver => {
      const { platform } = new ScriptedCluster(1, {}).world
      const connecting = connectRemoting({ platform, nameserver })
      await expect(connecting).rejects.toMatchObject({ code: 'PARAMETER_INVALID' })
    },
  )
})

describe('staying connected', () => {
  test('a heartbeat goes out every 30 seconds', async () => {
    const { cluster, client } = await scene({ T: 1 })
    await cluster.world.finish(client.send({ topic: 'T', body: 'x' }))
    await cluster.world.runFor(95_000)
    const beats = cluster.broker.of(34).map(request => decodeHeartbeat(request.body))
    expect(beats).toHaveLength(4)
    expect(beats[0]).toMatchObject({ clientId: 'me', producerGroups: ['ORRERY_CLIENT'] })
  })

  test('a call of the server that wants an answer is told that it is not supported', async () => {
    const { cluster, client } = await scene({ T: 1 })
    await cluster.world.finish(client.send({ topic: 'T', body: 'x' }))
    cluster.broker.call(REQUEST_CODE.GET_CONSUMER_RUNNING_INFO, {}, false)
    await cluster.world.runFor(10)
    expect(cluster.broker.responses.map(header => header.code)).toEqual([3])
  })

  test('closing takes leave and leaves nothing open', async () => {
    const { cluster, client } = await scene({ T: 1 })
    await cluster.world.finish(client.send({ topic: 'T', body: 'x' }))
    await cluster.world.finish(client.close())
    expect(cluster.broker.of(35).map(request => request.fields)).toMatchObject([
      { clientID: 'me', producerGroup: 'ORRERY_CLIENT' },
    ])
    await cluster.world.runFor(100)
    expect(cluster.world.network.openCount).toBe(0)
    expect(await cluster.world.run(() => false)).toBe(false)
    expect(cluster.world.uptimeMs).toBeLessThan(10_000)
    await expect(client.send({ topic: 'T', body: 'x' })).rejects.toMatchObject({
      code: 'SHUTTING_DOWN',
    })
  })
})
