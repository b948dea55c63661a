import { expect, test } from 'vitest'
import {
  RemotingWorld,
  sendFields,
  type WireClient,
  type WireFrame,
} from '../../../../test/support/remoting-world.ts'
import { REQUEST_CODE } from '../../../model/wire/index.ts'
import { servedProcessors } from './served.ts'

const PLACE = { consumerGroup: 'g', topic: 'orders', queueId: '0' }

async function open(): Promise<{ readonly world: RemotingWorld; readonly client: WireClient }> {
  const world = await RemotingWorld.open({ processors: servedProcessors })
  const client = await world.connect()
  world.broker.groups.createOnUse('g')
  for (let index = 0; index < 3; index++) {
    await world.world.runFor(1000)
    const extFields = sendFields('orders')
    await client.ask({ code: REQUEST_CODE.SEND_MESSAGE_V2, extFields }, Buffer.from('hello'))
  }
  return { world, client }
}

function query(
  client: WireClient,
  changes: Record<string, string> = {},
): Promise<WireFrame | undefined> {
  const extFields = { ...PLACE, ...changes }
  return client.ask({ code: REQUEST_CODE.QUERY_CONSUMER_OFFSET, extFields })
}

function commit(
  client: WireClient,
  changes: Record<string, string> = {},
): Promise<WireFrame | undefined> {
  const extFields = { ...PLACE, commitOffset: '2', ...changes }
  return client.ask({ code: REQUEST_CODE.UPDATE_CONSUMER_OFFSET, extFields })
}

test('a committed offset is answered, also after it went back', async () => {
  const { client } = await open()
  expect((await commit(client))?.header.code).toBe(0)
  expect((await query(client))?.header).toMatchObject({ code: 0, extFields: { offset: '2' } })
  await commit(client, { commitOffset: '1' })
  expect((await query(client))?.header).toMatchObject({ code: 0, extFields: { offset: '1' } })
})

test('without a committed offset a young or empty queue begins at 0, unless the client objects', async () => {
  const { client } = await open()
  expect((await query(client))?.header).toMatchObject({ code: 0, extFields: { offset: '0' } })
  expect((await query(client, { queueId: '3' }))?.header.extFields).toMatchObject({ offset: '0' })
  expect((await query(client, { setZeroIfNotFound: 'true' }))?.header.code).toBe(0)
  expect((await query(client, { setZeroIfNotFound: 'false' }))?.header.code).toBe(22)
})

test.each([
  ['an unknown group', { consumerGroup: 'nobody' }, 26],
  ['an unknown topic', { topic: 'nothing' }, 17],
  ['a queue that the topic lacks', { queueId: '4' }, 29],
  ['a negative queue', { queueId: '-1' }, 29],
  ['a negative offset', { commitOffset: '-1' }, 29],
  ['an offset that is no number', { commitOffset: '1e3' }, 29],
  ['an offset beyond what a double holds', { commitOffset: '9223372036854775807' }, 29],
  ['no offset', { commitOffset: '' }, 29],
])('a commit with %s is refused and remembers nothing', async (_, changes, code) => {
  const { world, client } = await open()
  expect((await commit(client, changes))?.header.code).toBe(code)
  expect(world.broker.offsets.find('g', 'orders', 0)).toBeUndefined()
  expect(world.broker.offsets.find('nobody', 'orders', 0)).toBeUndefined()
})

test('the ends of a queue, and of one that is not there', async () => {
  const { client } = await open()
  const { GET_MAX_OFFSET, GET_MIN_OFFSET } = REQUEST_CODE
  const ends: (string | undefined)[] = []
  for (const [code, topic] of [
    [GET_MAX_OFFSET, 'orders'],
    [GET_MIN_OFFSET, 'orders'],
    [GET_MAX_OFFSET, 'nothing'],
    [GET_MIN_OFFSET, 'nothing'],
  ] as const) {
    const answer = await client.ask({ code, extFields: { topic, queueId: '0' } })
    ends.push(answer?.header.extFields['offset'])
  }
  expect(ends).toEqual(['3', '0', '0', '0'])
})

test('a time is found in a queue from below and from above', async () => {
  const { world, client } = await open()
  const queue = world.store.queue('orders', 0)
  const middleMs = await world.world.finish(world.store.storeTimeOf(queue, 1))
  const found = async (timestamp: number, boundaryType?: string): Promise<string | undefined> => {
    const extFields: Record<string, string> = {
      topic: 'orders',
      queueId: '0',
      timestamp: String(timestamp),
    }
    if (boundaryType !== undefined) extFields['boundaryType'] = boundaryType
    const answer = await client.ask({ code: REQUEST_CODE.SEARCH_OFFSET_BY_TIMESTAMP, extFields })
    return answer?.header.extFields['offset'] ?? answer?.header.remark
  }
  expect(await found(middleMs)).toBe('1')
  expect(await found(middleMs + 1)).toBe('2')
  expect(await found(middleMs + 1, 'UPPER')).toBe('1')
  expect(await found(0, 'LOWER')).toBe('0')
  expect(await found(middleMs * 2)).toBe('3')
  expect(await found(middleMs, 'SIDEWAYS')).toMatch(/^PARAMETER_INVALID/)
})
