import {
  APACHE_TIMER_TOPIC,
  AUTO_CREATE_TOPIC,
  BENCHMARK_TOPIC,
  CHECKPOINT_TOPIC,
  checkTopicName,
  OFFSET_MOVED_TOPIC,
  SCHEDULE_TOPIC,
  SELF_TEST_TOPIC,
  TIMER_TOPIC,
  TRACE_TOPIC,
  TRANSACTION_GIVEN_UP_TOPIC,
  TRANSACTION_HALF_TOPIC,
  TRANSACTION_OP_TOPIC,
} from '../../model/message/index.ts'
import { PERM_INHERIT } from '../../model/wire/index.ts'
import { PERM_DEFAULT, plainTopic, type TopicSettings } from './topic-settings.ts'

const PERM_TEMPLATE: number = PERM_DEFAULT + PERM_INHERIT

/** The topics that are there from the start, as in an Apache broker, and our own. */
export function systemTopics(options: {
  readonly brokerName: string
  readonly clusterName: string
  readonly autoCreate: boolean
  readonly defaultQueueCount: number
  readonly levelCount: number
}): ReadonlyMap<string, TopicSettings> {
  const { brokerName, clusterName, autoCreate, defaultQueueCount, levelCount } = options
  const topics = new Map<string, TopicSettings>([
    [SCHEDULE_TOPIC, plainTopic(levelCount)],
    [TIMER_TOPIC, plainTopic(5)],
    [APACHE_TIMER_TOPIC, plainTopic(1)],
    [TRANSACTION_HALF_TOPIC, plainTopic(1)],
    [TRANSACTION_OP_TOPIC, plainTopic(1)],
    [TRANSACTION_GIVEN_UP_TOPIC, plainTopic(1)],
    [TRACE_TOPIC, plainTopic(1)],
    [SELF_TEST_TOPIC, plainTopic(1)],
    [BENCHMARK_TOPIC, plainTopic(1024)],
    [OFFSET_MOVED_TOPIC, plainTopic(1)],
    [CHECKPOINT_TOPIC, plainTopic(1)],
  ])
  if (autoCreate) topics.set(AUTO_CREATE_TOPIC, plainTopic(defaultQueueCount, PERM_TEMPLATE))
  const named: readonly (readonly [string, TopicSettings])[] = [
    [clusterName, plainTopic(16, PERM_TEMPLATE)],
    [brokerName, plainTopic(1, PERM_TEMPLATE)],
    [`${clusterName}_REPLY_TOPIC`, plainTopic(1)],
  ]
  for (const [name, settings] of named) if (isTopicName(name)) topics.set(name, settings)
  return topics
}

/** A broker's name may hold dots, a topic's may not: such a broker has no topic of its name. */
function isTopicName(name: string): boolean {
  try {
    checkTopicName(name)
    return true
  } catch {
    return false
  }
}
