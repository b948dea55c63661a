import { expect, test } from 'vitest'
import {
  RemotingWorld,
  sendFields,
  type WireClient,
  type WireFrame,
} from '../../../../test/support/remoting-world.ts'
import { decodeRecords, PROPERTY } from '../../../model/message/index.ts'
import { REQUEST_CODE } from '../../../model/wire/index.ts'
import { servedProcessors } from './served.ts'

interface Scene {
  readonly world: RemotingWorld
  readonly client: WireClient
}

async function open(hasIndex = true): Promise<Scene> {
  const world = await RemotingWorld.open({ processors: servedProcessors, hasIndex })
  return { world, client: await world.connect() }
}

/** Sends a message and resolves to its place in the log. */
async function send(
  { client }: Scene,
  properties: Readonly<Record<string, string>>,
): Promise<number> {
  const extFields = sendFields('orders', properties)
  const answer = await client.ask(
    { code: REQUEST_CODE.SEND_MESSAGE_V2, extFields },
    Buffer.from(`of ${properties['UNIQ_KEY']}`),
  )
  expect(answer?.header.code).toBe(0)
  return Number.parseInt(answer?.header.extFields['msgId']?.slice(-16) ?? '', 16)
}

function query(
  { client }: Scene,
  changes: Readonly<Record<string, string>>,
): Promise<WireFrame | undefined> {
  const extFields = {
    topic: 'orders',
    key: 'k',
    maxNum: '32',
    beginTimestamp: '0',
    endTimestamp: '9223372036854775807',
    ...changes,
  }
  return client.ask({ code: REQUEST_CODE.QUERY_MESSAGE, extFields })
}

/** Unique keys of the messages in an answer. */
function keysOf(answer: WireFrame | undefined): readonly (string | undefined)[] {
  const messages = decodeRecords(answer?.body ?? Buffer.alloc(0))
  return messages.map(({ properties }) => properties.get(PROPERTY.UNIQ_KEY))
}

test('messages are found by key, the newest, in the order of the log', async () => {
  const scene = await open()
  const offsets: number[] = []
  for (let number = 0; number < 70; number++) {
    offsets.push(await send(scene, { UNIQ_KEY: `u${number}`, KEYS: `k k${number % 2}` }))
  }
  const answer = await query(scene, { key: 'k1', maxNum: '3' })
  expect(answer?.header.code).toBe(0)
  expect(keysOf(answer)).toEqual(['u65', 'u67', 'u69'])
  const newest = decodeRecords(answer?.body ?? Buffer.alloc(0)).at(-1)
  expect(answer?.header.extFields).toMatchObject({
    indexLastUpdateTimestamp: String(newest?.storeTimeMs),
    indexLastUpdatePhyoffset: String(offsets.at(-1)),
  })
  const [first] = decodeRecords(answer?.body ?? Buffer.alloc(0))
  expect(first?.body.toString()).toBe('of u65')
  expect(keysOf(await query(scene, { maxNum: '1000' }))).toHaveLength(64)
})

test('a search for the unique key takes no other key, and at most 32', async () => {
  const scene = await open()
  await send(scene, { UNIQ_KEY: 'u1', KEYS: 'u2' })
  const isUnique = { _UNIQUE_KEY_QUERY: 'true' }
  expect(keysOf(await query(scene, { key: 'u1', ...isUnique }))).toEqual(['u1'])
  expect((await query(scene, { key: 'u2', ...isUnique }))?.header.code).toBe(22)
  expect(keysOf(await query(scene, { key: 'u2', _UNIQUE_KEY_QUERY: 'false' }))).toEqual(['u1'])
  for (let number = 0; number < 40; number++) await send(scene, { UNIQ_KEY: 'twice' })
  expect(keysOf(await query(scene, { key: 'twice', maxNum: '1', ...isUnique }))).toHaveLength(32)
})

test('a message that waits is found as it was accepted, and delivered as that alone', async () => {
  const scene = await open()
  await send(scene, { UNIQ_KEY: 'u1', KEYS: 'k', TIMER_DELAY_SEC: '60' })
  const waiting = await query(scene, {})
  expect(decodeRecords(waiting?.body ?? Buffer.alloc(0)).map(({ topic }) => topic)).toEqual([
    'rmq_sys_orrery_timer',
  ])
  // There are no timers here: what one would publish.
  await send(scene, { UNIQ_KEY: 'u1', KEYS: 'k' })
  const delivered = await query(scene, {})
  expect(decodeRecords(delivered?.body ?? Buffer.alloc(0)).map(({ topic }) => topic)).toEqual([
    'orders',
  ])
})

test('what is not there is answered 22, with how far the index goes', async () => {
  const scene = await open()
  const empty = await query(scene, {})
  expect(empty?.header).toMatchObject({
    code: 22,
    extFields: { indexLastUpdateTimestamp: '0', indexLastUpdatePhyoffset: '0' },
  })
  await send(scene, { UNIQ_KEY: 'u1', KEYS: 'k' })
  expect((await query(scene, { topic: 'other' }))?.header.code).toBe(22)
  expect((await query(scene, { endTimestamp: '5' }))?.header.code).toBe(22)
  expect((await query(scene, { maxNum: '0' }))?.header.code).toBe(22)
  expect((await query(scene, {}))?.header.code).toBe(0)
})

test.each([
  ['no topic', { topic: '' }],
  ['no key', { key: '' }],
  ['no number of messages', { maxNum: '' }],
  ['a time that is no number', { beginTimestamp: 'now' }],
  ['a flag that is neither true nor false', { _UNIQUE_KEY_QUERY: 'yes' }],
])('a query with %s is refused', async (_, changes) => {
  const scene = await open()
  expect((await query(scene, changes))?.header.code).toBe(29)
})

test('a broker without index refuses and names the option', async () => {
  const scene = await open(false)
  const answer = await query(scene, {})
  expect(answer?.header.code).toBe(3)
  expect(answer?.header.remark).toContain('messageIndexEnable')
})
