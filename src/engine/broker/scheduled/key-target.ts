import { findProperty, PROPERTY, recordProperties } from '../../../model/message/index.ts'
import type { KeyRef } from '../../../model/schedule/index.ts'
import { digestOfKey, type RefLookup, type TimerRef } from '../../timer/index.ts'
import { type LogTrace, wasCancelled } from './cancelled-before.ts'
import type { ScheduledTimers } from './scheduled-parts.ts'
import type { Found, Refusal, Target } from './target.ts'

const NOTHING: RefLookup = { ref: undefined, generation: -1 }

/** The latest message of a topic with an own key. */
export class KeyTarget implements Target {
  readonly digest: string
  readonly #ref: KeyRef
  readonly #timers: ScheduledTimers
  readonly #log: LogTrace
  #lookup = NOTHING

  constructor(ref: KeyRef, timers: ScheduledTimers, log: LogTrace) {
    this.digest = digestOfKey(ref.topic, ref.key)
    this.#ref = ref
    this.#timers = timers
    this.#log = log
  }

  async locate(): Promise<TimerRef | undefined> {
    for (;;) {
      const pending = this.#timers.pendingKeyOffset(this.digest)
      if (pending === undefined) break
      await this.#log.store.whenApplied(pending)
    }
    this.#lookup = await this.#timers.findKey(this.digest)
    return this.#lookup.ref
  }

  isMeant(record: Buffer): boolean {
    const properties = recordProperties(record, 0)
    return (
      findProperty(properties, PROPERTY.REAL_TOPIC) === this.#ref.topic &&
      findProperty(properties, PROPERTY.ORRERY_KEY) === this.#ref.key
    )
  }

  isCurrent(): boolean {
    return this.#timers.isKeyCurrent(this.digest, this.#lookup)
  }

  /** Whoever changes where the key leads changes what `isCurrent` says. */
  hasMoved(): Promise<boolean> {
    return Promise.resolve(false)
  }

  async resultOf(found: Found, at: TimerRef): Promise<Refusal> {
    if (found === 'cancelling') return 'cancelled'
    if (found !== 'absent') return found
    const record = await this.#log.store.readRecord(at.timerId)
    if (record === undefined || !this.isMeant(record)) return 'too-late'
    return (await wasCancelled(this.#log, { at, record })) ? 'cancelled' : 'too-late'
  }
}
