import { BrokerError } from '../../core/base/index.ts'

/** Queues of messages with a delay level, one per level. */
export const SCHEDULE_TOPIC = 'SCHEDULE_TOPIC_XXXX'
/** Accept records of messages with a deliver time. An Apache broker does not fire it. */
export const TIMER_TOPIC = 'rmq_sys_orrery_timer'
/**
 * Its queues: of accept records, of records that cancel one, of accept records with another deliver
 * time that replace one, and of accept records of messages with an own key, which may replace one;
 * of changes by filter, and of records that one was dropped because it was too late.
 */
export const TIMER_ACCEPT_QUEUE = 0
export const TIMER_CANCEL_QUEUE = 1
export const TIMER_MOVE_QUEUE = 2
export const TIMER_KEY_QUEUE = 3
/** Of changes by filter. */
export const TIMER_BULK_QUEUE = 4
export const TIMER_DROP_QUEUE = 5
/** Where an Apache broker and our wheel keep messages with a deliver time. */
export const APACHE_TIMER_TOPIC = 'rmq_sys_wheel_timer'
export const TRANSACTION_HALF_TOPIC = 'RMQ_SYS_TRANS_HALF_TOPIC'
export const TRANSACTION_OP_TOPIC = 'RMQ_SYS_TRANS_OP_HALF_TOPIC'
export const TRANSACTION_GIVEN_UP_TOPIC = 'TRANS_CHECK_MAX_TIME_TOPIC'
/** Its settings are those of a topic that is created on first use. */
export const AUTO_CREATE_TOPIC = 'TBW102'
/** Clients send traces to it. */
export const TRACE_TOPIC = 'RMQ_SYS_TRACE_TOPIC'
export const SELF_TEST_TOPIC = 'SELF_TEST_TOPIC'
export const OFFSET_MOVED_TOPIC = 'OFFSET_MOVED_EVENT'
export const BENCHMARK_TOPIC = 'BenchmarkTest'
export const CHECKPOINT_TOPIC = 'CHECKPOINT_TOPIC'

const SYSTEM_TOPIC_PREFIX = 'rmq_sys_'
const RETRY_TOPIC_PREFIX = '%RETRY%'
const DEAD_LETTER_TOPIC_PREFIX = '%DLQ%'

export const TOOLS_GROUP = 'TOOLS_CONSUMER'
export const SELF_TEST_GROUP = 'SELF_TEST_C_GROUP'
export const TRANSACTION_GROUP = 'CID_RMQ_SYS_TRANS'
const SYSTEM_GROUP_PREFIX = 'CID_RMQ_SYS_'

const TOPIC_LENGTH_MAX = 127
const GROUP_TOPIC_LENGTH_MAX = 255
const GROUP_LENGTH_MAX = 120
const NAME_CHARACTERS = /^[%|a-zA-Z0-9_-]+$/

const RESERVED_TOPICS: ReadonlySet<string> = new Set([
  SCHEDULE_TOPIC,
  TRANSACTION_HALF_TOPIC,
  TRANSACTION_OP_TOPIC,
  TRANSACTION_GIVEN_UP_TOPIC,
  SELF_TEST_TOPIC,
  OFFSET_MOVED_TOPIC,
])

const SYSTEM_TOPICS: ReadonlySet<string> = new Set([
  ...RESERVED_TOPICS,
  AUTO_CREATE_TOPIC,
  TRACE_TOPIC,
  BENCHMARK_TOPIC,
  CHECKPOINT_TOPIC,
])

const SYSTEM_GROUPS: ReadonlySet<string> = new Set([
  TOOLS_GROUP,
  'FILTERSRV_CONSUMER',
  SELF_TEST_GROUP,
  'CID_ONS-HTTP-PROXY',
  'CID_ONSAPI_PULL',
  'CID_ONSAPI_PERMISSION',
  'CID_ONSAPI_OWNER',
])

/** The topic from which a group gets again what it failed to consume. */
export function retryTopic(group: string): string {
  return RETRY_TOPIC_PREFIX + group
}

/** The topic of what a group failed to consume too often. */
export function deadLetterTopic(group: string): string {
  return DEAD_LETTER_TOPIC_PREFIX + group
}

export function isRetryTopic(name: string): boolean {
  return name.startsWith(RETRY_TOPIC_PREFIX)
}

function isDeadLetterTopic(name: string): boolean {
  return name.startsWith(DEAD_LETTER_TOPIC_PREFIX)
}

/** The group of a retry or dead letter topic; undefined for any other. */
export function groupOfTopic(name: string): string | undefined {
  if (isRetryTopic(name)) return name.slice(RETRY_TOPIC_PREFIX.length)
  if (isDeadLetterTopic(name)) return name.slice(DEAD_LETTER_TOPIC_PREFIX.length)
  return undefined
}

/** True for what exists in every broker. Those named after a cluster or broker are not known here. */
export function isSystemTopic(name: string): boolean {
  return SYSTEM_TOPICS.has(name) || name.startsWith(SYSTEM_TOPIC_PREFIX)
}

/** True for the queues of the timers' topic with the records by which messages are accepted first. */
export function isAcceptQueue(queueId: number): boolean {
  return queueId === TIMER_ACCEPT_QUEUE || queueId === TIMER_KEY_QUEUE
}

/** True for topics that only the broker itself writes. */
export function isReservedForSending(name: string): boolean {
  return RESERVED_TOPICS.has(name) || name.startsWith(SYSTEM_TOPIC_PREFIX)
}

export function isSystemGroup(name: string): boolean {
  return SYSTEM_GROUPS.has(name) || name.startsWith(SYSTEM_GROUP_PREFIX)
}

/** Errors: TOPIC_NAME_INVALID. Retry and dead letter topics name a group and may have 255 characters, others 127. */
export function checkTopicName(name: string): void {
  const group = groupOfTopic(name)
  const lengthMax = group === undefined ? TOPIC_LENGTH_MAX : GROUP_TOPIC_LENGTH_MAX
  if (group === '' || name.length > lengthMax || !NAME_CHARACTERS.test(name)) {
    throw new BrokerError('TOPIC_NAME_INVALID', { topic: shown(name) })
  }
}

/** Errors: GROUP_NAME_INVALID. */
export function checkGroupName(name: string): void {
  if (name.length > GROUP_LENGTH_MAX || !NAME_CHARACTERS.test(name)) {
    throw new BrokerError('GROUP_NAME_INVALID', { group: shown(name) })
  }
}

/** Bounded and without control characters, so that it can stand in a log line and an answer. */
function shown(name: string): string {
  return JSON.stringify(name.slice(0, GROUP_TOPIC_LENGTH_MAX))
}
