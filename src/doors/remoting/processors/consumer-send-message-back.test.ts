import { expect, test } from 'vitest'
import {
  RemotingWorld,
  sendFields,
  type WireClient,
  type WireFrame,
} from '../../../../test/support/remoting-world.ts'
import { parseOffsetMessageId, SCHEDULE_TOPIC } from '../../../model/message/index.ts'
import { REQUEST_CODE } from '../../../model/wire/index.ts'
import { servedProcessors } from './served.ts'

async function open(): Promise<{
  readonly world: RemotingWorld
  readonly client: WireClient
  readonly back: (changes?: Record<string, string>) => Promise<WireFrame | undefined>
}> {
  const world = await RemotingWorld.open({ processors: servedProcessors })
  world.broker.groups.createOnUse('g')
  const client = await world.connect()
  const extFields = sendFields('orders')
  const sent = await client.ask({ code: REQUEST_CODE.SEND_MESSAGE_V2, extFields }, Buffer.from('x'))
  const offset = parseOffsetMessageId(sent?.header.extFields['msgId'] ?? '')?.commitLogOffset
  const back = (changes: Record<string, string> = {}): Promise<WireFrame | undefined> =>
    client.ask({
      code: REQUEST_CODE.CONSUMER_SEND_MSG_BACK,
      extFields: {
        group: 'g',
        offset: String(offset),
        delayLevel: '0',
        originMsgId: 'AB12',
        originTopic: 'orders',
        unitMode: 'false',
        maxReconsumeTimes: '16',
        ...changes,
      },
    })
  return { world, client, back }
}

test('a message sent back is durable when that is answered', async () => {
  const { world, back } = await open()
  expect((await back())?.header.code).toBe(0)
  world.world.crash()
  const { store, broker } = await RemotingWorld.reopen(world.world)
  expect(store.queue(SCHEDULE_TOPIC, 2).maxOffset).toBe(1)
  expect(broker.topics.find('%RETRY%g')).toBeDefined()
})

test('a consumer that wants no retries has its message among the dead letters', async () => {
  const { world, back } = await open()
  expect((await back({ maxReconsumeTimes: '0' }))?.header.code).toBe(0)
  expect(world.store.queue('%DLQ%g', 0).maxOffset).toBe(1)
})

test('a unit has its own kind of retry topic', async () => {
  const { world, back } = await open()
  await back({ unitMode: 'true' })
  expect(world.broker.topics.get('%RETRY%g').topicSysFlag).toBe(2)
})

test.each([
  ['an unknown group', { group: 'nobody' }, 26],
  ['a place without a message', { offset: '7' }, 1],
  ['no place', { offset: '' }, 29],
  ['a level that is no number', { delayLevel: 'soon' }, 29],
  ['a limit beyond 32 bits', { maxReconsumeTimes: '2147483648' }, 29],
])('%s is refused', async (_, changes, code) => {
  const { world, back } = await open()
  const { endOffset } = world.store
  expect((await back(changes))?.header.code).toBe(code)
  expect(world.store.endOffset).toBe(endOffset)
})
