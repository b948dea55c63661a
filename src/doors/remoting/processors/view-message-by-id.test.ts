import { expect, test } from 'vitest'
import {
  RemotingWorld,
  sendFields,
  type WireClient,
  type WireFrame,
} from '../../../../test/support/remoting-world.ts'
import { decodeRecords } from '../../../model/message/index.ts'
import { REQUEST_CODE } from '../../../model/wire/index.ts'
import { servedProcessors } from './served.ts'

async function open(): Promise<{ readonly client: WireClient; readonly offsets: number[] }> {
  const world = await RemotingWorld.open({ processors: servedProcessors })
  const client = await world.connect()
  const offsets: number[] = []
  for (const body of ['first', 'second']) {
    const request = { code: REQUEST_CODE.SEND_MESSAGE_V2, extFields: sendFields('orders') }
    const answer = await client.ask(request, Buffer.from(body))
    offsets.push(Number.parseInt(answer?.header.extFields['msgId']?.slice(-16) ?? '', 16))
  }
  return { client, offsets }
}

function view(
  client: WireClient,
  extFields: Record<string, string>,
): Promise<WireFrame | undefined> {
  return client.ask({ code: REQUEST_CODE.VIEW_MESSAGE_BY_ID, extFields })
}

test('a message is read at its place, with and without a topic', async () => {
  const { client, offsets } = await open()
  const [, second = -1] = offsets
  for (const topic of [{ topic: 'orders' }, {}]) {
    const answer = await view(client, { offset: String(second), ...topic })
    expect(answer?.header.code).toBe(0)
    const [message] = decodeRecords(answer?.body ?? Buffer.alloc(0))
    expect(message?.body.toString()).toBe('second')
    expect(message?.commitLogOffset).toBe(second)
  }
})

test.each(['7', '-1', '100000', '9007199254740991'])('at %s lies none', async offset => {
  const { client } = await open()
  const answer = await view(client, { offset, topic: 'orders' })
  expect(answer?.header.code).toBe(1)
  expect(answer?.header.remark).toBe(`can not find message by the offset, ${offset}`)
})

test.each(['', 'x', '1e3'])('"%s" is no place', async offset => {
  const { client } = await open()
  expect((await view(client, { offset }))?.header.code).toBe(29)
})
