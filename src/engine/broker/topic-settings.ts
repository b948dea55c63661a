import { BrokerError } from '../../core/base/index.ts'
import {
  PERM_READ,
  PERM_WRITE,
  topicConfigJson,
  type TopicConfig,
  type TopicFilterType,
} from '../../model/wire/index.ts'
import { isJsonObject, type JsonObject } from './json-file.ts'

export { PERM_READ, PERM_WRITE }

/** What a topic gets that nobody configured. */
export const PERM_DEFAULT: number = PERM_READ | PERM_WRITE

const PERM_MAX = 7
/** Most queues of a topic that a request may ask for; a file may hold more. */
export const QUEUE_COUNT_MAX = 4096

/** What is set of a topic. */
export interface TopicSettings {
  readonly readQueueCount: number
  readonly writeQueueCount: number
  /** Sum of `PERM_READ`, `PERM_WRITE` and, on the template of new topics, `PERM_INHERIT`. */
  readonly perm: number
  readonly order: boolean
  /** Bit 0: a unit's topic; bit 1: subscribed by units. Kept and shown, without effect here. */
  readonly topicSysFlag: number
  readonly filterType: TopicFilterType
  readonly attributes: Readonly<Record<string, string>>
}

/** Settings of a topic with `queueCount` queues for both directions and nothing special. */
export function plainTopic(queueCount: number, perm: number = PERM_DEFAULT): TopicSettings {
  return {
    readQueueCount: queueCount,
    writeQueueCount: queueCount,
    perm,
    order: false,
    topicSysFlag: 0,
    filterType: 'SINGLE_TAG',
    attributes: {},
  }
}

/** The settings alone of something that has more. */
export function settingsOf(topic: TopicSettings): TopicSettings {
  const { readQueueCount, writeQueueCount, perm, order } = topic
  const { topicSysFlag, filterType, attributes } = topic
  return { readQueueCount, writeQueueCount, perm, order, topicSysFlag, filterType, attributes }
}

/**
 * What a request sets. Errors: PARAMETER_INVALID for what is out of range or has no meaning here;
 * NOT_SUPPORTED for an attribute that RocketMQ knows and this broker does not.
 */
export function checkTopicSettings(settings: TopicSettings): void {
  checkRange('readQueueNums', settings.readQueueCount, 1, QUEUE_COUNT_MAX)
  checkRange('writeQueueNums', settings.writeQueueCount, 1, QUEUE_COUNT_MAX)
  checkRange('perm', settings.perm, 0, PERM_MAX)
  checkRange('topicSysFlag', settings.topicSysFlag, 0, 3)
}

function checkRange(name: string, value: number, min: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return
  throw new BrokerError('PARAMETER_INVALID', { field: name, value, min, max })
}

/** The values that mean something here; others are refused rather than stored without effect. */
const ATTRIBUTE_VALUES: Readonly<Record<string, readonly string[]>> = {
  'cleanup.policy': ['DELETE'],
  'message.type': ['UNSPECIFIED', 'NORMAL', 'FIFO', 'DELAY', 'TRANSACTION', 'MIXED'],
  'queue.type': ['SimpleCQ'],
}

/**
 * Applies RocketMQ's list of changes, `+name=value,-name`, to a topic's attributes.
 *
 * Errors: PARAMETER_INVALID when it cannot be read; NOT_SUPPORTED for a name or value without
 * meaning here.
 */
export function changedAttributes(
  attributes: Readonly<Record<string, string>>,
  changes: string,
): Readonly<Record<string, string>> {
  const changed = new Map(Object.entries(attributes))
  for (const change of changes.split(',').map(part => part.trim())) {
    if (change === '') continue
    const [, sign, name, value] = /^([+-])([\w.]{1,64})(?:=([\w.-]{1,64}))?$/.exec(change) ?? []
    if (name === undefined || (sign === '+') !== (value !== undefined)) {
      throw new BrokerError('PARAMETER_INVALID', {
        attribute: JSON.stringify(change.slice(0, 140)),
      })
    }
    if (value === undefined) changed.delete(name)
    else changed.set(name, checkedValue(name, value))
  }
  return Object.fromEntries(changed)
}

function checkedValue(name: string, value: string): string {
  const allowed = Object.hasOwn(ATTRIBUTE_VALUES, name) ? ATTRIBUTE_VALUES[name] : undefined
  if (allowed?.includes(value) === true) return value
  throw new BrokerError('NOT_SUPPORTED', {
    attribute: `${name}=${value}`,
    supported: allowed?.join(' ') ?? Object.keys(ATTRIBUTE_VALUES).join(' '),
  })
}

/** Reads Apache's TopicConfig; what is missing or of the wrong kind takes Apache's default. */
export function topicSettingsFromJson(json: JsonObject): TopicSettings {
  return {
    readQueueCount: wholeNumber(json['readQueueNums'], 16),
    writeQueueCount: wholeNumber(json['writeQueueNums'], 16),
    perm: wholeNumber(json['perm'], PERM_DEFAULT),
    order: json['order'] === true,
    topicSysFlag: wholeNumber(json['topicSysFlag'], 0),
    filterType: json['topicFilterType'] === 'MULTI_TAG' ? 'MULTI_TAG' : 'SINGLE_TAG',
    attributes: textRecord(json['attributes']),
  }
}

/** The settings as Apache's TopicConfig. */
export function topicConfigOf(name: string, settings: TopicSettings): TopicConfig {
  return {
    topicName: name,
    readQueueNums: settings.readQueueCount,
    writeQueueNums: settings.writeQueueCount,
    perm: settings.perm,
    topicFilterType: settings.filterType,
    topicSysFlag: settings.topicSysFlag,
    order: settings.order,
    attributes: settings.attributes,
  }
}

/** As `topics.json` holds it, over what the file held before. */
export function topicJson(name: string, settings: TopicSettings, origin: JsonObject): JsonObject {
  return { ...origin, ...topicConfigJson(topicConfigOf(name, settings)) }
}

function wholeNumber(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : otherwise
}

function textRecord(value: unknown): Readonly<Record<string, string>> {
  if (!isJsonObject(value)) return {}
  const texts = Object.entries(value).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return Object.fromEntries(texts)
}
