import { BrokerError } from '../../core/base/index.ts'
import type { SubscriptionGroupConfig } from '../../model/wire/index.ts'
import type { JsonObject } from './json-file.ts'

/** What is set of a consumer group and has an effect here. */
export interface GroupSettings {
  /** False: pulls of the group are refused. */
  readonly consumeEnable: boolean
  readonly consumeMessageOrderly: boolean
  /** Whether members are told when the group's membership changes. */
  readonly notifyMembers: boolean
  /** Queues of its retry topic; 0 means that a message sent back is dropped. */
  readonly retryQueueCount: number
  /** Deliveries after the first before a message goes to the dead letter topic. */
  readonly retryCountMax: number
}

const RETRY_QUEUE_COUNT_MAX = 256

/** Reads what has an effect; what is missing or of the wrong kind takes Apache's default. */
export function groupSettingsFrom(config: JsonObject): GroupSettings {
  return {
    consumeEnable: config['consumeEnable'] !== false,
    consumeMessageOrderly: config['consumeMessageOrderly'] === true,
    notifyMembers: config['notifyConsumerIdsChangedEnable'] !== false,
    retryQueueCount: wholeNumber(config['retryQueueNums'], 1),
    retryCountMax: wholeNumber(config['retryMaxTimes'], 16),
  }
}

/** What a request sets. Errors: PARAMETER_INVALID. */
export function checkGroupConfig(config: SubscriptionGroupConfig): void {
  const { retryQueueNums, retryMaxTimes } = config
  if (retryQueueNums < 0 || retryQueueNums > RETRY_QUEUE_COUNT_MAX) {
    const max = RETRY_QUEUE_COUNT_MAX
    throw new BrokerError('PARAMETER_INVALID', { field: 'retryQueueNums', min: 0, max })
  }
  if (retryMaxTimes < 0) {
    throw new BrokerError('PARAMETER_INVALID', { field: 'retryMaxTimes', min: 0 })
  }
}

function wholeNumber(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : otherwise
}
