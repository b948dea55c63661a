import { expect, test } from 'vitest'
import { realTopicHash } from './real-topic-hash.ts'
import { sealedRecord } from './testing.ts'

function hashOfProperties(properties: string): number {
  const record = sealedRecord({ properties })
  const bytes = Buffer.concat([
    Buffer.alloc(9, 2),
    record,
    Buffer.from('REAL_TOPIC\u0001Behind\u0002'),
  ])
  return realTopicHash(bytes, 9)
}

const ORDERS = hashOfProperties('REAL_TOPIC\u0001Orders\u0002')

test('the hash of a topic is the same wherever the property stands', () => {
  expect(
    hashOfProperties('KEYS\u0001k\u0002REAL_TOPIC\u0001Orders\u0002REAL_QID\u00010\u0002'),
  ).toBe(ORDERS)
  expect(hashOfProperties('REAL_TOPIC\u0001Orders\u0002REAL_QID\u00010')).toBe(ORDERS)
  expect(
    hashOfProperties('REAL_TOPIC\u0001Old\u0002A\u0001b\u0002REAL_TOPIC\u0001Orders\u0002'),
  ).toBe(ORDERS)
})

test('the hash of another topic, of none, and of a name that only ends alike is another', () => {
  const none = hashOfProperties('KEYS\u0001k\u0002')
  expect(none).not.toBe(ORDERS)
  expect(hashOfProperties('REAL_TOPIC\u0001Order\u0002')).not.toBe(ORDERS)
  expect(hashOfProperties('UNREAL_TOPIC\u0001Orders\u0002')).toBe(none)
  expect(hashOfProperties('')).toBe(none)
})
