import { describe, expect, test } from 'vitest'
import { codeOf } from './testing.ts'
import {
  checkGroupName,
  checkTopicName,
  deadLetterTopic,
  groupOfTopic,
  isReservedForSending,
  isSystemGroup,
  isSystemTopic,
  retryTopic,
} from './index.ts'

describe('a topic name', () => {
  test.each(['T', 'a'.repeat(127), 'ns%topic', 'a|b_c-9', retryTopic('g'.repeat(120))])(
    '%s is accepted',
    name => {
      expect(codeOf(() => checkTopicName(name))).toBeUndefined()
    },
  )

  test.each([
    '',
    'a'.repeat(128),
    'a b',
    'a.b',
    'ä',
    'a\n',
    `%DLQ%${'g'.repeat(251)}`,
    '%RETRY%.',
    '%RETRY%',
    '%DLQ%',
  ])('%j is refused', name => {
    expect(codeOf(() => checkTopicName(name))).toBe('TOPIC_NAME_INVALID')
  })

  test('that is refused is shown cut and without control characters', () => {
    expect(() => checkTopicName(`\u0007${'a'.repeat(10_000)}`)).toThrow(/^[ -~]{1,400}$/)
  })
})

test('a group name has at most 120 characters', () => {
  expect(codeOf(() => checkGroupName('g'.repeat(120)))).toBeUndefined()
  for (const name of ['', 'g'.repeat(121), 'a b', 'a/b']) {
    expect(codeOf(() => checkGroupName(name))).toBe('GROUP_NAME_INVALID')
  }
})

test('the group is read from its retry and dead letter topics', () => {
  expect(retryTopic('g')).toBe('%RETRY%g')
  expect(deadLetterTopic('g')).toBe('%DLQ%g')
  expect(groupOfTopic('%RETRY%g')).toBe('g')
  expect(groupOfTopic('%DLQ%g')).toBe('g')
  expect(groupOfTopic('g')).toBeUndefined()
})

describe('the topics of the broker', () => {
  test.each([
    'SCHEDULE_TOPIC_XXXX',
    'RMQ_SYS_TRANS_HALF_TOPIC',
    'RMQ_SYS_TRANS_OP_HALF_TOPIC',
    'TRANS_CHECK_MAX_TIME_TOPIC',
    'SELF_TEST_TOPIC',
    'OFFSET_MOVED_EVENT',
    'rmq_sys_wheel_timer',
    'rmq_sys_orrery_timer',
  ])('%s takes no sends', name => {
    expect(isReservedForSending(name)).toBe(true)
    expect(isSystemTopic(name)).toBe(true)
  })

  test.each(['RMQ_SYS_TRACE_TOPIC', 'BenchmarkTest', 'TBW102'])('%s takes sends', name => {
    expect(isReservedForSending(name)).toBe(false)
    expect(isSystemTopic(name)).toBe(true)
  })

  test.each(['TopicTest', '%RETRY%g', 'schedule_topic_xxxx'])('%s is not one of them', name => {
    expect(isReservedForSending(name)).toBe(false)
    expect(isSystemTopic(name)).toBe(false)
  })
})

test('the groups of tools and of the broker are told from others', () => {
  expect(isSystemGroup('TOOLS_CONSUMER')).toBe(true)
  expect(isSystemGroup('CID_RMQ_SYS_TRANS')).toBe(true)
  expect(isSystemGroup('CID_ONSAPI_OWNER')).toBe(true)
  expect(isSystemGroup('my_group')).toBe(false)
})
