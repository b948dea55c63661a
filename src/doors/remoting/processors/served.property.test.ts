import {
  asyncProperty,
  assert,
  constant,
  constantFrom,
  dictionary,
  integer,
  json,
  oneof,
  string,
} from 'fast-check'
import { expect, test } from 'vitest'
import { RemotingWorld } from '../../../../test/support/remoting-world.ts'
import { servedProcessors } from './served.ts'

const names = constantFrom(
  'topic',
  'consumerGroup',
  'producerGroup',
  'group',
  'clientID',
  'queueId',
  'offset',
  'commitOffset',
  'timestamp',
  'delayLevel',
  'maxReconsumeTimes',
  'readQueueNums',
  'writeQueueNums',
  'perm',
  'attributes',
  'boundaryType',
  'unitMode',
  'key',
  'maxNum',
  'beginTimestamp',
  'endTimestamp',
)
const values = oneof(
  constantFrom('orders', 'g', 'TBW102', '%RETRY%g', 'SCHEDULE_TOPIC_XXXX', '../..', '__proto__'),
  constantFrom('0', '-1', '1', '4', '2147483647', '-2147483648', '9007199254740991', '1e9', 'NaN'),
  constantFrom('true', 'false', '+message.type=FIFO', 'UPPER'),
  string({ maxLength: 20 }),
)
const bodies = oneof(
  constant(''),
  json(),
  constantFrom(
    '{"clientID":"a","consumerDataSet":[{"groupName":"g","subscriptionDataSet":[{"topic":"T"}]}]}',
    '{"clientId":"a","consumerGroup":"g","mqSet":[{"topic":"orders","brokerName":"b","queueId":-5}]}',
    '{"groupName":"__proto__","retryQueueNums":2}',
    '{"clientId":"a","group":"g","subscriptionData":{"topic":"T","expressionType":"SQL92"}}',
    '{{"a":1}:2,3:[',
    '['.repeat(5000),
  ),
  string({ maxLength: 40 }),
)

test('whatever is in a request, it is answered and the connection stays', async () => {
  const world = await RemotingWorld.open({ processors: servedProcessors })
  world.broker.groups.createOnUse('g')
  world.broker.topics.createOnUse('orders', 4)
  const client = await world.connect()
  const codes = servedProcessors.map(({ code }) => code)
  const isAnswered = asyncProperty(
    constantFrom(...codes),
    dictionary(names, values, { maxKeys: 8 }),
    bodies,
    integer({ min: 0, max: 600 }),
    async (code, extFields, body, version) => {
      const answer = await client.ask({ code, extFields, version }, Buffer.from(body))
      expect(answer?.header.code).toBeGreaterThanOrEqual(0)
      expect(client.isClosed).toBe(false)
    },
  )
  await assert(isAnswered, { numRuns: 1500 })
  const unforeseen = world.world.logLines.filter(({ message }) => message.includes('unforeseen'))
  expect(unforeseen).toEqual([])
})
