import { appendProperty, PROPERTY, removeProperties } from '../../model/message/index.ts'

/** In the names of all that is taken out: most messages have none of it. */
const PREFIX = 'ORRERY_'
/** What has a meaning only while the message waits, or belongs to an earlier time that it did. */
const SPENT: readonly string[] = [
  PROPERTY.ORRERY_TIMER_ID,
  PROPERTY.ORRERY_REPLACES,
  PROPERTY.ORRERY_FIRST,
  PROPERTY.ORRERY_ON_LATE,
  PROPERTY.ORRERY_LATE_AFTER_MS,
]

/** The properties of a waiting message as its consumers see them, of those of its accept record. */
export function publishedProperties(accepted: string, timerId: number): string {
  const kept = accepted.includes(PREFIX) ? removeProperties(accepted, SPENT) : accepted
  return appendProperty(kept, PROPERTY.ORRERY_TIMER_ID, String(timerId))
}
