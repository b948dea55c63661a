import { BrokerError } from '../../../core/base/index.ts'
import { changedAttributes } from '../../../engine/broker/index.ts'
import { REQUEST_CODE, RESPONSE_CODE, type TopicFilterType } from '../../../model/wire/index.ts'
import type { Processor } from '../processor.ts'
import {
  optionalBoolean,
  optionalInt32,
  optionalText,
  requiredInt32,
  requiredText,
} from '../request-fields.ts'

/**
 * UPDATE_AND_CREATE_TOPIC (17): makes a topic or changes its settings. Answered when durable.
 *
 * Request   topic: string; readQueueNums, writeQueueNums, perm: int32; topicFilterType?:
 *           SINGLE_TAG or MULTI_TAG; topicSysFlag?: int32; order?: boolean; attributes?: a list
 *           of changes, `+name=value,-name`. defaultTopic and force have no effect.
 * Response  nothing
 * Errors    TOPIC_NAME_INVALID; PARAMETER_INVALID, also for a system topic; NOT_SUPPORTED for an
 *           attribute without meaning here; TOO_MANY_TOPICS, STORE_FAILED, STORE_FULL
 */
export const updateTopic: Processor = {
  code: REQUEST_CODE.UPDATE_AND_CREATE_TOPIC,
  name: 'UPDATE_AND_CREATE_TOPIC',
  action: 'manage',
  resources: ({ header }) => [{ topic: requiredText(header.extFields, 'topic') }],
  async handle({ header }, { topics }) {
    const fields = header.extFields
    const name = requiredText(fields, 'topic')
    const changes = optionalText(fields, 'attributes') ?? ''
    await topics.update(name, {
      readQueueCount: requiredInt32(fields, 'readQueueNums'),
      writeQueueCount: requiredInt32(fields, 'writeQueueNums'),
      perm: requiredInt32(fields, 'perm'),
      order: optionalBoolean(fields, 'order') === true,
      topicSysFlag: optionalInt32(fields, 'topicSysFlag') ?? 0,
      filterType: filterTypeOf(optionalText(fields, 'topicFilterType')),
      attributes: changedAttributes(topics.find(name)?.attributes ?? {}, changes),
    })
    return { code: RESPONSE_CODE.SUCCESS }
  },
}

function filterTypeOf(text = 'SINGLE_TAG'): TopicFilterType {
  if (text === 'SINGLE_TAG' || text === 'MULTI_TAG') return text
  const supported = 'SINGLE_TAG MULTI_TAG'
  throw new BrokerError('PARAMETER_INVALID', { field: 'topicFilterType', supported })
}
