import { BrokerError } from '../core/base/index.ts'
import { checkTopicName } from '../model/message/index.ts'

/** Errors: TOPIC_NAME_INVALID, before any server is asked. */
export function checkTopicArgument(topic: string): void {
  if (topic === '') throw new BrokerError('TOPIC_NAME_INVALID', { topic: 'is empty' })
  checkTopicName(topic)
}
