import { expect, test } from 'vitest'
import { RemotingWorld } from '../../../../test/support/remoting-world.ts'
import { ONEWAY_FLAG, REQUEST_CODE } from '../../../model/wire/index.ts'
import { servedProcessors } from './served.ts'

test.each([
  [REQUEST_CODE.END_TRANSACTION, 'END_TRANSACTION: transactions are not supported'],
  [REQUEST_CODE.POP_MESSAGE, 'POP_MESSAGE: pop consumption is not supported'],
  [REQUEST_CODE.BATCH_ACK_MESSAGE, 'BATCH_ACK_MESSAGE: pop consumption is not supported'],
  [REQUEST_CODE.GET_ROUTEINFO_BY_TOPIC, 'ask the name server'],
  [REQUEST_CODE.GET_CONSUME_STATS, '(GET_CONSUME_STATS)'],
  [4711, ' request type 4711 not supported'],
])('request %i is answered 3, by name and with advice', async (code, words) => {
  const world = await RemotingWorld.open({ processors: servedProcessors })
  const client = await world.connect()
  const answer = await client.ask({ code })
  expect(answer?.header.code).toBe(3)
  expect(answer?.header.remark).toContain(` request type ${code} not supported`)
  expect(answer?.header.remark).toContain(words)
})

test('what is not supported is logged once per code, also when it comes one-way', async () => {
  const world = await RemotingWorld.open({ processors: servedProcessors })
  const client = await world.connect()
  for (let round = 0; round < 5; round++) {
    client.send({ code: REQUEST_CODE.END_TRANSACTION, flag: ONEWAY_FLAG })
    await client.ask({ code: REQUEST_CODE.ACK_MESSAGE })
  }
  const logged = world.world.logLines.filter(({ message }) => message.includes('not supported'))
  expect(logged.map(({ fields }) => fields?.['name'])).toEqual(['END_TRANSACTION', 'ACK_MESSAGE'])
  expect(client.received.length).toBe(5)
})
