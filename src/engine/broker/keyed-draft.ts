import { BrokerError } from '../../core/base/index.ts'
import { groupOfTopic, PROPERTY, type RecordDraft } from '../../model/message/index.ts'
import { checkOwnKey } from '../../model/schedule/index.ts'
import type { PropertyScan } from './property-scan.ts'

/** A message with an own key that was checked and not appended yet. */
export interface KeyedDraft {
  /** Its accept record, which the caller may add properties to. */
  readonly draft: RecordDraft
  /** Where it is going. */
  readonly topic: string
  readonly queueId: number
  readonly key: string
  readonly uniqueKey: string
  readonly deliverTimeMs: number
  /** Must also have resolved before the message counts: the topic was made for it. */
  readonly topicDurable: Promise<void> | undefined
}

/** The own key of a message that is being sent. Errors: MESSAGE_INVALID. */
export function checkedKey(scan: PropertyScan, topic: string): string {
  const { ownKey: key, ownKeyWhen: when = 'always' } = scan
  if (key === undefined) throw keyInvalid('it is missing')
  checkOwnKey(key, 'MESSAGE_INVALID')
  if (groupOfTopic(topic) !== undefined) throw keyInvalid('messages of this topic have none')
  if (when === 'always' || when === 'absent') return key
  throw keyInvalid(`${PROPERTY.ORRERY_KEY_WHEN} is 'always' or 'absent'`)
}

export function keyInvalid(problem: string): BrokerError {
  return new BrokerError('MESSAGE_INVALID', { property: PROPERTY.ORRERY_KEY, problem })
}
