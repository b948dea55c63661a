import { PROPERTY } from '../../model/message/index.ts'

const NAME_END = '\u0001'
const PAIR_END = '\u0002'

type Kind =
  | 'uniqueKey'
  | 'tags'
  | 'delay'
  /** What to do when it is late. */
  | 'late'
  /** A broker has resolved the delay already. */
  | 'resolved'
  /** Marks a half message when it is `true`. */
  | 'half'
  | 'deletion'
  | 'ownKey'
  | 'ownKeyWhen'
  /** Only the broker gives it a value. */
  | 'ours'

const KINDS: ReadonlyMap<string, Kind> = new Map([
  [PROPERTY.UNIQ_KEY, 'uniqueKey'],
  [PROPERTY.TAGS, 'tags'],
  [PROPERTY.DELAY, 'delay'],
  [PROPERTY.TIMER_DELAY_SEC, 'delay'],
  [PROPERTY.TIMER_DELAY_MS, 'delay'],
  [PROPERTY.TIMER_DELIVER_MS, 'delay'],
  [PROPERTY.ORRERY_ON_LATE, 'late'],
  [PROPERTY.ORRERY_LATE_AFTER_MS, 'late'],
  [PROPERTY.TIMER_OUT_MS, 'resolved'],
  [PROPERTY.TRAN_MSG, 'half'],
  [PROPERTY.TIMER_DEL_UNIQKEY, 'deletion'],
  [PROPERTY.ORRERY_KEY, 'ownKey'],
  [PROPERTY.ORRERY_KEY_WHEN, 'ownKeyWhen'],
  [PROPERTY.POP_CK, 'ours'],
  [PROPERTY.CRC32, 'ours'],
  [PROPERTY.ORRERY_TIMER_ID, 'ours'],
  [PROPERTY.ORRERY_CANCELS, 'ours'],
  [PROPERTY.ORRERY_REPLACES, 'ours'],
  [PROPERTY.ORRERY_FIRST, 'ours'],
  [PROPERTY.ORRERY_DEAD_LETTER_REASON, 'ours'],
  [PROPERTY.REAL_TOPIC, 'ours'],
  [PROPERTY.REAL_QID, 'ours'],
  [PROPERTY.MSG_REGION, 'ours'],
  [PROPERTY.TRACE_ON, 'ours'],
  [PROPERTY.CLUSTER, 'ours'],
])
const NAME_LENGTH_MAX = Math.max(...Array.from(KINDS.keys(), name => name.length))

/** Names of what only the broker may say: a sender that repeats a message it received sends them. */
export const BROKER_PROPERTIES: readonly string[] = Array.from(KINDS)
  .filter(([, kind]) => kind === 'ours')
  .map(([name]) => name)

/**
 * What the broker must know of a message's properties, found in one pass over them; filled again
 * for every message. As everywhere, of several pairs with one name the last counts, and a pair
 * without a value does not count, except that of a delay, which is somebody's mistake.
 */
export class PropertyScan {
  uniqueKey: string | undefined = undefined
  tags: string | undefined = undefined
  /** The pairs that `resolveDelay` looks at, as they were sent; empty when there is none. */
  delays = ''
  /** One of them asks for a delay. */
  hasDelay = false
  /** The pairs of its late policy; empty when it has none. */
  latePolicy = ''
  isHalf = false
  isDeletion = false
  ownKey: string | undefined = undefined
  ownKeyWhen: string | undefined = undefined
  /** Some of `BROKER_PROPERTIES` are there. */
  hasOurs = false

  read(properties: string): void {
    this.uniqueKey = undefined
    this.tags = undefined
    this.delays = ''
    this.hasDelay = false
    this.latePolicy = ''
    this.isHalf = false
    this.isDeletion = false
    this.ownKey = undefined
    this.ownKeyWhen = undefined
    this.hasOurs = false
    let start = 0
    let nameEnd = -1
    while (start < properties.length) {
      // Searched once for many pairs without it: the time must not grow with their square.
      if (nameEnd < start) nameEnd = properties.indexOf(NAME_END, start)
      if (nameEnd < 0) return
      let end = properties.indexOf(PAIR_END, start)
      if (end < 0) end = properties.length
      if (nameEnd < end && nameEnd - start <= NAME_LENGTH_MAX) {
        this.#take(properties, start, nameEnd, end)
      }
      start = end + 1
    }
  }

  #take(properties: string, start: number, nameEnd: number, end: number): void {
    const kind = KINDS.get(properties.slice(start, nameEnd))
    if (kind === undefined) return
    if (kind === 'delay' || kind === 'resolved') {
      this.delays += properties.slice(start, end) + PAIR_END
      this.hasDelay ||= kind === 'delay'
      return
    }
    if (kind === 'late') {
      this.latePolicy += properties.slice(start, end) + PAIR_END
      return
    }
    if (nameEnd + 1 === end) return
    const value = properties.slice(nameEnd + 1, end)
    switch (kind) {
      case 'uniqueKey':
        this.uniqueKey = value
        break
      case 'tags':
        this.tags = value
        break
      case 'half':
        this.isHalf = value.toLowerCase() === 'true'
        break
      case 'deletion':
        this.isDeletion = true
        break
      case 'ownKey':
        this.ownKey = value
        break
      case 'ownKeyWhen':
        this.ownKeyWhen = value
        break
      case 'ours':
        this.hasOurs = true
        break
    }
  }
}
