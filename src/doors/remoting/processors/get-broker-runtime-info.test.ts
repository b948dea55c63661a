import { expect, test } from 'vitest'
import { RemotingWorld, sendFields } from '../../../../test/support/remoting-world.ts'
import { decodeKvTable, REQUEST_CODE } from '../../../model/wire/index.ts'
import { servedProcessors } from './served.ts'

/** What mqadmin's clusterList and brokerStatus read; see docs/protocol/remoting.md. */
const NEEDED_BY_TOOLS = [
  'brokerVersionDesc',
  'brokerActive',
  'putTps',
  'getTransferredTps',
  'sendThreadPoolQueueSize',
  'pullThreadPoolQueueSize',
  'ackThreadPoolQueueSize',
  'sendThreadPoolQueueHeadWaitTimeMills',
  'pullThreadPoolQueueHeadWaitTimeMills',
  'ackThreadPoolQueueHeadWaitTimeMills',
  'pageCacheLockTimeMills',
  'earliestMessageTimeStamp',
  'commitLogDiskRatio',
  'timerReadBehind',
  'timerOffsetBehind',
  'timerCongestNum',
  'timerEnqueueTps',
  'timerDequeueTps',
  'msgPutTotalYesterdayMorning',
  'msgPutTotalTodayMorning',
  'msgPutTotalTodayNow',
  'msgGetTotalYesterdayMorning',
  'msgGetTotalTodayMorning',
  'msgGetTotalTodayNow',
]

test('the runtime info is made at most ten times a second', async () => {
  const world = await RemotingWorld.open({ processors: servedProcessors })
  const client = await world.connect()
  const code = REQUEST_CODE.GET_BROKER_RUNTIME_INFO
  let spaceCalls = 0
  const { files } = world.world.platform
  const space = files.space.bind(files)
  files.space = path => {
    spaceCalls++
    return space(path)
  }
  const startMs = world.world.uptimeMs
  for (let count = 0; count < 1000; count++) client.send({ code })
  await world.world.run(() => client.received.length === 1000)
  expect(client.received.map(({ header }) => header.code)).toEqual(Array(1000).fill(0))
  expect(spaceCalls).toBeGreaterThan(0)
  expect(spaceCalls).toBeLessThanOrEqual(1 + (world.world.uptimeMs - startMs) / 100)
})

test('the runtime info has what the tools need, and tells what happened', async () => {
  const world = await RemotingWorld.open({ processors: servedProcessors })
  world.broker.start()
  const ask = async (): Promise<ReadonlyMap<string, string>> => {
    const client = await world.connect()
    const answer = await client.ask({ code: REQUEST_CODE.GET_BROKER_RUNTIME_INFO })
    expect(answer?.header.code).toBe(0)
    return decodeKvTable(answer?.body ?? Buffer.alloc(0))
  }
  const empty = await ask()
  expect(empty.get('earliestMessageTimeStamp')).toBe('-1')
  expect(empty.get('msgPutTotalTodayNow')).toBe('0')
  await world.world.runFor(3_721_000)
  world.world.stepClock(86_400_000)
  await world.world.runFor(2_000)
  const sentAtMs = world.world.platform.clock.timeMs()
  const client = await world.connect()
  const extFields = sendFields('orders')
  await client.ask({ code: REQUEST_CODE.SEND_MESSAGE_V2, extFields }, Buffer.from('hello'))
  const channel = { remoteHost: '10.0.0.1', remotePort: 1, send: () => undefined }
  world.broker.clients.heartbeat(channel, {
    clientId: 'a',
    language: 'GO',
    version: 1,
    producerGroups: ['p'],
    consumers: [],
  })
  const info = await ask()
  expect(info.get('orreryClients')).toBe('1')
  expect(info.get('orreryClockStepsForward')).toBe('1')
  expect(info.get('orreryClockStepsBack')).toBe('0')
  for (const name of NEEDED_BY_TOOLS) expect(info.get(name), name).toBeDefined()
  expect(info.get('msgPutTotalTodayNow')).toBe('1')
  expect(info.get('putMessageSizeTotal')).toBe('5')
  expect(Number(info.get('putTps')?.split(' ')[0])).toBeGreaterThan(0)
  expect(Number(info.get('earliestMessageTimeStamp'))).toBeGreaterThanOrEqual(sentAtMs)
  expect(info.get('runtime')).toMatch(/^\[ 0 days, 1 hours, 2 minutes, 3 seconds \]$/)
  const { endOffset, appliedOffset } = world.store
  expect(info.get('orreryLogEndOffset')).toBe(String(endOffset))
  expect(info.get('orreryAppliedOffset')).toBe(String(appliedOffset))
  expect(Number(info.get('orreryCheckpointOffset'))).toBeLessThanOrEqual(appliedOffset)
  expect(info.get('orreryWaitingMessages')).toBe('5')
  expect(info.get('orreryParkedMessages')).toBe('3')
  expect(info.get('timerCongestNum')).toBe('3')
  expect(info.get('orreryLostMessages')).toBe('2')
})

test('the settings are answered as lines, with a version', async () => {
  const world = await RemotingWorld.open({ processors: servedProcessors })
  const client = await world.connect()
  const answer = await client.ask({ code: REQUEST_CODE.GET_BROKER_CONFIG })
  expect(answer?.header.code).toBe(0)
  expect(JSON.parse(answer?.header.extFields['version'] ?? '')).toEqual({
    counter: 0,
    stateVersion: 0,
    timestamp: world.broker.statistics.startTimeMs,
  })
})
