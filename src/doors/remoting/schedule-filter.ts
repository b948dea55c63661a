import { BrokerError } from '../../core/base/index.ts'
import type { ScheduledMessage, ScheduleFilter } from '../../model/schedule/index.ts'
import type { ExtFields } from '../../model/wire/index.ts'
import { optionalInt64, optionalText } from './request-fields.ts'
import type { Resources } from './processor.ts'

/**
 * The filter of a request about waiting messages: topic, tag, key, keyPrefix: string; fromMs, toMs:
 * int64; state: 'scheduled' or 'parked'. All may be left out. Errors: PARAMETER_INVALID.
 */
export function scheduleFilter(fields: ExtFields): ScheduleFilter {
  const state = optionalText(fields, 'state')
  if (state !== undefined && state !== 'scheduled' && state !== 'parked') {
    const problem = 'neither scheduled nor parked'
    throw new BrokerError('PARAMETER_INVALID', { field: 'state', problem })
  }
  return {
    // An empty text is refused further on: taken for none, it would mean all messages.
    topic: fields['topic'],
    tag: fields['tag'],
    key: fields['key'],
    keyPrefix: fields['keyPrefix'],
    fromMs: optionalInt64(fields, 'fromMs'),
    toMs: optionalInt64(fields, 'toMs'),
    state,
  }
}

/** Of a request with such a filter: its topic, or none, which is all of them. */
export function filterResources(fields: ExtFields): readonly Resources[] {
  const topic = optionalText(fields, 'topic')
  return topic === undefined ? [] : [{ topic }]
}

/** As the bodies of answers have it. What is absent is left out. */
export function scheduledMessageJson(message: ScheduledMessage): Readonly<Record<string, unknown>> {
  const { id, topic, deliverTimeMs, state, acceptTimeMs, uniqueKey, tag, keys, bodyBytes } = message
  return { id, topic, deliverTimeMs, state, acceptTimeMs, uniqueKey, tag, keys, bodyBytes }
}
