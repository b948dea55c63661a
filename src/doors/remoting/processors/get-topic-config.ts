import { topicConfigOf } from '../../../engine/broker/index.ts'
import { encodeTopicConfig, REQUEST_CODE, RESPONSE_CODE } from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'
import { requiredText } from '../request-fields.ts'

/**
 * GET_TOPIC_CONFIG (351): the settings of a topic.
 *
 * Request   topic: string
 * Response  body TopicConfig
 * Errors    TOPIC_NOT_FOUND
 */
export const getTopicConfig: Processor = {
  code: REQUEST_CODE.GET_TOPIC_CONFIG,
  name: 'GET_TOPIC_CONFIG',
  action: 'read',
  resources: ({ header }) => [{ topic: requiredText(header.extFields, 'topic') }],
  handle({ header }, { topics }) {
    const topic = topics.get(requiredText(header.extFields, 'topic'))
    return {
      code: RESPONSE_CODE.SUCCESS,
      body: encodeTopicConfig(topicConfigOf(topic.name, topic)),
    }
  },
}
