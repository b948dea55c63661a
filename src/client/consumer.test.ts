import { expect, test } from 'vitest'
import { decodeHeartbeat } from '../model/wire/index.ts'
import { type BrokerClient, connectRemoting } from './broker-client.ts'
import { Consumer, type ConsumerOptions } from './consumer.ts'
import { PullConsumer } from './pull-consumer.ts'
import type { ReceivedMessage } from './received-message.ts'
import { NAMESERVER, ScriptedCluster } from './testing/scripted-cluster.ts'

async function clusterWith(topics: Record<string, number>): Promise<ScriptedCluster> {
  const cluster = new ScriptedCluster(1, topics)
  await cluster.start()
  return cluster
}

function clientOf(cluster: ScriptedCluster, clientId: string): Promise<BrokerClient> {
  const { platform } = cluster.world
  return cluster.world.finish(connectRemoting({ platform, nameserver: NAMESERVER, clientId }))
}

async function consumerOf(
  cluster: ScriptedCluster,
  options: Partial<ConsumerOptions>,
  clientId = 'me',
): Promise<Consumer> {
  const client = await clientOf(cluster, clientId)
  const consumer = new Consumer(client, {
    group: 'g',
    subscriptions: { T: '*' },
    handler: () => undefined,
    ...options,
  })
  await cluster.world.finish(consumer.start())
  return consumer
}

function failing(): never {
  throw new Error('cannot')
}

/** Queues of T that a consumer has. */
function idsOf(consumer: Consumer): readonly number[] {
  return consumer.queues
    .filter(target => target.queue.topic === 'T')
    .map(target => target.queue.queueId)
    .toSorted((a, b) => a - b)
}

/** Message `name` in a queue of T. */
function put(cluster: ScriptedCluster, queueId: number, name: string, tags = 'A'): void {
  cluster.put(queueId, { topic: 'T', tags, body: name })
}

test('a new group starts at the first message and hears of later ones', async () => {
  const cluster = await clusterWith({ T: 2, '%RETRY%g': 1 })
  put(cluster, 0, 'a')
  put(cluster, 1, 'b')
  const seen: ReceivedMessage[] = []
  await consumerOf(cluster, { handler: message => void seen.push(message) })
  await cluster.world.runFor(100)
  put(cluster, 1, 'c')
  await cluster.world.runFor(100)
  expect(seen.map(message => message.messageId).toSorted()).toEqual(['a', 'b', 'c'])
  expect(seen.find(message => message.messageId === 'c')).toMatchObject({
    topic: 'T',
    tags: 'A',
    brokerName: 'broker-a',
    queueId: 1,
    queueOffset: 1,
  })
})

test.each([
  [{ group: 'g g' }, 'GROUP_NAME_INVALID'],
  [{ subscriptions: { 'T T': '*' } }, 'TOPIC_NAME_INVALID'],
  [{ subscriptions: { T: '||' } }, 'SUBSCRIPTION_INVALID'],
])('a consumer with %j is refused before it connects', async (options, code) => {
  const cluster = await clusterWith({})
  await expect(consumerOf(cluster, options)).rejects.toMatchObject({ code })
})

test('a group that starts last misses what was there before it', async () => {
  const cluster = await clusterWith({ T: 1, '%RETRY%g': 1 })
  put(cluster, 0, 'old')
  const seen: string[] = []
  const handler = (message: ReceivedMessage): void => void seen.push(message.messageId)
  await consumerOf(cluster, { startAt: 'last', handler })
  await cluster.world.runFor(100)
  put(cluster, 0, 'new')
  await cluster.world.runFor(100)
  expect(seen).toEqual(['new'])
})

test('the heartbeat tells the subscriptions with their hashes', async () => {
  const cluster = await clusterWith({ T: 1, '%RETRY%g': 1 })
  await consumerOf(cluster, { subscriptions: { T: 'TagA || TagB' } })
  const beat = decodeHeartbeat(cluster.broker.of(34).at(-1)?.body ?? Buffer.alloc(0))
  expect(beat.consumers[0]).toMatchObject({
    group: 'g',
    messageModel: 'CLUSTERING',
    subscriptions: [
      { topic: 'T', tagsSet: ['TagA', 'TagB'], codeSet: [2_598_919, 2_598_920] },
      { topic: '%RETRY%g', subString: '*', tagsSet: [] },
    ],
  })
})

test('messages whose tags only share the hash are passed over', async () => {
  const cluster = await clusterWith({ T: 1, '%RETRY%g': 1 })
  put(cluster, 0, 'wanted', 'AaAa')
  put(cluster, 0, 'same hash', 'BBBB')
  const seen: string[] = []
  const handler = (message: ReceivedMessage): void => void seen.push(message.messageId)
  const consumer = await consumerOf(cluster, { subscriptions: { T: 'AaAa' }, handler })
  await cluster.world.runFor(100)
  await cluster.world.finish(consumer.stop())
  expect(seen).toEqual(['wanted'])
  expect(cluster.offsets.get('T/0')).toBe(2)
})

test('what a handler fails on is sent back and does not hold up the queue', async () => {
  const cluster = await clusterWith({ T: 1, '%RETRY%g': 1 })
  put(cluster, 0, 'bad')
  put(cluster, 0, 'good')
  const seen: string[] = []
  const handler = (message: ReceivedMessage): void => {
    if (message.messageId === 'bad') throw new Error('cannot')
    seen.push(message.messageId)
  }
  await consumerOf(cluster, { handler, retryTimesMax: 2 })
  await cluster.world.runFor(100)
  expect(seen).toEqual(['good'])
  expect(cluster.broker.of(36).map(request => request.fields)).toMatchObject([
    { offset: '1000', group: 'g', delayLevel: '0', originTopic: 'T', maxReconsumeTimes: '2' },
  ])
})

test('a send-back that fails is tried again before the queue goes on', async () => {
  const cluster = await clusterWith({ T: 1, '%RETRY%g': 1 })
  put(cluster, 0, 'bad')
  put(cluster, 0, 'good')
  const seen: string[] = []
  const handler = (message: ReceivedMessage): void => {
    if (message.messageId === 'bad') throw new Error('cannot')
    seen.push(message.messageId)
  }
  cluster.broker.setScript(request =>
    request.code === 36 ? { code: 1, remark: 'not now' } : cluster.answer(request),
  )
  const consumer = await consumerOf(cluster, { handler })
  await cluster.world.runFor(2_500)
  expect(seen).toEqual([])
  expect(cluster.broker.of(36).length).toBeGreaterThan(1)
  cluster.broker.setScript(request => cluster.answer(request))
  await cluster.world.runFor(2_000)
  expect(seen).toEqual(['good'])
  await cluster.world.finish(consumer.stop())
})

test('stopping while a send-back fails leaves the message to be consumed again', async () => {
  const cluster = await clusterWith({ T: 1, '%RETRY%g': 1 })
  put(cluster, 0, 'bad')
  cluster.broker.setScript(request =>
    request.code === 36 ? { code: 1, remark: 'not now' } : cluster.answer(request),
  )
  const consumer = await consumerOf(cluster, { handler: failing })
  await cluster.world.runFor(500)
  await cluster.world.finish(consumer.stop())
  expect(cluster.offsets.get('T/0') ?? 0).toBe(0)
})

test('queues are divided again when a member comes and when it goes', async () => {
  const cluster = await clusterWith({ T: 4, '%RETRY%g': 1 })
  const first = await consumerOf(cluster, {}, 'member-1')
  expect(idsOf(first)).toEqual([0, 1, 2, 3])
  const second = await consumerOf(cluster, {}, 'member-2')
  await cluster.world.runFor(100)
  expect(idsOf(first)).toEqual([0, 1])
  expect(idsOf(second)).toEqual([2, 3])
  await cluster.world.finish(second.stop())
  await cluster.world.runFor(21_000)
  expect(idsOf(first)).toEqual([0, 1, 2, 3])
})

test('a topic that does not exist yet is found soon after it does', async () => {
  const cluster = await clusterWith({ '%RETRY%g': 1 })
  const seen: string[] = []
  const handler = (message: ReceivedMessage): void => void seen.push(message.messageId)
  await consumerOf(cluster, { handler })
  cluster.topics['T'] = 1
  put(cluster, 0, 'a')
  await cluster.world.runFor(1_500)
  expect(seen).toEqual(['a'])
})

test('a consumer that has taken as many as it may leaves the rest to others', async () => {
  const cluster = await clusterWith({ T: 1, '%RETRY%g': 1 })
  for (const name of ['a', 'b', 'c']) put(cluster, 0, name)
  const seen: string[] = []
  const handler = (message: ReceivedMessage): void => void seen.push(message.messageId)
  const consumer = await consumerOf(cluster, { handler, messagesMax: 2 })
  await cluster.world.runFor(1_000)
  await cluster.world.finish(consumer.stop())
  expect(seen).toEqual(['a', 'b'])
  expect(cluster.offsets.get('T/0')).toBe(2)
})

test('stopping waits for the handler, commits and leaves nothing open', async () => {
  const cluster = await clusterWith({ T: 1, '%RETRY%g': 1 })
  put(cluster, 0, 'a')
  put(cluster, 0, 'b')
  const waiting: (() => void)[] = []
  const handler = (): Promise<void> => new Promise(resolve => void waiting.push(resolve))
  const client = await clientOf(cluster, 'me')
  const consumer = new Consumer(client, { group: 'g', subscriptions: { T: '*' }, handler })
  await cluster.world.finish(consumer.start())
  await cluster.world.runFor(100)
  const stopping = consumer.stop()
  await cluster.world.runFor(100)
  expect(cluster.offsets.get('T/0')).toBeUndefined()
  waiting[0]?.()
  await cluster.world.finish(stopping)
  expect(cluster.offsets.get('T/0')).toBe(1)
  expect(cluster.members.size).toBe(0)
  await cluster.world.finish(client.close())
  await cluster.world.runFor(100)
  expect(cluster.world.network.openCount).toBe(0)
  // What is left is the end of the connections; a timer of ours would come again and again.
  const startMs = cluster.world.uptimeMs
  expect(await cluster.world.run(() => false)).toBe(false)
  expect(cluster.world.uptimeMs - startMs).toBeLessThan(3_000)
})

test('offsets are committed every five seconds', async () => {
  const cluster = await clusterWith({ T: 1, '%RETRY%g': 1 })
  put(cluster, 0, 'a')
  await consumerOf(cluster, {})
  await cluster.world.runFor(6_000)
  expect(cluster.offsets.get('T/0')).toBe(1)
  const commits = cluster.broker.of(15).length
  await cluster.world.runFor(11_000)
  expect(cluster.broker.of(15)).toHaveLength(commits)
})

test('a consumer goes on after its connection was cut', async () => {
  const cluster = await clusterWith({ T: 1, '%RETRY%g': 1 })
  const seen: string[] = []
  const handler = (message: ReceivedMessage): void => void seen.push(message.messageId)
  await consumerOf(cluster, { handler })
  await cluster.world.runFor(100)
  for (const connection of cluster.broker.connections) connection.destroy()
  await cluster.world.runFor(2_000)
  put(cluster, 0, 'a')
  await cluster.world.runFor(100)
  expect(seen).toEqual(['a'])
})

test('an offset outside the queue is moved to where the broker says', async () => {
  const cluster = await clusterWith({ T: 1, '%RETRY%g': 1 })
  cluster.offsets.set('T/0', 500)
  put(cluster, 0, 'a')
  let moves = 0
  cluster.broker.setScript(request => {
    if (request.code !== 11 || request.fields['queueOffset'] !== '500') {
      return cluster.answer(request)
    }
    moves++
    const extFields = { suggestWhichBrokerId: '0', nextBeginOffset: '0', minOffset: '0' }
    return { code: 21, extFields: { ...extFields, maxOffset: '1' } }
  })
  const seen: string[] = []
  const handler = (message: ReceivedMessage): void => void seen.push(message.messageId)
  await consumerOf(cluster, { handler })
  await cluster.world.runFor(100)
  expect([moves, seen]).toEqual([1, ['a']])
})

test('the pull consumer reads and keeps offsets', async () => {
  const cluster = await clusterWith({ T: 1 })
  put(cluster, 0, 'a')
  put(cluster, 0, 'b')
  const puller = new PullConsumer(await clientOf(cluster, 'me'), 'g')
  const finish = <T>(promise: Promise<T>): Promise<T> => cluster.world.finish(promise)
  const [target] = await finish(puller.queues('T'))
  if (target === undefined) throw new Error('no queue')
  expect(await finish(puller.committedOffset(target))).toBeUndefined()
  expect(await finish(puller.minOffset(target))).toBe(0)
  expect(await finish(puller.maxOffset(target))).toBe(2)
  const result = await finish(puller.pull(target, { offset: 1, waitMs: 0 }))
  expect(result).toMatchObject({ kind: 'found', nextOffset: 2, minOffset: 0, maxOffset: 2 })
  expect(result.messages.map(message => message.body.toString())).toEqual(['b'])
  await finish(puller.commitOffset(target, 2))
  expect(await finish(puller.committedOffset(target))).toBe(2)
})
